"""What people said they meant: judged items of queries, from a table, TREC qrels or a click log.

A table is told by its columns, row by row: `grade` (0 to 4, or 0 and 1) is a person's word,
`clicked` with `propensity` a line of a click log, `clicks` a sum of those that `adamroute judge`
wrote. A click counts 1 / propensity, where propensity is the probability that anyone looked at
the place: what stands first is clicked because it stands first. A qrels file says nothing of
words, so its queries come from a topics file (qrels.py).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from adamroute.catalogue.known_items import KnownItems
from adamroute.catalogue.left_out import LeftOut
from adamroute.catalogue.listing import clean_spaces
from adamroute.catalogue.qrels import is_qrels, read_qrels
from adamroute.catalogue.queries import query_text
from adamroute.catalogue.ratings import read_number
from adamroute.catalogue.shop import Catalogue
from adamroute.catalogue.table_files import Row, Table, read_table
from adamroute.catalogue.table_form import TableForm
from adamroute.errors import ShopError, shown

MOST_GRADE = 4.0
CLIP = 10.0  # most that one click may count
COLUMNS = ("query", "item_id")
SHAPES = ("grade", "clicked", "clicks")  # the column that tells what a row is
ALL_COLUMNS = (*COLUMNS, *SHAPES, "propensity", "query_id", "user_id", "source")
IDS = ("query_id", "user_id", "item_id")
UNKNOWN = 0.5  # share of rows of unknown items from which on a file is another shop's


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one row says of one item of one query."""

    where: str  # file and line, for messages
    query: str
    item_id: str
    value: float  # a grade, 0 to 4; or what clicks count, from 0 on
    by_click: bool = False
    user_id: str = ""
    source: str = ""  # of a row of the run's own file: the act or the file that it came with


def normalised(query: str) -> str:
    """What makes two queries one."""
    return clean_spaces(unicodedata.normalize("NFKC", query).casefold())


@dataclass(frozen=True)
class ReadJudgements:
    """Rows that can be used, in file order, and what was left out by the name of the reason."""

    rows: tuple[Judgement, ...]
    notes: Mapping[str, LeftOut]
    facts: Mapping[str, JsonValue]  # how the file was read


@dataclass
class _Reader:
    """Makes judgements of rows; None where the item is gone."""

    table: Table
    items: KnownItems
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)  # query id: words, place

    def __call__(self, row: Row) -> Judgement | None:
        query = query_text(row)
        self._check_id(row, query)
        value, by_click = self._value(row)
        item_id = self.items.find(row, "item_id")
        if item_id is None:
            return None
        return Judgement(
            row.where, query, item_id, value, by_click, row.text("user_id"), row.text("source")
        )

    def _value(self, row: Row) -> tuple[float, bool]:
        shapes = [name for name in SHAPES if row.text(name)]
        if len(shapes) != 1:
            got = " and ".join(shapes) or "none of them"
            raise ShopError(
                f"{row.where}: {got} filled in, wanted one of grade (0 to {MOST_GRADE:g}) and "
                "clicked (0 or 1, with propensity). Correct the row or drop it"
            )
        if shapes == ["clicked"]:
            return self._click(row), True
        value = read_number(row, shapes[0], self.table.decimal)
        most = MOST_GRADE if shapes == ["grade"] else float("inf")
        if not 0.0 <= value <= most:
            wanted = f"0 to {most:g}, or 0 and 1" if shapes == ["grade"] else "0 or more"
            raise ShopError(f"{row.where}: {shapes[0]} {value:g}, wanted {wanted}. Correct it")
        return value, shapes == ["clicks"]

    def _click(self, row: Row) -> float:
        said = row.needed("clicked").lower()
        if said not in ("0", "1", "false", "true"):
            raise ShopError(f"{row.where}: clicked {shown(said)}, wanted 0 or 1. Correct it")
        clicked = said in ("1", "true")
        if not clicked and not row.text("propensity"):
            return 0.0
        propensity = read_number(row, "propensity", self.table.decimal)
        if not 0.0 < propensity <= 1.0:
            raise ShopError(
                f"{row.where}: propensity {propensity:g}, wanted above 0 and at most 1: the "
                "probability that the place was looked at"
            )
        return min(1.0 / propensity, CLIP) if clicked else 0.0

    def _check_id(self, row: Row, query: str) -> None:
        if not (query_id := row.text("query_id")):
            return
        words, where = self.texts.setdefault(query_id, (query, row.where))
        if normalised(words) != normalised(query):
            raise ShopError(
                f"{row.where}: query_id {shown(query_id)} is {shown(query)} here, but "
                f"{shown(words)} at {where}. Give each query its own id"
            )


def read_judgements(
    path: Path,
    catalogue: Catalogue,
    form: TableForm | None = None,
    *,
    topics: Path | None = None,
    own: bool = False,
) -> ReadJudgements:
    """Judgements of a file in any of the three forms; a qrels file needs its `topics`.

    Rows of items that are gone are left out and counted. ShopError where a row cannot be used
    (with its line), or where more than half of them name unknown items: then they are another
    shop's. `own` rows were checked when they were written, so of them any number may be gone.
    """
    form = form or TableForm()
    if topics is not None or is_qrels(path):
        table = read_qrels(path, topics, form)
    else:
        table = read_table(path, form, columns=ALL_COLUMNS, ids=IDS)
        _check_shape(table)
    items = KnownItems(catalogue)
    found = list(table.sieve.through(table.rows, _Reader(table, items)))
    table.sieve.settle()
    if not own:
        _check_shop(path, items)
    notes = {"judgements_of_gone_items": items.gone, "bad_judgements": table.sieve.bad}
    rows = tuple(row for row in found if row is not None)
    return ReadJudgements(rows, notes, {"rows": len(table.rows), **table.facts})


def _check_shape(table: Table) -> None:
    table.require(COLUMNS, "a table of judgements")
    if not table.columns & set(SHAPES):
        raise ShopError(
            f"{table.path}: neither 'grade' (what a person said) nor 'clicked' (a click log) is "
            f"among its columns; got {', '.join(sorted(table.columns))}. Add one of them"
        )
    if "clicked" in table.columns:
        table.require(("propensity",), "a click log")


def _check_shop(path: Path, items: KnownItems) -> None:
    """ShopError where most rows name items that nobody here knows."""
    total = items.gone.count + items.found
    if items.gone.count > UNKNOWN * total:
        example = shown(items.catalogue.items[0].item_id)
        raise ShopError(
            f"{path}: judgements of another shop: {items.gone.count} of {total} rows name items "
            f"that are not here ({items.gone.first[0]}), while this catalogue's "
            f"{len(items.catalogue)} ids are like {example}. Give this shop's file, or name the "
            "ids as its items table does"
        )
