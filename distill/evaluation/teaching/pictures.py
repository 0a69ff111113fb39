"""The two pictures of the teacher's report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adamroute.distill.evaluation.pictures import (
    COLOURS,
    INK,
    LABELS,
    Dot,
    draw_dots,
    legend,
    panels,
)
from adamroute.distill.evaluation.teaching.measure import Array, Ranks
from adamroute.distill.evaluation.teaching.schema import ROWS, RowName, TeacherReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES: Mapping[RowName, str] = {
    **{name: LABELS[name] for name in ROWS if name != "prior_only"},
    "prior_only": "prior alone",
}


def draw_rows(report: TeacherReport, path: Path) -> None:
    """Dots with intervals: recall over K = 20, 40, 100 of the teacher and what it is held to."""
    order = sorted(ROWS, key=lambda name: report.rows[name].recall_at_k.mean)
    dots = []
    for name in order:
        row = report.rows[name]
        low, high = row.ci95
        dots.append(
            Dot(
                NAMES[name], 100 * row.recall_at_k.mean, 100 * low, 100 * high,
                COLOURS.get(name),
                hollow=name in ("oracle", "random"), bold=name in ("teacher", "static_best"),
            )
        )  # fmt: skip
    base = 100 * report.rows["static_best"].recall_at_k.mean
    draw_dots(path, f"{report.shop}: the teacher at equal budgets", dots, base)


def draw_hardness(ranks: Ranks, path: Path) -> None:
    """Share of queries whose item has at most this rank, a panel a branch."""
    with panels(path, 2, width=4.6, height=4.2) as (left, right):
        _draw_branch(left, ranks.pseudo_text, ranks.real_text)
        _draw_branch(right, ranks.pseudo_mm, ranks.real_mm)
        left.set_title("Text branch", fontsize=11)
        right.set_title("Multimodal branch", fontsize=11)
        left.set_ylabel("queries, %")


def _draw_branch(axes: Axes, pseudo: Array, real: Array) -> None:
    lines = (("real train queries", real, INK), ("pseudo-queries", pseudo, COLOURS["teacher"]))
    for label, values, colour in lines:
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(np.sort(values), share, where="post", color=colour, lw=2.2, label=label)
    axes.set_xscale("log")
    most = max(pseudo.max(), real.max())
    ticks = [10**n for n in range(9) if 10**n <= most]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xlabel("rank of the item asked for, at most")
    axes.set_ylim(0, 101)
    legend(axes, columns=2)
