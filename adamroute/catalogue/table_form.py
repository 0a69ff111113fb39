"""How the file of a table is written, as far as shop.yaml says, and the records it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adamroute.catalogue.left_out import OnBadRow


@dataclass(frozen=True, slots=True)
class TableForm:
    """What is None is found out from the file itself."""

    section: str | None = None  # of shop.yaml; None for a file beside a shop
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None  # "." or ","
    on_bad_row: OnBadRow = "stop"

    def key(self, name: str) -> str:
        """Where a person sets it."""
        return f"{self.section}.{name} in shop.yaml"


@dataclass(frozen=True, slots=True)
class Record:
    """A row as its file has it; `where` names file and line, `defect` why it cannot be read."""

    where: str
    values: Mapping[str, object]
    defect: str = ""
