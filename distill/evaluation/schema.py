"""report.json, teacher.json and ablation.json, format 2: written and read through these models.

Rows name routers and metrics as the registry and the dictionary do; no model repeats their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from adamroute.distill.evaluation.metrics import compared
from adamroute.distill.evaluation.routers import Group, routers
from adamroute.theta import Combine

Amount = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]
Interval = tuple[float, float]
Asked = Literal["real", "written"]
ABLATED: tuple[Group, ...] = ("ablation", "peer", "reference")
REPORT_COLUMNS = (
    "mean_budget", "mean_candidates", "fallback_rate", "llm_calls", "tokens", "p50_ms", "p95_ms",
    "recall_at_k", "ci95", "minus_static_best", "minus_fusion_best", "minus_today",
)  # fmt: skip


class Closed(BaseModel):
    """Frozen, closed, and without NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Difference(Closed):
    """A paired difference of two routers on the same requests, with its 95 % interval."""

    mean: float
    ci95: Interval  # bootstrap over users


Finite = Annotated[float, Field(allow_inf_nan=False)]
ByName = (
    dict[str, Finite] | dict[str, Interval] | dict[str, Difference] | dict[str, dict[str, Finite]]
)


class ReportRow(RootModel[dict[str, Count | Finite | Interval | Difference | ByName]]):
    """One router, or part of the requests: what is known of it by name, in the order of JSON."""

    model_config = ConfigDict(frozen=True)

    def __getitem__(self, name: str) -> Any:
        return self.root[name]

    def number(self, name: str) -> float:
        """One value."""
        return float(self[name])

    @property
    def recall(self) -> float:
        """At equal budgets: the mean over K = 20, 40, 100."""
        at_k: Mapping[str, float] = self["recall_at_k"]
        return sum(at_k.values()) / len(at_k)

    def minus(self, base: str, metric: str) -> Difference:
        """This router less the router `base`."""
        found: Difference = self[f"minus_{base}"][metric]
        return found


Rows = dict[str, ReportRow]


class Heading(Closed):
    """What every file begins with."""

    format: Literal[2] = 2
    shop: str
    queries: str  # "test split", or what was asked for instead
    n_queries: Count
    n_users: Count


class Report(Heading):
    """The whole of report.json."""

    teacher_policy: str
    student: Literal["linear", "intent", "lora"]
    calibrated_on: Literal["outcomes", "synthetic"]
    asked: Asked  # whose requests these are
    learned: Asked  # whose the router learned from: real ones where the train split has any
    out_of_sample: bool  # off: written requests were ranked by parts fitted on their items
    combine: Combine  # how the run spends a budget
    reach: Amount  # how far from .5 alpha may go, up to .5
    today: str  # of what a shop can have without a router, the best on these requests
    written_distance: dict[str, Amount]  # Kolmogorov-Smirnov, by branch; empty without real ones
    mean_budget: Amount  # what the operator asked for
    commit: str
    rows: Rows
    agreement: dict[str, float]  # student against teacher on the same requests
    slices: dict[Literal["kind"], dict[str, dict[str, Count | ReportRow]]]  # `n`, then the routers
    lacks: tuple[
        str, ...
    ] = ()  # parts of the run that could not be fitted as they should, and why

    @property
    def shown(self) -> Rows:
        """Rows of pages and pictures: the linear student stands there once, where it serves."""
        once = {"linear_student"} if self.student == "linear" else set()
        return {name: row for name, row in self.rows.items() if name not in once}

    @model_validator(mode="after")
    def _whole(self) -> Report:
        check_names(self.rows, routers("report"), "rows")
        wanted = {*compared(), *REPORT_COLUMNS} - {"recall_at_k_mean"}
        for name, row in self.rows.items():
            check_names(row.root, wanted, f"columns of {name}")
        return self


class TeacherReport(Heading):
    """The whole of teacher.json."""

    policy: str
    mean_budget: Amount  # what the operator asked for
    commit: str
    today: str  # of what a shop can have without a router, the best on these requests
    rows: Rows
    minus: dict[str, dict[str, Difference]]  # teacher minus these
    gain_share: float | None  # teacher's gain over static_best by kind_known's; None without one
    regret: Amount  # mean routing regret, in soft recall at the teacher's own K
    recall: Amount  # by the teacher's own alpha and K
    teacher_budget: Amount  # mean of its own K
    hardness: dict[str, ReportRow]  # by branch; empty where nothing was rewritten
    slices: dict[str, Rows]
    no_evidence: Amount  # share of requests whose answer is the prior
    fallbacks: dict[str, Amount]  # name to the share of requests on which it happened
    costs: dict[str, Amount | None]  # means a request; `ms` is None where texts were remembered

    @model_validator(mode="after")
    def _whole(self) -> TeacherReport:
        check_names(self.rows, routers("teacher"), "rows")
        return self


class OtherRun(Closed):
    """A run that the config lists beside this one; `row` is null where it is not built."""

    name: str
    config: str
    text_encoder: str
    multimodal_encoder: str
    policy: str
    row: ReportRow | None
    static_best: ReportRow | None
    not_built: str  # what to run, "" where there is a row


class Ablation(Heading):
    """The whole of ablation.json."""

    tau: Count
    fixed_budget: Count  # K of peers and references
    linear_weight: Amount  # share of text in the linear fusion, fitted on train and calibration
    commit: str
    rows: Rows
    encoders: tuple[OtherRun, ...]
    policies: tuple[OtherRun, ...]
    sweep: tuple[
        ReportRow, ...
    ]  # alpha, budget, recall, ndcg20 of one fixed theta for all requests

    @model_validator(mode="after")
    def _whole(self) -> Ablation:
        check_names(self.rows, routers(*ABLATED), "rows")
        return self


def check_names(found: Iterable[str], wanted: Iterable[str], what: str) -> None:
    """ValueError where names are missing or none that the registry knows."""
    names, known = {*found}, {*wanted}
    if names != known:
        missing, strange = sorted(known - names), sorted(names - known)
        raise ValueError(f"{what} missing: {', '.join(missing)}; not known: {', '.join(strange)}")
