"""The items of a shop: rows of the items table with their words and their photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adamroute.catalogue.listing import clean, listing, says_nothing
from adamroute.catalogue.photo_files import Photo, PhotoFolder
from adamroute.catalogue.shop import Catalogue, Item
from adamroute.catalogue.shop_yaml import SHOP_YAML, ItemsYaml
from adamroute.catalogue.table_files import Row, Table
from adamroute.errors import ShopError, shown


@dataclass(frozen=True)
class ReadItems:
    """The catalogue, and what a shop records about how it was read."""

    catalogue: Catalogue
    problems: Mapping[str, int]  # zeros included


def read_items(folder: Path, spec: ItemsYaml, table: Table) -> ReadItems:
    """Items in row order; `folder` is resolved. ShopError names the row that cannot be used.

    A title that is empty is replaced by the text and the other way round; both are counted.
    """
    table.require(spec.columns, f"items in {SHOP_YAML}")
    photos = photos_of(folder, spec.image, table)
    problems: Counter[str] = Counter()
    by_row = {row.where: photo for row, photo in zip(table.rows, photos, strict=True)}

    def made(pair: tuple[str, Row]) -> Item:
        item_id, row = pair
        title, text = _words(row, spec)
        photo = by_row[row.where]
        problems.update(items_without_title=not title, items_without_text=not text)
        problems.update(photo.problems)
        return Item(
            item_id=item_id,
            title=title or text,
            text=text or title,
            visual=_looks(row, spec),
            category=clean(row.text(spec.category)) if spec.category else "",
            image=photo.path,
        )

    items = tuple(table.sieve.through(table.with_ids(spec.id), made))
    table.sieve.settle()
    problems["bad_items"] = table.sieve.bad.count
    return ReadItems(Catalogue(items), dict(problems))


def photos_of(folder: Path, column: str | None, table: Table) -> tuple[Photo, ...]:
    """The photo of every row, not decoded; `folder` is resolved."""
    if column is None:
        return (Photo(None, None),) * len(table.rows)
    photos, seen = PhotoFolder(folder), dict[str, Photo]()  # variants often share one
    for row in table.rows:
        name = _photo_name(row, column)
        if name not in seen:
            seen[name] = photos.find(name, row.where)
    return tuple(seen[_photo_name(row, column)] for row in table.rows)


def _photo_name(row: Row, column: str) -> str:
    name = row.text(column)
    return "" if says_nothing(name) else name


def _words(row: Row, spec: ItemsYaml) -> tuple[str, str]:
    """Title and listing, of which one may be empty."""
    title = spec.template.render(row.cells)
    text = listing(row.cells, spec.text, spec.template)
    if not (title or text):
        named = tuple(dict.fromkeys((*spec.template.columns, *spec.text)))
        words = [text for text in map(row.text, named) if text and says_nothing(text)]
        hint = f" ({shown(words[0])} is none)" if words else ""
        raise ShopError(
            f"{row.where}: empty listing, wanted words in at least one of {', '.join(named)}"
            f"{hint}. Fill one in or drop the row"
        )
    return title, text


def _looks(row: Row, spec: ItemsYaml) -> dict[str, str]:
    values = {column: clean(row.text(column)) for column in spec.visual}
    return {column: value for column, value in values.items() if value}
