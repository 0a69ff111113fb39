"""ablation.md: what each part of the method is worth, in words and tables."""

from __future__ import annotations

from collections.abc import Mapping

from adamroute.distill.evaluation.ablation.schema import (
    ABLATIONS,
    PEERS,
    PUBLISHED,
    REFERENCES,
    Ablation,
    AblationName,
    RowName,
)
from adamroute.distill.evaluation.pages import percent, points, template

NAMES: Mapping[RowName, str] = {
    "full": "full method",
    "no_routing": "no adaptive routing (.5/.5)",
    "no_start": "no collaborative start",
    "no_pseudo_queries": "no pseudo-queries (prior alone)",
    "no_memory": "no memory",
    "no_augmentation": "no collaborative augmentation",
    "text_only": "text recall alone",
    "mm_only": "multimodal recall alone",
    "no_attribute_filter": "no attribute filtering",
    "no_preference_scoring": "no preference scoring",
    "bm25": "BM25",
    "dense_text": "dense text",
    "rrf": "reciprocal-rank fusion",
    "linear_fusion": "linear fusion, one weight",
    "judged_fusion": "fusion, weight judged per query",
    "static_best": "best fixed split",
    "kind_known": "kind known",
    "random": "random split",
    "oracle": "oracle (sees the answer)",
}


def render(report: Ablation, command: str) -> str:
    """The page as Markdown."""
    return template("ablation.md.j2").render(
        report=report,
        verdict=verdict(report),
        names=NAMES,
        groups=(
            ("The method and its parts", ABLATIONS),
            ("Peers", PEERS),
            ("References", REFERENCES),
        ),
        published=PUBLISHED,
        command=command,
    )


def verdict(report: Ablation) -> tuple[str, ...]:
    """The full method, and the parts whose absence the requests at hand can tell."""
    full = report.rows["full"]
    told = [_told(report, name) for name in ABLATIONS if name != "full"]
    felt = [line for line in told if line]
    first = (
        f"On {report.n_queries} requests of {report.n_users} users ({report.queries}), the full "
        f"method recalls {percent(full.recall_augmented)} of the wanted items with "
        f"{full.mean_candidates:.1f} candidates and shows {percent(full.hr20)} of them among its "
        "first 20."
    )
    if not felt:
        return first, "No part is missed by more than chance explains (HR@20)."
    return first, f"Missed or better left out beyond chance (HR@20): {'; '.join(felt)}."


def _told(report: Ablation, name: AblationName) -> str:
    difference = report.rows[name].minus_full["hr@20"]
    low, high = difference.ci95
    if low <= 0 <= high:  # chance alone could explain it
        return ""
    return f"{NAMES[name]} {points(difference)}"
