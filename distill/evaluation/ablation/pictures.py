"""The static sweep: what one fixed theta for all requests would reach (the paper's figure 3)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adamroute.distill.evaluation.ablation.schema import Ablation
from adamroute.distill.evaluation.pictures import COLOURS, legend, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = ("#b9d6da", "#86bac1", "#4d9fa9", "#00798c", "#005866", "#003a44", "#001d22", "#000000")


def draw_sweep(report: Ablation, path: Path) -> None:
    """Left recall, right ndcg@20 against alpha: one line a budget K, a dot at its best alpha.

    The full method is a level line in both, drawn at what its own mean budget reaches.
    """
    full = report.rows["full"]
    with panels(path, 2, share_y=False, width=4.9, height=4.4) as (left, right):
        _draw(left, report, "recall", full.recall, full.mean_budget)
        _draw(right, report, "ndcg20", full.ndcg20, full.mean_budget)
        left.set_title("Wanted items recalled, %", fontsize=11)
        right.set_title("NDCG@20 after scoring, x 100", fontsize=11)


def _draw(axes: Axes, report: Ablation, measure: str, full: float, budget: float) -> None:
    budgets = sorted({swept.budget for swept in report.sweep})
    for shade, k in zip(SHADES, budgets, strict=False):
        here = [swept for swept in report.sweep if swept.budget == k]
        alphas = [swept.alpha for swept in here]
        values = [100 * float(getattr(swept, measure)) for swept in here]
        axes.plot(alphas, values, color=shade, lw=1.8, label=f"K = {k}")
        best = max(range(len(values)), key=values.__getitem__)
        axes.plot(alphas[best], values[best], "o", ms=6, color=shade)
    axes.axhline(
        100 * full, color=COLOURS["teacher"], lw=1.6, ls=(0, (4, 3)),
        label=f"full method, mean K = {budget:.0f}",
    )  # fmt: skip
    axes.set_xlabel("alpha: 0 multimodal only, 1 text only")
    legend(axes)
