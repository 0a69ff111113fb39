"""Who took what, and who asked for what, of a public set."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adamroute.datasets.amazon.lines import kilobytes
from adamroute.datasets.amazon.reviews import read_reviews
from adamroute.datasets.amazon.sources import PublicSet, Role
from adamroute.datasets.amazon.taira import TairaQuery, read_taira_queries, read_taira_users
from adamroute.errors import ShopError
from adamroute.progress import Progress

Row = Mapping[str, object]


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
    return _reviewers(sources["reviews"], progress)


def query_rows(query: TairaQuery, *, each_copy: bool) -> Iterator[Row]:
    """The row of a query, with `copies`; or a row for each copy of it."""
    row = {
        "user_id": query.user_id,
        "query": query.text,
        "target_id": query.target_id,
        "kind": query.kind,
    }
    if not each_copy:
        yield {"query_id": f"q{query.place}", **row, "copies": query.copies}
        return
    for copy in range(1, query.copies + 1):
        name = f"q{query.place}" if copy == 1 else f"q{query.place}-{copy}"
        yield {"query_id": name, **row, "copies": 1}


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
            return frozenset(_id(row["id"], f"{path}:{rows.line_num}") for row in rows)
    except (OSError, ValueError, csv.Error) as error:
        raise ShopError(f"{path}: not a CSV file in UTF-8: {error}. Export it again") from error


def _id(cell: str | None, where: str) -> str:
    if not (found := (cell or "").strip()):
        raise ShopError(f"{where}: 'id' is empty. Fill it in or drop the row")
    return found


def _reviewers(paths: Sequence[Path], progress: Progress) -> People:
    path = paths[0]
    with progress.task(f"{path.name} (kB)", kilobytes(path)) as advance:
        rows = tuple(
            {
                "user_id": review.user_id,
                "item_id": review.item_id,
                "rating": review.rating,
                "timestamp": review.time_s,
            }
            for review in read_reviews(path, advance)
        )
    return People(rows, (), frozenset(str(row["item_id"]) for row in rows))
