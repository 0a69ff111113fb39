"""What a request is answered with (CONTRACTS, "Serving behaviour"): plain values, fit for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from adamroute.catalogue.request import PreferenceProfile, UserStatus
from adamroute.retrieval.dual import Origin
from adamroute.teacher.answer import TeacherSource, TraceStep
from adamroute.theta import Combine, Theta

Source = Literal["student", "static"] | TeacherSource


@dataclass(frozen=True)
class Versions:
    """Content hashes of the stages that answered, 16 hex digits each."""

    index: str
    student: str
    calibration: str
    reranker: str
    labels: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Theta, and why it is this one."""

    theta: Theta
    source: Source
    confidence: float | None = None  # P(regret <= epsilon); None where the student was not asked
    threshold: float | None = None  # the one in force; None where the policy has none
    fallback: str | None = None  # "low_confidence", "fallback_skipped: REASON", or None
    teacher_fallbacks: tuple[str, ...] = ()  # what the teacher's loop had to do without
    llm_calls: int = 0  # of the teacher's language model for this request, repairs included
    llm_tokens: int = 0  # prompts and replies of those calls


@dataclass(frozen=True, kw_only=True)
class Routing(Choice):
    """The answer of `route`."""

    request_id: str
    user: UserStatus
    calibrated_on: str  # "outcomes" or "synthetic"
    certified: bool
    combine: Combine  # how retrieval spends theta: as a weight (fused) or as shares (split)
    timings_ms: dict[str, float]  # stage to milliseconds, `total` last
    versions: Versions
    lacks: tuple[
        str, ...
    ] = ()  # parts of the run that could not be fitted as they should, and why

    def plain(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class RecommendedItem:
    """One item of an answer."""

    item_id: str
    title: str
    image: str | None  # path relative to the shop folder
    score: float  # expected grade, 1 to 5
    levels: tuple[float, ...]  # P(grade 1) .. P(grade 5), sums to 1
    text_rank: int  # 1-based, in the whole catalogue
    mm_rank: int
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class Recommendation(Routing):
    """The answer of `recommend`: best first, fewer than n where theta's budget is smaller or
    candidates were excluded.
    """

    items: tuple[RecommendedItem, ...]
    # Candidates that left before they were graded: "disliked", "liked", "ids" where asked for.
    excluded: dict[str, int] = field(default_factory=dict)
    reranker: dict[str, float] = field(default_factory=dict)  # counts since its start


@dataclass(frozen=True)
class ItemReason:
    """Why one item stands where it does."""

    item: RecommendedItem
    text_score: float  # inner product with the query in each branch
    mm_score: float
    # What each feature adds to its fit; their sum orders the items. {} where the re-ranker weighs
    # no features.
    contributions: Mapping[str, float]


@dataclass(frozen=True)
class Explanation:
    """A recommendation with the numbers behind it."""

    recommendation: Recommendation
    query: str  # as asked; the preference text where the request has none
    profile: PreferenceProfile  # p_u, as told with the request or of the history
    neighbours: Mapping[str, float]  # user id to cosine, nearest first
    alpha_probs: Mapping[float, float]  # by the student, whoever decided; sums to 1
    teacher_steps: tuple[TraceStep, ...]  # of the loop, where it answered
    reasons: tuple[ItemReason, ...]  # in the order of the items

    def plain(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)
