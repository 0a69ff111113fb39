"""Items that interactions and queries name; rows of those that are gone are left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from adamroute.catalogue.ids import whole_number
from adamroute.catalogue.left_out import LeftOut
from adamroute.catalogue.shop import Catalogue
from adamroute.catalogue.table_files import Row
from adamroute.errors import ShopError, shown

_MISMATCH = 10  # rows from which on it is no accident that not one of their items is known


@dataclass
class KnownItems:
    """The items that another table names; rows of those that are gone are left out and counted.

    Every shop takes items off its shelves, so that is no defect of the table.
    """

    catalogue: Catalogue
    gone: LeftOut = field(default_factory=LeftOut)
    found: int = 0

    def find(self, row: Row, column: str) -> str | None:
        """The item's id as the catalogue writes it; None where the item is gone."""
        text = row.needed(column)
        known = text if text in self.catalogue.row_of else self._by_number.get(whole_number(text))
        if known is None:
            self.gone.add(f"{row.where}: {column} {shown(text)} is not among the items")
        else:
            self.found += 1
        return known

    def settle(self, what: str) -> None:
        """ShopError where not one item of many rows is known: then the ids are of another kind."""
        if self.found == 0 and self.gone.count >= _MISMATCH:
            example = shown(self.catalogue.items[0].item_id)
            raise ShopError(
                f"{self.gone.first[0]}, and neither is that of any other of {self.gone.count} "
                f"{what}; the catalogue's {len(self.catalogue)} ids are like {example}. "
                "Name the column that holds the same ids in both tables"
            )

    @cached_property
    def _by_number(self) -> dict[str, str]:
        numbers = {whole_number(item.item_id): item.item_id for item in self.catalogue.items}
        return {number: item_id for number, item_id in numbers.items() if number}
