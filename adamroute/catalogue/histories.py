"""What users liked and disliked, from the interactions table of a shop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from adamroute.catalogue.known_items import KnownItems
from adamroute.catalogue.queries import ANONYMOUS
from adamroute.catalogue.ratings import LikedFrom, liked_from, read_rating
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Catalogue
from adamroute.catalogue.shop_yaml import InteractionsYaml
from adamroute.catalogue.table_files import Row, Table
from adamroute.catalogue.times import Moment, one_clock, read_moment
from adamroute.errors import ShopError, shown

Histories = Mapping[str, tuple[Interaction, ...]]
COLUMNS = ("user_id", "item_id", "label", "rating", "timestamp")
IDS = ("user_id", "item_id")
_LABELS = {"pos": True, "neg": False, "1": True, "0": False, "true": True, "false": False}


@dataclass(frozen=True)
class ReadHistories:
    """Histories by user in the order of timestamp, then file, and how they were read."""

    histories: Histories
    problems: Mapping[str, int]  # harmless defects counted, zeros included
    facts: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Logged:
    """A row of the table that can be used, if its item is still there."""

    row: Row
    user_id: str
    label: bool | None
    rating: float | None
    percent: bool
    moment: Moment | None

    def interaction(self, item_id: str, liking: LikedFrom | None) -> Interaction:
        liked = liking is not None and (self.rating or 0.0) >= liking.positive_from
        seconds = self.moment.seconds if self.moment else 0.0
        return Interaction(item_id, liked if self.label is None else self.label, seconds)


def read_histories(table: Table, spec: InteractionsYaml, catalogue: Catalogue) -> ReadHistories:
    """What the table says of each user; ShopError names the row or the column at fault.

    `label` wins where the table has `rating` too. A row that repeats another in every respect is
    dropped and counted as `repeated_interactions`, one whose item is gone as
    `interactions_of_gone_items`.
    """
    _check_columns(table, spec)
    reader = _RowReader(table, spec.timestamp_format)
    rows = tuple(table.sieve.through(table.rows, reader.logged))
    table.sieve.settle()
    clock = one_clock([logged.moment for logged in rows if logged.moment])
    liking = _liking(table, spec, rows)
    items = KnownItems(catalogue)
    grouped: dict[str, dict[Interaction, None]] = {}
    problems: Counter[str] = Counter()
    for logged in rows:
        if (item_id := items.find(logged.row, "item_id")) is None:
            continue
        interaction = logged.interaction(item_id, liking)
        history = grouped.setdefault(logged.user_id, {})
        problems["repeated_interactions"] += interaction in history
        history[interaction] = None
    items.settle("interactions")
    ordered = {u: tuple(sorted(h, key=lambda x: x.timestamp)) for u, h in grouped.items()}
    problems["interactions_of_gone_items"] = items.gone.count
    problems["bad_interactions"] = table.sieve.bad.count
    problems["ratings_all_alike"] = _alike(rows)
    return ReadHistories(ordered, problems, _facts(table, items, liking, clock))


def _check_columns(table: Table, spec: InteractionsYaml) -> None:
    table.require(IDS, "an interactions table")
    if not table.columns & {"label", "rating"}:
        table.require(("label",), "an interactions table without 'rating'")
    if spec.time != "none":
        table.require(("timestamp",), f"interactions.time '{spec.time}' in shop.yaml")


@dataclass(frozen=True)
class _RowReader:
    """Reads one row by the columns that its table has."""

    table: Table
    timestamp_format: str | None

    def logged(self, row: Row) -> _Logged:
        label = rating = moment = None
        percent = False
        if "label" in self.table.columns:
            label = _label(row)
        else:
            rating, percent = read_rating(row, self.table.decimal)
        if "timestamp" in self.table.columns:
            moment = read_moment(row, self.timestamp_format)
        row.needed("item_id")
        return _Logged(row, _user(row), label, rating, percent, moment)


def _user(row: Row) -> str:
    user_id = row.needed("user_id")
    if user_id.startswith(ANONYMOUS):
        raise ShopError(
            f"{row.where}: user_id {shown(user_id)} begins with '{ANONYMOUS}', which is kept for "
            "queries without a user. Rename the user"
        )
    return user_id


def _label(row: Row) -> bool:
    text = row.needed("label")
    if text.lower() not in _LABELS:
        raise ShopError(f"{row.where}: label {shown(text)}, wanted pos or neg")
    return _LABELS[text.lower()]


def _liking(table: Table, spec: InteractionsYaml, rows: Sequence[_Logged]) -> LikedFrom | None:
    """From which rating on an item is liked; None where the table has labels."""
    ratings = [logged.rating for logged in rows if logged.rating is not None]
    if not ratings:
        return None
    if spec.positive_from is not None:
        return LikedFrom(spec.positive_from, "positive_from in shop.yaml")
    return liked_from(str(table.path), ratings, percent=any(logged.percent for logged in rows))


def _alike(rows: Sequence[_Logged]) -> int:
    """How many ratings there are, if all are the same: then nobody is known to prefer anything."""
    ratings = [logged.rating for logged in rows if logged.rating is not None]
    return len(ratings) if len(ratings) > 1 and len(set(ratings)) == 1 else 0


def _facts(
    table: Table, items: KnownItems, liking: LikedFrom | None, clock: str
) -> dict[str, JsonValue]:
    facts = table.told()
    if liking is not None:
        facts |= {"positive_from": liking.positive_from, "positive_because": liking.because}
    if clock:
        facts["clock"] = clock
    if items.gone.count:
        facts["gone_items"] = items.gone.facts(table.path)
    return facts
