"""Logged queries whose outcome is known, and the split of those that name none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from adamroute.catalogue.known_items import KnownItems
from adamroute.catalogue.listing import clean_spaces, is_invisible
from adamroute.catalogue.shop import SPLITS, Catalogue, Query, Split
from adamroute.catalogue.table_files import Row, Table, read_table
from adamroute.errors import ShopError, shown

MAX_QUERY_CHARACTERS = 2000
ANONYMOUS = "query:"  # user id of a query without one, so that it is a user of its own
COLUMNS = ("query_id", "query", "target_id")
ALL_COLUMNS = (*COLUMNS, "user_id", "kind", "split")
IDS = ("query_id", "user_id", "target_id")


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


@dataclass(frozen=True)
class ReadQueries:
    """Queries in file order, and how they were read."""

    queries: tuple[Query, ...]
    problems: Mapping[str, int]  # harmless defects counted, zeros included
    facts: Mapping[str, JsonValue]


def read_queries(path: Path, catalogue: Catalogue) -> tuple[Query, ...]:
    """Queries of a file that stands outside a shop folder, in file order.

    The checks are those of a shop's own queries, save that users may be unknown to the shop, a
    split may be any (absent or unknown, it is `test`), and one user's rows may differ in split:
    here every row counts. ShopError where the targets of all are gone.
    """
    return read_query_file(path, catalogue).queries


def read_query_file(path: Path, catalogue: Catalogue) -> ReadQueries:
    """As `read_queries`, with the rows that were left out because their target is gone."""
    table = read_table(path, columns=ALL_COLUMNS, ids=IDS)
    rows, read = _parsed(table, catalogue, any_split=True)
    if not rows:
        raise ShopError(f"{path}: no query is left: {'; '.join(read.gone.first[:1])}")
    return _told(table, read, [row.query("test") for row in rows])


def shop_queries(table: Table, catalogue: Catalogue) -> ReadQueries:
    """A shop's queries in file order; ShopError where a user's queries are in two splits.

    A row without a split takes that of its user's other rows, else `derived_split`.
    """
    rows, read = _parsed(table, catalogue, any_split=False)
    given: dict[str, tuple[Split, str]] = {}
    for row in rows:
        if row.split is None:
            continue
        split, where = given.setdefault(row.user_id, (row.split, row.where))
        if split != row.split:
            raise ShopError(
                f"{row.where}: user {shown(row.user_id)} is in split '{row.split}', but in "
                f"'{split}' at {where}; splits are by user. Give all of a user's queries one split"
            )
    splits = {user: split for user, (split, _) in given.items()}
    made = [row.query(splits.get(row.user_id) or derived_split(row.user_id)) for row in rows]
    return _told(table, read, made)


def _told(table: Table, items: KnownItems, queries: Sequence[Query]) -> ReadQueries:
    problems = {
        "queries_of_gone_items": items.gone.count, "bad_queries": table.sieve.bad.count
    }  # fmt: skip
    facts = table.told()
    if items.gone.count:
        facts["gone_items"] = items.gone.facts(table.path)
    return ReadQueries(tuple(queries), problems, facts)


def derived_split(key: str) -> Split:
    """Split of a user (or of an item, in a shop without users) by the sha256 of its id.

    55 % train, 20 % calibration, 25 % test in the long run; equal everywhere and for ever.
    """
    place = place_of(key)
    return "train" if place < 0.55 else "calibration" if place < 0.75 else "test"


def place_of(key: str) -> float:
    """0 to 1 by the sha256 of an id."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64


def _parsed(
    table: Table, catalogue: Catalogue, *, any_split: bool
) -> tuple[tuple[_Parsed, ...], KnownItems]:
    """Rows that can be used and whose target is there."""
    table.require(COLUMNS, "a queries table")
    items = KnownItems(catalogue)

    def parsed(pair: tuple[str, Row]) -> _Parsed | None:
        query_id, row = pair
        text, split = query_text(row), _split(row, any_split=any_split)
        target = items.find(row, "target_id")
        if target is None:
            return None
        user_id = row.text("user_id") or ANONYMOUS + query_id
        return _Parsed(row.where, query_id, user_id, text, target, row.text("kind") or None, split)

    found = tuple(table.sieve.through(table.with_ids("query_id"), parsed))
    table.sieve.settle()
    items.settle("queries")
    return tuple(row for row in found if row is not None), items


def query_text(row: Row) -> str:
    """Its words on one line; ShopError where nobody sees any, or they are too many."""
    text = row.text("query")
    if is_invisible(text):
        raise ShopError(f"{row.where}: 'query' is empty. Fill it in or drop the row")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise ShopError(
            f"{row.where}: a query of {len(text):,} characters, wanted at most "
            f"{MAX_QUERY_CHARACTERS:,}. Shorten it or drop the row"
        )
    return clean_spaces(text)


def _split(row: Row, *, any_split: bool) -> Split | None:
    text = row.text("split")
    for split in SPLITS:
        if text == split:
            return split
    if not text or any_split:
        return None
    raise ShopError(f"{row.where}: split {shown(text)}, wanted {', '.join(SPLITS)} or nothing")
