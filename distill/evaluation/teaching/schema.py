"""teacher.json, format 1: written and read through this model."""

from __future__ import annotations

from typing import Literal

from adamroute.distill.evaluation.schema import (
    Amount,
    AtFixedBudget,
    Count,
    Difference,
    Interval,
    Part,
    Share,
)

RowName = Literal[
    "text_only", "mm_only", "half", "static_best", "kind_guessed", "kind_known", "prior_only",
    "teacher", "random", "oracle",
]  # fmt: skip
ROWS: tuple[RowName, ...] = (
    "text_only", "mm_only", "half", "static_best", "kind_guessed", "kind_known", "prior_only",
    "teacher", "random", "oracle",
)  # fmt: skip
RIVALS: tuple[RowName, ...] = ("static_best", "kind_guessed", "kind_known", "prior_only", "oracle")
Place = Literal["20", "40", "100", "mean"]
PLACES: tuple[Place, ...] = ("20", "40", "100", "mean")
BranchName = Literal["text", "multimodal"]
SliceName = Literal["kind", "history", "steps"]


class TeacherRow(Part):
    """One router at equal budgets, each keeping its alpha."""

    recall_at_k: AtFixedBudget
    ci95: Interval  # of the mean over K = 20, 40, 100
    minus_static_best: dict[Place, Difference]


class Hardness(Part):
    """Ranks of pseudo-queries' items in one branch beside those of real train queries' items."""

    n_pseudo: Count
    n_real: Count
    median_pseudo: Amount
    median_real: Amount
    distance: Share  # Kolmogorov-Smirnov: the widest gap between two distribution functions


class TeacherSlice(Part):
    """Part of the requests."""

    n: Count
    teacher: Share  # recall, mean over K = 20, 40, 100
    static_best: Share
    prior_only: Share
    oracle: Share
    regret: Share  # mean routing regret, in soft recall at the teacher's own K
    minus_static_best: Difference


class Costs(Part):
    """Means a request."""

    llm_calls: Amount
    tokens: Amount
    ms: Amount | None  # in batches, as labelling does; None where texts were remembered


class TeacherReport(Part):
    """The whole of teacher.json."""

    format: Literal[1] = 1
    shop: str
    queries: str
    n_queries: Count
    n_users: Count
    policy: str
    mean_budget: Amount  # what the operator asked for
    commit: str
    rows: dict[RowName, TeacherRow]
    minus: dict[RowName, dict[Place, Difference]]  # teacher minus these
    gain_share: float | None  # teacher's gain over static_best by kind_known's; None without one
    regret: Amount  # mean routing regret, in soft recall at the teacher's own K
    recall: Share  # by the teacher's own alpha and K
    teacher_budget: Amount  # mean of its own K
    hardness: dict[BranchName, Hardness]  # empty where nothing was rewritten
    slices: dict[SliceName, dict[str, TeacherSlice]]
    no_evidence: Share  # requests whose answer is the prior
    fallbacks: dict[str, Share]  # name to the share of requests on which it happened
    costs: Costs
