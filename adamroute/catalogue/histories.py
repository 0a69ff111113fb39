"""What users liked and disliked, from the interactions table of a shop."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from adamroute.catalogue.queries import ANONYMOUS
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Catalogue
from adamroute.catalogue.shop_yaml import InteractionsYaml
from adamroute.catalogue.table_files import Row, Table
from adamroute.errors import ShopError

Histories = Mapping[str, tuple[Interaction, ...]]
_LABELS = {"pos": True, "neg": False}


@dataclass(frozen=True)
class _Columns:
    """Which of the optional columns a table has."""

    label: bool
    timestamp: bool
    positive_from: float

    def interaction(self, row: Row, item_id: str) -> Interaction:
        positive = _label(row) if self.label else _number(row, "rating") >= self.positive_from
        return Interaction(item_id, positive, _timestamp(row) if self.timestamp else 0.0)


def read_histories(
    table: Table, spec: InteractionsYaml, catalogue: Catalogue
) -> tuple[Histories, Mapping[str, int]]:
    """Histories by user in the order of timestamp, then file; and harmless defects counted.

    `label` wins where the table has `rating` too. A row that repeats another in every respect is
    dropped and counted as `repeated_interactions`.
    """
    columns = _columns(table, spec)
    grouped: dict[str, dict[Interaction, None]] = {}
    problems: Counter[str] = Counter()
    for row in table.rows:
        interaction = columns.interaction(row, _item(row, catalogue))
        history = grouped.setdefault(_user(row), {})
        problems["repeated_interactions"] += interaction in history
        history[interaction] = None
    ordered = {u: tuple(sorted(h, key=lambda x: x.timestamp)) for u, h in grouped.items()}
    return ordered, problems


def _columns(table: Table, spec: InteractionsYaml) -> _Columns:
    table.require(("user_id", "item_id"), "an interactions table")
    if not table.columns & {"label", "rating"}:
        table.require(("label",), "an interactions table without 'rating'")
    if spec.time != "none":
        table.require(("timestamp",), f"interactions.time '{spec.time}' in shop.yaml")
    return _Columns("label" in table.columns, "timestamp" in table.columns, spec.positive_from)


def _user(row: Row) -> str:
    user_id = row.needed("user_id")
    if user_id.startswith(ANONYMOUS):
        raise ShopError(
            f"{row.where}: user_id {user_id!r} begins with '{ANONYMOUS}', which is kept for "
            "queries without a user. Rename the user"
        )
    return user_id


def _item(row: Row, catalogue: Catalogue) -> str:
    item_id = row.needed("item_id")
    if item_id not in catalogue.row_of:
        raise ShopError(
            f"{row.where}: item_id {item_id!r} is not among the {len(catalogue)} items. "
            "Add the item or drop the row"
        )
    return item_id


def _label(row: Row) -> bool:
    text = row.needed("label")
    if text not in _LABELS:
        raise ShopError(f"{row.where}: label {text!r}, wanted {' or '.join(_LABELS)}")
    return _LABELS[text]


def _number(row: Row, column: str) -> float:
    text = row.needed(column)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ShopError(f"{row.where}: {column} {text[:60]!r}, wanted a finite number")
    return value


def _timestamp(row: Row) -> float:
    """A number as it is, or the seconds since 1970 of an ISO 8601 date (UTC unless it says so)."""
    text = row.text("timestamp")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _number(row, "timestamp")
    if text.isdigit():  # 20240105 is a date to fromisoformat
        return float(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
