"""Who took what, and who asked for what: TAIRA's files, or the reviews of 2014 and 2018.

Traps in TAIRA's files: the column order differs between domains; `interaction_string` begins with
the target, so the history is `remaining_interaction_string`, which in Music still repeats the
target in eight rows; the query is `new_query`; `profile` and `preferences` were written by a
language model that had seen the target, so they are not read; `similarity_score` is no label.
"""

from __future__ import annotations

import csv
import html
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from adamroute.catalogue import table_files
from adamroute.catalogue.listing import clean_spaces
from adamroute.datasets.amazon.lines import ListedLine, kilobytes, read_lines
from adamroute.datasets.amazon.sources import PublicSet, Role
from adamroute.errors import ShopError
from adamroute.progress import Advance, Progress

Row = Mapping[str, object]
_COLUMNS = ("id", "user_id", "new_query", "remaining_interaction_string", "classification")
_KINDS = {
    "-1": "explicit", "0": "simple", "1": "set", "2": "types", "3": "vague", "4": "categories",
}  # fmt: skip


class Review(TypedDict):
    """Who rated which item, how, and when."""

    user_id: str
    item_id: str
    rating: float  # 1 to 5
    timestamp: int  # seconds since 1970, whole days in these files


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


@dataclass(frozen=True)
class People:
    """Rows of a shop folder's tables, before it is known which items the metadata has."""

    interactions: tuple[Row, ...]
    queries: tuple[TairaQuery, ...]
    corpus: frozenset[str] | None  # items to keep; None keeps all of the metadata


def read_people(
    made_of: PublicSet,
    sources: Mapping[Role, tuple[Path, ...]],
    progress: Progress,
    problems: Counter[str],
) -> People:
    """People of a set whose files are all there."""
    if made_of.has_queries:
        return _taira(sources, problems)
    return _reviewers(sources["reviews"][0], progress)


def query_rows(query: TairaQuery, *, each_copy: bool) -> Iterator[Row]:
    """The row of a query, with `copies`; or a row for each copy of it."""
    for copy in range(1, query.copies + 1 if each_copy else 2):
        yield {
            "query_id": f"q{query.place}" if copy == 1 else f"q{query.place}-{copy}",
            "user_id": query.user_id,
            "query": query.text,
            "target_id": query.target_id,
            "kind": query.kind,
            "copies": 1 if each_copy else query.copies,
        }


def read_taira_queries(path: Path, problems: Counter[str]) -> tuple[TairaQuery, ...]:
    """Each different row once, in file order, with how often it stands there.

    ShopError names a row that cannot be used. `problems` gets `targets_in_history`.
    """
    table = table_files.read_table(path)
    table.require(_COLUMNS, "a TAIRA query file")
    places: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, row in enumerate(table.rows, 1):
        places.setdefault(tuple(sorted(row.cells.items())), []).append(place)
    return tuple(
        _query(table.rows[same[0] - 1], same[0], len(same), problems) for same in places.values()
    )


def read_taira_users(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Every user's items as the file lists them, the target of a query among them."""
    table = table_files.read_table(path)
    table.require(("user_id", "interaction_string"), "a TAIRA user file")
    return {u: _ids(row.text("interaction_string")) for u, row in table.with_ids("user_id")}


def read_reviews(path: Path, advance: Advance) -> Iterator[Review]:
    """Reviews in file order; ShopError names the line that lacks a field or holds no number."""
    for record in read_lines(path, advance):
        rating = _number(record, "overall")
        if not 1.0 <= rating <= 5.0:
            raise ShopError(f"{record.where}: 'overall' is {rating:g}, wanted 1 to 5. Mend it")
        yield Review(
            user_id=str(record.needed("reviewerID")).strip(),
            item_id=str(record.needed("asin")).strip(),
            rating=rating,
            timestamp=int(_number(record, "unixReviewTime")),
        )


def _taira(sources: Mapping[Role, tuple[Path, ...]], problems: Counter[str]) -> People:
    """TAIRA's users: those who ask without what they ask for, the others with all they took."""
    queries = read_taira_queries(sources["queries"][0], problems)
    histories = dict(read_taira_users(sources["users"][0]))
    asked: dict[str, set[str]] = {}
    for query in queries:
        asked.setdefault(query.user_id, set()).add(query.target_id)
        problems["queries_without_user"] += query.user_id not in histories
    for user_id, targets in asked.items():
        own = [item for q in queries if q.user_id == user_id for item in q.history]
        histories[user_id] = tuple(i for i in dict.fromkeys(own) if i not in targets)
    rows = tuple(
        {"user_id": user_id, "item_id": item_id, "label": "pos"}
        for user_id, items in histories.items()
        for item_id in items
    )
    return People(rows, queries, _listed(sources["catalogue"]))


def _listed(paths: Sequence[Path]) -> frozenset[str] | None:
    """Ids of a catalogue file, where there is one; its other columns are long and not kept."""
    if not paths:
        return None
    path = paths[0]
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream, strict=True)
            if "id" not in (rows.fieldnames or ()):
                raise ShopError(f"{path}: no column 'id'. Name the column of item ids so")
            ids = {(row["id"] or "").strip(): rows.line_num for row in rows}
    except (OSError, ValueError, csv.Error) as error:
        raise ShopError(f"{path}: not a CSV file in UTF-8: {error}. Export it again") from error
    if "" in ids:
        raise ShopError(f"{path}:{ids['']}: 'id' is empty. Fill it in or drop the row")
    return frozenset(ids)


def _reviewers(path: Path, progress: Progress) -> People:
    with progress.task(f"{path.name} (kB)", kilobytes(path)) as advance:
        rows = tuple(read_reviews(path, advance))
    return People(rows, (), frozenset(row["item_id"] for row in rows))


def _query(row: table_files.Row, place: int, copies: int, problems: Counter[str]) -> TairaQuery:
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


def _number(record: ListedLine, name: str) -> float:
    value = record.needed(name)
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ShopError(f"{record.where}: {name!r} is {value!r:.60}, wanted a number. Mend it")
    return number
