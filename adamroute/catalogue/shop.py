"""A shop as values: items, interactions, queries, and the requests made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from adamroute.catalogue.request import Interaction, Request
from adamroute.errors import ShopError

Split = Literal["train", "calibration", "test"]
TimeMeaning = Literal["global", "order", "none"]
SPLITS: tuple[Split, ...] = ("train", "calibration", "test")


@dataclass(frozen=True, slots=True)
class Item:
    """One product. `text` is all that the text index may read; `visual` is what a photo shows."""

    item_id: str
    title: str
    text: str
    visual: Mapping[str, str]  # attribute name to value, empty values left out
    category: str
    image: Path | None  # absolute; None where the photo is absent or known to be unreadable

    def profile(self, *, with_visual: bool) -> str:
        """s_i as one line; without the visual part for candidates found by text alone."""
        return profile_line(self.text, self.visual if with_visual else {})


def profile_line(text: str, visual: Mapping[str, str]) -> str:
    """An item's profile s_i for a model to read: its looks, then its listing."""
    return " ".join(part for part in (*visual.values(), text) if part)


@dataclass(frozen=True)
class Catalogue:
    """All items; an item's row is its place here and in every array and index."""

    items: tuple[Item, ...]

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Item id to row."""
        return {item.item_id: row for row, item in enumerate(self.items)}

    def row(self, item_id: str) -> int:
        """Row of an item; ShopError where the catalogue does not know it."""
        try:
            return self.row_of[item_id]
        except KeyError:
            raise ShopError(f"item {item_id!r}: not among the {len(self)} items") from None

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Query:
    """A logged request whose outcome is known. `kind`, `target_id`, `split`: evaluation only."""

    query_id: str
    user_id: str
    text: str
    target_id: str
    kind: str | None
    split: Split


@dataclass(frozen=True)
class Shop:
    """A shop folder, read and checked."""

    name: str
    folder: Path
    catalogue: Catalogue
    histories: Mapping[str, tuple[Interaction, ...]]  # in the order of timestamp, then file
    queries: tuple[Query, ...]
    time: TimeMeaning
    problems: Mapping[str, int] = field(default_factory=dict)  # name of a harmless defect to count
    reading: Mapping[str, JsonValue] = field(default_factory=dict)  # of each table, for manifests

    def request(self, query: Query) -> Request:
        """The query as a served request: its own target is removed from the history first."""
        history = self.histories.get(query.user_id, ())
        kept = tuple(x for x in history if x.item_id != query.target_id)
        return Request(query.query_id, query.user_id, query.text, kept)

    def split(self, *names: Split) -> tuple[Query, ...]:
        """Queries of the named splits, in file order."""
        return tuple(q for q in self.queries if q.split in names)
