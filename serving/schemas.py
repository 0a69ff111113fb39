"""Bodies and answers of the HTTP interface (CONTRACTS, "Serving behaviour")."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS

MAX_ITEMS = 200  # n; tau caps it further
MAX_HISTORY = 1000

Id = Annotated[str, Field(min_length=1, max_length=256)]
Phrase = Annotated[str, Field(min_length=1, max_length=100)]
Phrases = Annotated[tuple[Phrase, ...], Field(max_length=50)]


class Strict(BaseModel):
    """Frozen, no unknown keys, and no guessing: "20" is not 20."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class HistoryEntry(Strict):
    """One item the shopper liked or did not."""

    item_id: Id
    label: Literal["pos", "neg"]


class Preferences(Strict):
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
    preferences: Preferences | None = Field(
        default=None, description="wins over what would be derived from the history"
    )


class RecommendBody(RouteBody):
    """A request for items."""

    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 20


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class ThetaOut(Answer):
    alpha: float
    budget: int


class Versions(Answer):
    """Content hashes of the stages that answered."""

    index: str
    student: str
    calibration: str
    scorer: str
    labels: str


class RouteAnswer(Answer):
    """Theta, and why it is this one."""

    request_id: str
    theta: ThetaOut
    source: Literal["student", "teacher", "teacher:no_evidence", "static"]
    confidence: float | None  # P(regret <= epsilon); null where the student was not asked
    threshold: float | None  # the one in force; null where the policy has none
    fallback: str | None  # "low_confidence", "fallback_skipped: REASON", or null
    teacher_fallbacks: tuple[str, ...] = ()  # what the teacher's loop had to do without
    llm_calls: int = 0  # of the teacher's language model for this request, repairs included
    llm_tokens: int = 0  # prompts and replies of those calls
    user: Literal["known", "unknown", "given"]
    calibrated_on: str
    certified: bool
    timings_ms: dict[str, float]
    versions: Versions


class ItemOut(Answer):
    item_id: str
    title: str
    image: str | None
    score: float  # expected level, 1 to 5
    levels: tuple[float, ...]  # P(level 1) .. P(level 5)
    text_rank: int
    mm_rank: int
    origin: Literal["text", "multimodal", "both", "collaborative"]


class RecommendAnswer(RouteAnswer):
    """The best items, best first; fewer than n where theta's budget is smaller."""

    items: tuple[ItemOut, ...]
    scorer: dict[str, float] = {}  # counts since its start; of a language model: its level mass


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
