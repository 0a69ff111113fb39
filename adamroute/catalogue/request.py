"""A request as a value: who asks, for what, and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

UserStatus = Literal["known", "unknown", "given"]  # stored, nowhere, or told with the request


@dataclass(frozen=True, slots=True)
class Interaction:
    """One item a user liked or did not."""

    item_id: str
    positive: bool
    timestamp: float = math.inf  # unit and meaning: Shop.time; told now where nobody says


@dataclass(frozen=True, slots=True)
class PreferenceProfile:
    """What a user is known to want; each part holds short phrases, the strongest first."""

    strong_pref: tuple[str, ...] = ()
    nice_to_have: tuple[str, ...] = ()
    dislike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What routers, teacher and re-rankers may see of a request."""

    request_id: str
    user_id: str | None
    query: str  # the preference text where the shopper gave no words
    history: tuple[Interaction, ...]  # earliest first
    preferences: PreferenceProfile | None = None  # told with the request; wins over the history
    user: UserStatus = "given"

    @property
    def has_positives(self) -> bool:
        """Whether the teacher has anything to learn from; the latest label of an item counts."""
        return any({x.item_id: x.positive for x in self.history}.values())
