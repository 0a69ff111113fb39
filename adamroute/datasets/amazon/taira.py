"""TAIRA's query and user files on Amazon Beauty, Clothing and Music.

Traps in these files: the column order differs between domains; `interaction_string` begins with
the target, so the history is `remaining_interaction_string`, which in Music still repeats the
target in eight rows; the query is `new_query`; `profile` and `preferences` were written by a
language model that had seen the target, so they are not read; `similarity_score` is no label.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adamroute.catalogue.listing import clean_spaces
from adamroute.catalogue.tables import Row, read_table
from adamroute.errors import ShopError

_COLUMNS = ("id", "user_id", "new_query", "remaining_interaction_string", "classification")
_KINDS = {
    "-1": "explicit", "0": "simple", "1": "set", "2": "types", "3": "vague", "4": "categories",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TairaQuery:
    """One asked query. Its place counts rows from 1, repeated ones too."""

    place: int
    user_id: str
    text: str
    target_id: str
    kind: str
    history: tuple[str, ...]  # without the target
    copies: int  # rows of the file that are this one, itself included


def read_taira_queries(path: Path, problems: Counter[str]) -> tuple[TairaQuery, ...]:
    """Each different row once, in file order, with how often it stands there.

    ShopError names a row that cannot be used. `problems` gets `targets_in_history`.
    """
    table = read_table(path)
    table.require(_COLUMNS, "a TAIRA query file")
    places: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, row in enumerate(table.rows, 1):
        places.setdefault(tuple(sorted(row.cells.items())), []).append(place)
    return tuple(
        _query(table.rows[same[0] - 1], same[0], len(same), problems) for same in places.values()
    )


def read_taira_users(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Every user's items as the file lists them, the target of a query among them."""
    table = read_table(path)
    table.require(("user_id", "interaction_string"), "a TAIRA user file")
    ids = table.ids("user_id")
    return {
        u: _ids(row.text("interaction_string")) for u, row in zip(ids, table.rows, strict=True)
    }


def _query(row: Row, place: int, copies: int, problems: Counter[str]) -> TairaQuery:
    target, history = row.needed("id"), _ids(row.text("remaining_interaction_string"))
    problems["targets_in_history"] += target in history
    kind = _KINDS.get(row.needed("classification"))
    if kind is None:
        raise ShopError(
            f"{row.where}: classification {row.text('classification')!r}, wanted one of "
            f"{', '.join(_KINDS)}. Correct the row"
        )
    return TairaQuery(
        place=place,
        user_id=row.needed("user_id"),
        text=clean_spaces(html.unescape(row.needed("new_query"))),
        target_id=target,
        kind=kind,
        history=tuple(item for item in history if item != target),
        copies=copies,
    )


def _ids(text: str) -> tuple[str, ...]:
    parts = (part.strip() for part in text.split("|"))
    return tuple(dict.fromkeys(part for part in parts if part))
