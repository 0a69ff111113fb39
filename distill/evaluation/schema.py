"""report.json, format 1, exactly as CONTRACTS states it: written and read through this model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

RouterName = Literal[
    "text_only", "mm_only", "half", "static_best", "rrf", "linear_student", "kind_guessed",
    "kind_known", "student", "cascade", "teacher", "random", "oracle",
]  # fmt: skip
ROUTERS: tuple[RouterName, ...] = (
    "text_only", "mm_only", "half", "static_best", "rrf", "linear_student", "kind_guessed",
    "kind_known", "student", "cascade", "teacher", "random", "oracle",
)  # fmt: skip
MetricName = Literal[
    "recall", "recall_augmented", "recall_pessimistic", "hr@20", "hr@40", "ndcg@20", "ndcg@40",
    "recall_at_k_mean",
]  # fmt: skip
METRICS: tuple[MetricName, ...] = (
    "recall", "recall_augmented", "recall_pessimistic", "hr@20", "hr@40", "ndcg@20", "ndcg@40",
    "recall_at_k_mean",
)  # fmt: skip
FIXED_BUDGETS: tuple[int, ...] = (20, 40, 100)

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Amount = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]
Interval = tuple[float, float]


class Part(BaseModel):
    """Frozen, closed, and spoken by its aliases (`hr@20`)."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )


def _named(key: str) -> Any:
    """A field spoken as `key` in JSON; in Python by its own name, unlike `alias`."""
    return Field(validation_alias=key, serialization_alias=key)


class Difference(Part):
    """A paired difference of two routers on the same requests."""

    mean: float
    ci95: Interval


class AtFixedBudget(Part):
    """Recall with every router at the same K."""

    k20: Share = _named("20")
    k40: Share = _named("40")
    k100: Share = _named("100")

    @property
    def mean(self) -> float:
        """`recall_at_k_mean`: the three pooled."""
        return (self.k20 + self.k40 + self.k100) / 3


class Row(Part):
    """One router. Intervals: paired bootstrap over users."""

    recall: Share
    recall_augmented: Share
    recall_pessimistic: Share
    hr20: Share = _named("hr@20")
    hr40: Share = _named("hr@40")
    ndcg20: Share = _named("ndcg@20")
    ndcg40: Share = _named("ndcg@40")
    mean_budget: Amount
    mean_candidates: Amount
    fallback_rate: Share
    llm_calls: Amount
    tokens: Amount
    p50_ms: Amount
    p95_ms: Amount
    recall_at_k: AtFixedBudget
    ci95: dict[MetricName, Interval]
    minus_static_best: dict[MetricName, Difference]


class Agreement(Part):
    """Student against teacher on the same requests."""

    alpha_mae: Share  # mean |alpha_student - alpha_teacher|
    top_bin: Share  # requests on which both choose the same alpha bin
    kl: Amount  # KL(teacher's soft label || student), marginals over alpha, in nats
    budget_ratio: Amount  # mean K of the student over mean K of the teacher
    win: Share  # the student recalls the target and the teacher does not, each by its own theta
    tie: Share
    loss: Share
    calls_saved: float  # LLM calls a request
    tokens_saved: float


class SliceRow(Part):
    """One router on part of the requests."""

    recall_at_k: AtFixedBudget


class Slice(Part):
    """Part of the requests."""

    n: Count
    text_only: SliceRow
    mm_only: SliceRow
    half: SliceRow
    static_best: SliceRow
    rrf: SliceRow
    linear_student: SliceRow
    kind_guessed: SliceRow
    kind_known: SliceRow
    student: SliceRow
    cascade: SliceRow
    teacher: SliceRow
    random: SliceRow
    oracle: SliceRow


class Report(Part):
    """The whole of report.json."""

    format: Literal[1] = 1
    shop: str
    queries: str  # "test split", or what was asked for instead
    n_queries: Count
    n_users: Count
    teacher_policy: str
    calibrated_on: Literal["outcomes", "synthetic"]
    mean_budget: Amount  # what the operator asked for
    commit: str
    rows: dict[RouterName, Row]
    agreement: Agreement
    slices: dict[Literal["kind"], dict[str, Slice]]

    @model_validator(mode="after")
    def _all_rows(self) -> Report:
        missing = [name for name in ROUTERS if name not in self.rows]
        if missing:
            raise ValueError(f"rows missing: {', '.join(missing)}")
        return self
