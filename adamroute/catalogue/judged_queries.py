"""Judgements as queries whose outcome is known: the best-graded items of each are its targets.

Queries are one where they differ in case, spacing or Unicode form alone. Several grades of one
item for one query are averaged, so that the order of files and judges decides nothing; where a
person graded any item above 0, clicks of that query are not asked. Of equally good items at most
five are targets, drawn by the hash of their ids: a query that fits half the catalogue would
otherwise be half of the evidence.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from adamroute.catalogue.judgements import Judgement, ReadJudgements, normalised
from adamroute.catalogue.left_out import LeftOut
from adamroute.catalogue.queries import ReadQueries, derived_split, place_of
from adamroute.catalogue.shop import SPLITS, Query, Shop, Split
from adamroute.errors import shown

ENOUGH = 20  # judged queries that go a long way
MOST_TARGETS = 5  # of one query
_PREFIX = "judged:"  # of their ids
Values = dict[str, list[float]]  # of each item


@dataclass(frozen=True)
class JudgedQueries:
    """Queries in the order they were first judged, and what was not taken as it stands."""

    queries: tuple[Query, ...]
    notes: Mapping[str, LeftOut]


@dataclass
class _Notes:
    """What a person should know of; the names are those that are counted."""

    judgements_twice: LeftOut = field(default_factory=LeftOut)
    contradicting_judgements: LeftOut = field(default_factory=LeftOut)
    clicks_of_graded_queries: LeftOut = field(default_factory=LeftOut)
    judged_queries_without_target: LeftOut = field(default_factory=LeftOut)
    judged_targets_beyond_five: LeftOut = field(default_factory=LeftOut)
    judged_queries_logged_already: LeftOut = field(default_factory=LeftOut)


def judged_queries(
    judgements: Sequence[Judgement],
    shoppers: Collection[str] = (),
    logged: Sequence[Query] = (),
) -> JudgedQueries:
    """One query for each target; a query that is `logged` already is left to the log.

    A query belongs to the shopper whom all of its rows name, if the shop knows one by that id,
    and to her split; else it is a user of its own, in the split of its id's hash.
    """
    notes = _Notes()
    splits = {query.user_id: query.split for query in logged}
    known = {normalised(query.text) for query in logged}
    made: list[Query] = []
    for key, rows in _by_query(judgements).items():
        if key in known:
            notes.judged_queries_logged_already.add(f"{rows[0].where}: {shown(rows[0].query)}")
        else:
            made += _queries(rows, _targets(rows, notes), shoppers, splits)
    return JudgedQueries(tuple(made), vars(notes))


def read_as_queries(
    read: Mapping[Path, ReadJudgements], shoppers: Collection[str], logged: Sequence[Query]
) -> ReadQueries:
    """Judgements of some files as queries, with all that was left out, counted and named."""
    found = judged_queries([row for part in read.values() for row in part.rows], shoppers, logged)
    facts: dict[str, JsonValue] = {
        "files": [{"file": path.name, **part.facts} for path, part in read.items()],
        "queries": len({query.text for query in found.queries}),
        "targets": len(found.queries),
    }
    notes = _joined([*(part.notes for part in read.values()), found.notes])
    facts |= {name: left.facts(*read) for name, left in notes.items() if left.count}
    return ReadQueries(found.queries, {name: n.count for name, n in notes.items()}, facts)


def told_judged(shop: Shop) -> Iterator[str]:
    """Lines for a person: how many queries of each split, and what was not taken as it stands."""
    made = [query for query in shop.queries if query.query_id.startswith(_PREFIX)]
    first = {query.text: query.split for query in made}
    splits = ", ".join(f"{split} {[*first.values()].count(split)}" for split in SPLITS)
    more = "" if len(first) >= ENOUGH else f"; {ENOUGH} go a long way"
    yield f"{shop.name}: {len(first)} judged queries, {len(made)} targets ({splits}){more}"
    facts = shop.reading.get("judged")
    for name, left in facts.items() if isinstance(facts, dict) else ():
        if isinstance(left, dict) and isinstance(left["first"], list):
            yield f"{name.replace('_', ' ')}: {left['count']}"
            yield from (f"  {line}" for line in left["first"])
    if made:
        yield "Next: adamroute run CONFIG, which fits and measures on them"


def _joined(parts: Sequence[Mapping[str, LeftOut]]) -> dict[str, LeftOut]:
    whole: dict[str, LeftOut] = defaultdict(LeftOut)
    for part in parts:
        for name, left in part.items():
            whole[name] = whole[name].joined(left)
    return whole


def judged_id(query: str) -> str:
    """Id of a judged query: the same wherever and whenever it is judged."""
    return _PREFIX + hashlib.sha256(normalised(query).encode()).hexdigest()[:12]


def graded(rows: Sequence[Judgement]) -> dict[str, float]:
    """Item to the mean of its grades (0 to 4), rows of one query."""
    return {item: math.fsum(v) / len(v) for item, v in _values(rows, by_click=False).items()}


def _by_query(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    found: dict[str, list[Judgement]] = defaultdict(list)
    for row in judgements:
        found[normalised(row.query)].append(row)
    return found


def _values(rows: Sequence[Judgement], *, by_click: bool) -> Values:
    found: Values = defaultdict(list)
    for row in rows:
        if row.by_click == by_click:
            found[row.item_id].append(row.value)
    return found


def _targets(rows: Sequence[Judgement], notes: _Notes) -> list[str]:
    """The best items of one query's rows; none where nothing was meant."""
    once = _once(rows, notes)
    _tell_contradictions(once, notes)
    worth = graded(once)
    clicks = {item: math.fsum(v) for item, v in _values(once, by_click=True).items()}
    if max(worth.values(), default=0.0) <= 0.0:
        worth = clicks
    elif clicks:
        notes.clicks_of_graded_queries.add(f"{rows[0].where}: {shown(rows[0].query)}")
    best = max(worth.values(), default=0.0)
    if best <= 0.0:
        notes.judged_queries_without_target.add(f"{rows[0].where}: {shown(rows[0].query)}")
        return []
    equal = [item for item, value in worth.items() if value == best]
    name = judged_id(rows[0].query)
    drawn = sorted(equal, key=lambda item: place_of(f"{name} {item}"))
    for item in drawn[MOST_TARGETS:]:
        notes.judged_targets_beyond_five.add(f"{rows[0].where}: {shown(item)}")
    return drawn[:MOST_TARGETS]


def _once(rows: Sequence[Judgement], notes: _Notes) -> list[Judgement]:
    """Without rows that say the same again; a click that comes again is another click."""
    kept: dict[object, Judgement] = {}
    for number, row in enumerate(rows):
        key = number if row.by_click else (row.item_id, row.value, row.user_id)
        if key in kept:
            notes.judgements_twice.add(f"{row.where}: as {kept[key].where}")
        kept.setdefault(key, row)
    return list(kept.values())


def _tell_contradictions(rows: Sequence[Judgement], notes: _Notes) -> None:
    place = {row.item_id: row.where for row in rows if not row.by_click}
    for item, values in _values(rows, by_click=False).items():
        if len(set(values)) > 1:
            grades = ", ".join(f"{value:g}" for value in values)
            notes.contradicting_judgements.add(
                f"{place[item]}: item {shown(item)} has grades {grades} for "
                f"{shown(rows[0].query)}; their mean counts"
            )


def _queries(
    rows: Sequence[Judgement],
    targets: Sequence[str],
    shoppers: Collection[str],
    splits: Mapping[str, Split],
) -> list[Query]:
    name, text = judged_id(rows[0].query), rows[0].query
    people = {row.user_id for row in rows}
    user = next(iter(people)) if len(people) == 1 and people <= set(shoppers) else name
    split = splits.get(user) or derived_split(user)
    ids = (name, *(f"{name}:{number}" for number in range(2, len(targets) + 1)))
    return [Query(i, user, text, t, None, split) for i, t in zip(ids, targets, strict=False)]
