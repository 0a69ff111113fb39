"""Logged queries whose outcome is known, and the split of those that name none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adamroute.catalogue.listing import clean_spaces
from adamroute.catalogue.shop import SPLITS, Catalogue, Query, Split
from adamroute.catalogue.table_files import Row, Table, read_table
from adamroute.errors import ShopError

MAX_QUERY_CHARACTERS = 2000
ANONYMOUS = "query:"  # user id of a query without one, so that it is a user of its own
COLUMNS = ("query_id", "query", "target_id")


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A row read and checked, its split still open where the file gives none."""

    where: str
    query_id: str
    user_id: str
    text: str
    target_id: str
    kind: str | None
    split: Split | None

    def query(self, split: Split) -> Query:
        return Query(
            self.query_id, self.user_id, self.text, self.target_id, self.kind, self.split or split
        )


def read_queries(path: Path, catalogue: Catalogue) -> tuple[Query, ...]:
    """Queries of a file that stands outside a shop folder, in file order.

    The checks are those of a shop's own queries, save that users may be unknown to the shop, a
    split that is absent is `test`, and one user's rows may differ in split: here every row counts.
    """
    return tuple(row.query("test") for row in _parsed(read_table(path), catalogue))


def shop_queries(table: Table, catalogue: Catalogue) -> tuple[Query, ...]:
    """A shop's queries in file order; ShopError where a user's queries are in two splits.

    A row without a split takes that of its user's other rows, else `derived_split`.
    """
    rows = tuple(_parsed(table, catalogue))
    given: dict[str, tuple[Split, str]] = {}
    for row in rows:
        if row.split is None:
            continue
        split, where = given.setdefault(row.user_id, (row.split, row.where))
        if split != row.split:
            raise ShopError(
                f"{row.where}: user {row.user_id!r} is in split '{row.split}', but in '{split}' "
                f"at {where}; splits are by user. Give all of a user's queries one split"
            )
    splits = {user: split for user, (split, _) in given.items()}
    return tuple(row.query(splits.get(row.user_id) or derived_split(row.user_id)) for row in rows)


def derived_split(key: str) -> Split:
    """Split of a user (or of an item, in a shop without users) by the sha256 of its id.

    55 % train, 20 % calibration, 25 % test in the long run; equal everywhere and for ever.
    """
    place = place_of(key)
    return "train" if place < 0.55 else "calibration" if place < 0.75 else "test"


def place_of(key: str) -> float:
    """0 to 1 by the sha256 of an id."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64


def _parsed(table: Table, catalogue: Catalogue) -> Iterator[_Parsed]:
    table.require(COLUMNS, "a queries table")
    for row, query_id in zip(table.rows, table.ids("query_id"), strict=True):
        yield _Parsed(
            where=row.where,
            query_id=query_id,
            user_id=row.text("user_id") or ANONYMOUS + query_id,
            text=_text(row),
            target_id=_target(row, catalogue),
            kind=row.text("kind") or None,
            split=_split(row),
        )


def _text(row: Row) -> str:
    text = row.needed("query")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise ShopError(
            f"{row.where}: a query of {len(text):,} characters, wanted at most "
            f"{MAX_QUERY_CHARACTERS:,}. Shorten it or drop the row"
        )
    return clean_spaces(text)


def _target(row: Row, catalogue: Catalogue) -> str:
    target = row.needed("target_id")
    if target not in catalogue.row_of:
        raise ShopError(
            f"{row.where}: target_id {target!r} is not among the {len(catalogue)} items. "
            "Add the item or drop the row"
        )
    return target


def _split(row: Row) -> Split | None:
    text = row.text("split")
    if not text:
        return None
    for split in SPLITS:
        if text == split:
            return split
    raise ShopError(f"{row.where}: split {text!r}, wanted {', '.join(SPLITS)} or nothing")
