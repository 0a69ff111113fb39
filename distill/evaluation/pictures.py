"""The report's three pictures, drawn from its numbers with matplotlib's Agg backend.

One accent colour marks the student everywhere; references (random, oracle) are grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.schema import ROUTERS, Report, RouterName

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

INK, MUTED, GRID = "#22303c", "#8795a1", "#e3e8ec"
COLOURS: Mapping[str, str] = {
    "student": "#d1495b", "cascade": "#8d5a97", "teacher": "#edae49", "static_best": "#22303c",
    "linear_student": "#00798c", "kind_guessed": "#5fa777", "kind_known": "#5fa777",
    "oracle": MUTED, "random": MUTED,
}  # fmt: skip
LABELS: Mapping[RouterName, str] = {
    "text_only": "text only", "mm_only": "multimodal only", "half": "half and half",
    "static_best": "best fixed split", "rrf": "rank fusion", "linear_student": "linear student",
    "kind_guessed": "kind guessed", "kind_known": "kind known", "student": "LoRA student",
    "cascade": "cascade", "teacher": "teacher", "random": "random split",
    "oracle": "oracle (sees the answer)",
}  # fmt: skip
KIND_COLOURS = ("#d1495b", "#00798c", "#edae49", "#8d5a97", "#5fa777")
STYLE = {
    "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": MUTED, "axes.linewidth": 0.8,
    "axes.labelcolor": INK, "axes.titlesize": 12, "axes.titleweight": "bold",
    "axes.titlecolor": INK, "axes.titlelocation": "left", "axes.titlepad": 12,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.grid": True,
    "grid.color": GRID, "grid.linewidth": 0.8, "axes.axisbelow": True, "figure.dpi": 130,
    "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "adamroute",
}  # fmt: skip


@dataclass(frozen=True)
class Curves:
    """What the third picture shows."""

    budgets: tuple[int, ...]  # [C]
    recall: Mapping[RouterName, Array]  # router to [C]
    sent: Array  # [S] share of requests handed to the teacher, least confident first
    cascade: Array  # [S] recall over K = 20, 40, 100 of the mixture
    operating: float | None  # share that the calibrated rule really sends


@dataclass(frozen=True)
class Dot:
    """One row of a dot picture, in per cent."""

    label: str
    mean: float
    low: float  # of the 95 % interval
    high: float
    colour: str | None = None
    hollow: bool = False  # a reference, no router
    bold: bool = False


def draw_routers(report: Report, path: Path) -> None:
    """Dots with intervals: recall over K = 20, 40, 100 of every router, best at the top."""
    order = sorted(ROUTERS, key=lambda name: report.rows[name].recall_at_k.mean)
    dots = []
    for name in order:
        row = report.rows[name]
        low, high = row.ci95["recall_at_k_mean"]
        dots.append(
            Dot(
                LABELS[name], 100 * row.recall_at_k.mean, 100 * low, 100 * high,
                COLOURS.get(name),
                hollow=name in ("oracle", "random"), bold=name in ("student", "static_best"),
            )
        )  # fmt: skip
    base = 100 * report.rows["static_best"].recall_at_k.mean
    title = f"{report.shop}: recall at equal budgets, {report.n_queries} requests"
    draw_dots(path, title, dots, base)


def draw_dots(path: Path, title: str, dots: Sequence[Dot], base: float) -> None:
    """Rows of recall over K = 20, 40, 100, the last at the top; a line at the best fixed split."""
    with figure(path, (8.4, 0.4 * len(dots))) as axes:
        axes.axvline(base, color=COLOURS["static_best"], lw=1.0, ls=(0, (4, 3)), zorder=1)
        for place, dot in enumerate(dots):
            colour = dot.colour or "#5b6b78"
            axes.plot([dot.low, dot.high], [place, place], color=colour, lw=2.4, alpha=0.45,
                      zorder=2)  # fmt: skip
            axes.plot(
                dot.mean, place, "o", ms=8, color=colour, zorder=3,
                markerfacecolor="white" if dot.hollow else colour, markeredgewidth=1.8,
            )  # fmt: skip
            axes.annotate(
                f"{dot.mean:.1f}", (dot.high, place), xytext=(7, 0), textcoords="offset points",
                va="center", fontsize=9, color=dot.colour or INK,
            )  # fmt: skip
        axes.set_yticks(range(len(dots)), [dot.label for dot in dots])
        for text, dot in zip(axes.get_yticklabels(), dots, strict=True):
            text.set_fontweight("bold" if dot.bold else "normal")
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.08)
        axes.set_xlabel(
            "wanted items recalled, %, mean over K = 20, 40, 100 (line: 95 % interval)"
        )
        axes.set_title(title)


def draw_alphas(alphas: Array, kinds: Sequence[str | None], path: Path) -> None:
    """How the student divides the budget, one panel a stated kind: alphas [B]."""
    names = sorted({kind for kind in kinds if kind}) or ["all requests"]
    labels = np.array([kind or "" for kind in kinds])
    edges = np.linspace(-0.05, 1.05, 12)
    with panels(path, len(names)) as row:
        for place, (axes, name) in enumerate(zip(row, names, strict=True)):
            here = alphas[labels == name] if any(kinds) else alphas
            colour = KIND_COLOURS[place % len(KIND_COLOURS)]
            share = 100 * np.histogram(here, edges)[0] / max(len(here), 1)
            axes.bar(np.linspace(0, 1, 11), share, width=0.082, color=colour, alpha=0.9)
            mean = float(here.mean()) if len(here) else 0.5
            axes.axvline(mean, color=INK, lw=1.2, ls=(0, (4, 3)))
            axes.set_title(f"{name}  (n = {len(here)})", fontsize=11)
            axes.grid(axis="x", visible=False)
            axes.set_xlim(-0.08, 1.08)
            axes.annotate(
                f"mean {mean:.2f}", (mean, 1.0), xycoords=("data", "axes fraction"),
                xytext=(4 if mean < 0.6 else -4, -4), textcoords="offset points", va="top",
                ha="left" if mean < 0.6 else "right", fontsize=9,
            )  # fmt: skip
            axes.set_xlabel("alpha: 0 multimodal only, 1 text only")
        row[0].set_ylabel("requests, %")


def draw_curves(report: Report, curves: Curves, path: Path) -> None:
    """Left: recall against K. Right: recall as more requests go to the teacher."""
    with panels(path, 2, share_y=False, width=4.9, height=4.8) as (left, right):
        _draw_budgets(left, curves)
        _draw_cascade(right, report, curves)


def _draw_budgets(axes: Axes, curves: Curves) -> None:
    """Gain over the best fixed split: plain recall curves would lie on top of each other."""
    base = curves.recall["static_best"]
    for name, recall in curves.recall.items():
        if name == "static_best":
            continue
        marker, dashes = {"oracle": ("^", (0, (5, 2))), "random": ("v", (0, (1, 1.5)))}.get(
            name, ("o", "-")
        )
        axes.plot(
            curves.budgets, 100 * (recall - base), color=COLOURS.get(name, "#5b6b78"),
            lw=2.4 if name == "student" else 1.6, ls=dashes,
            marker=marker, ms=4, label=LABELS[name],
        )  # fmt: skip
    axes.axhline(0, color=COLOURS["static_best"], lw=1.4, label=LABELS["static_best"])
    axes.set_xscale("log")
    axes.set_xticks(curves.budgets, [str(k) for k in curves.budgets])
    axes.minorticks_off()
    axes.set_xlabel("budget K, candidates")
    axes.set_ylabel("recall, points above the best fixed split")
    axes.set_title("What a learned split gains", fontsize=11)
    legend(axes)


def _draw_cascade(axes: Axes, report: Report, curves: Curves) -> None:
    sent, mixed = 100 * curves.sent, 100 * curves.cascade
    axes.plot(sent, mixed, color=COLOURS["cascade"], lw=2.2, label="least confident first")
    axes.plot(
        sent[[0, -1]], mixed[[0, -1]], color=MUTED, lw=1.4, ls=(0, (2, 2)), label="in random order"
    )
    static = 100 * report.rows["static_best"].recall_at_k.mean
    axes.axhline(static, color=COLOURS["static_best"], lw=1.4, label=LABELS["static_best"])
    for x, y, name in ((sent[0], mixed[0], "student"), (sent[-1], mixed[-1], "teacher")):
        axes.plot(x, y, "o", ms=8, color=COLOURS[name], label=f"{name} alone", zorder=4)
    if curves.operating is not None:
        axes.axvline(100 * curves.operating, color=COLOURS["cascade"], lw=1.2, ls=(0, (4, 3)))
        axes.annotate(
            f"calibrated rule: {100 * curves.operating:.0f} %", (100 * curves.operating, 0.02),
            xycoords=("data", "axes fraction"), xytext=(5, 0), textcoords="offset points",
            fontsize=8.5, color=COLOURS["cascade"],
        )  # fmt: skip
    axes.set_xlabel("requests sent to the teacher, %")
    axes.set_ylabel("recall, %, mean over K = 20, 40, 100")
    axes.set_title("What asking the teacher changes", fontsize=11)
    low, high = min(static, mixed.min()), max(static, mixed.max())
    middle, half = (high + low) / 2, max(0.65 * (high - low), 3.0)
    axes.set_ylim(middle - half, middle + half)  # at least 6 points: one request is no cliff
    legend(axes)


def legend(axes: Axes, columns: int = 3) -> None:
    """Below the panel, where no curve can run through it."""
    axes.legend(
        frameon=False, fontsize=8.5, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.15)
    )


@contextmanager
def figure(path: Path, size: tuple[float, float]) -> Iterator[Axes]:
    """One panel in the project's style, saved when the block ends."""
    with _canvas(path, size, 1, share_y=False) as (_, (axes,)):
        yield axes


@contextmanager
def panels(
    path: Path, count: int, *, share_y: bool = True, width: float = 3.4, height: float = 3.2
) -> Iterator[tuple[Axes, ...]]:
    """Panels side by side in the project's style, saved when the block ends."""
    with _canvas(path, (width * count, height), count, share_y=share_y) as (_, axes):
        yield axes


@contextmanager
def _canvas(
    path: Path, size: tuple[float, float], count: int, *, share_y: bool
) -> Iterator[tuple[Figure, tuple[Axes, ...]]]:
    """A figure without pyplot, so that nothing global is left behind; saved by rename."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        canvas = Figure(figsize=size, layout="constrained", facecolor="white")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(1, count, sharey=share_y, squeeze=False)[0]
        yield canvas, tuple(axes)
        partial = path.with_name(path.name + ".partial")
        canvas.savefig(partial, format="png", metadata={"Software": None})
        partial.replace(path)
