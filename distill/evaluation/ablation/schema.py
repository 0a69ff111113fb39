"""ablation.json, format 1: written and read through this model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import model_validator

from adamroute.distill.evaluation.schema import (
    Amount,
    AtFixedBudget,
    Count,
    Difference,
    MetricName,
    Part,
    Share,
)

AblationName = Literal[
    "full", "no_routing", "no_start", "no_pseudo_queries", "no_memory", "no_augmentation",
    "text_only", "mm_only", "no_attribute_filter", "no_preference_scoring",
]  # fmt: skip
PeerName = Literal["bm25", "dense_text", "rrf", "linear_fusion", "judged_fusion"]
ReferenceName = Literal["static_best", "kind_known", "random", "oracle"]
RowName = AblationName | PeerName | ReferenceName
ABLATIONS: tuple[AblationName, ...] = (
    "full", "no_routing", "no_start", "no_pseudo_queries", "no_memory", "no_augmentation",
    "text_only", "mm_only", "no_attribute_filter", "no_preference_scoring",
)  # fmt: skip
PEERS: tuple[PeerName, ...] = ("bm25", "dense_text", "rrf", "linear_fusion", "judged_fusion")
REFERENCES: tuple[ReferenceName, ...] = ("static_best", "kind_known", "random", "oracle")
ROWS: tuple[RowName, ...] = (*ABLATIONS, *PEERS, *REFERENCES)


class Published(Part):
    """A row of the paper's ablation on Amazon Beauty: another data set, another scale."""

    recall: Share  # with the neighbours' items
    hr20: Share


PUBLISHED: Mapping[AblationName, Published] = {
    "full": Published(recall=0.4278, hr20=0.1711),
    "no_routing": Published(recall=0.3743, hr20=0.1524),
    "no_start": Published(recall=0.4171, hr20=0.1684),
    "no_pseudo_queries": Published(recall=0.3850, hr20=0.1578),
    "no_memory": Published(recall=0.3930, hr20=0.1631),
    "no_augmentation": Published(recall=0.4091, hr20=0.1658),
    "text_only": Published(recall=0.3422, hr20=0.1471),
    "mm_only": Published(recall=0.3155, hr20=0.1390),
    "no_attribute_filter": Published(recall=0.4278, hr20=0.1551),
    "no_preference_scoring": Published(recall=0.4278, hr20=0.1337),
}


class AblationRow(Part):
    """One row of the table. Intervals: paired bootstrap over users."""

    recall: Share  # of routed candidates
    recall_augmented: Share  # with the neighbours' items: the paper's Recall
    hr20: Share
    hr40: Share
    ndcg20: Share
    ndcg40: Share
    recall_at_k: AtFixedBudget
    mean_budget: Amount
    mean_candidates: Amount
    minus_full: dict[MetricName, Difference]
    llm_calls: Amount  # of language models, means a request
    tokens: Amount
    ms: Amount  # mean, encoding to ordered answer


class SweptTheta(Part):
    """One fixed theta for all requests."""

    alpha: Share
    budget: Count
    recall: Share
    ndcg20: Share


class OtherRun(Part):
    """A run that the config lists beside this one; `row` is null where it is not built."""

    name: str
    config: str
    text_encoder: str
    multimodal_encoder: str
    policy: str
    row: AblationRow | None
    static_best: AblationRow | None
    not_built: str  # what to run, "" where there is a row


class Ablation(Part):
    """The whole of ablation.json."""

    format: Literal[1] = 1
    shop: str
    queries: str
    n_queries: Count
    n_users: Count
    tau: Count
    fixed_budget: Count  # K of peers and references
    linear_weight: Share  # share of text in the linear fusion, fitted on train and calibration
    commit: str
    rows: dict[RowName, AblationRow]
    encoders: tuple[OtherRun, ...]
    policies: tuple[OtherRun, ...]
    sweep: tuple[SweptTheta, ...]

    @model_validator(mode="after")
    def _all_rows(self) -> Ablation:
        missing = [name for name in ROWS if name not in self.rows]
        if missing:
            raise ValueError(f"rows missing: {', '.join(missing)}")
        return self
