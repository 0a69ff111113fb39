"""Bodies of the HTTP interface (CONTRACTS, "Serving behaviour"); its answers are the core's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS
from adamroute.catalogue.request import Interaction, PreferenceProfile
from adamroute.recommender.exclusion import EXCLUDED, MAX_ID
from adamroute.recommender.path import SHOWN, Asking

MAX_ITEMS = 200  # n; tau caps it further
MAX_HISTORY = 1000
MAX_EXCLUDED = 1000

Id = Annotated[str, Field(min_length=1, max_length=MAX_ID)]
Phrase = Annotated[str, Field(min_length=1, max_length=100)]
Phrases = Annotated[tuple[Phrase, ...], Field(max_length=50)]


class Strict(BaseModel):
    """Frozen, no unknown keys, and no guessing: "20" is not 20."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class HistoryEntry(Strict):
    """One item the shopper liked or did not."""

    item_id: Id
    label: Literal["pos", "neg"]


class GivenPreferences(Strict):
    """Short phrases, the strongest first."""

    strong_pref: Phrases = ()
    nice_to_have: Phrases = ()
    dislike: Phrases = ()


class RouteBody(Strict):
    """A request for theta alone."""

    user_id: Id | None = None
    # Length is checked with the rest of the query's rules, where the message can say more.
    query: str | None = Field(
        default=None, description=f"1 to {MAX_QUERY_CHARACTERS} characters; null: query-free"
    )
    policy: Annotated[str, Field(max_length=100)] = "auto"
    history: Annotated[tuple[HistoryEntry, ...], Field(max_length=MAX_HISTORY)] | None = Field(
        default=None, description="wins over what is stored of the user; oldest first"
    )
    preferences: GivenPreferences | None = Field(
        default=None, description="wins over what would be derived from the history"
    )


class RecommendBody(RouteBody):
    """A request for items."""

    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = SHOWN
    exclude: Annotated[tuple[Id, ...], Field(max_length=MAX_EXCLUDED)] = Field(
        default=EXCLUDED,
        description="leave out before grading: liked, disliked, or item ids; [] keeps all",
    )


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Health(Answer):
    status: Literal["ok", "ready"]
    replicas: dict[str, str] = {}


class Problem(Answer):
    """RFC 9457, with the part of the body that is wrong."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = None


def asking(body: RouteBody, request_id: str) -> Asking:
    """The body as values of the core."""
    history, given = body.history, body.preferences
    return Asking(
        request_id=request_id,
        query=body.query,
        user_id=body.user_id,
        history=None
        if history is None
        else tuple(Interaction(entry.item_id, entry.label == "pos") for entry in history),
        preferences=None
        if given is None
        else PreferenceProfile(given.strong_pref, given.nice_to_have, given.dislike),
    )
