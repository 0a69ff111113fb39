"""The pictures of all reports, drawn from their numbers with matplotlib's Agg backend.

Labels and colours are the registry's; references (random, oracle) are grey and hollow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adamroute.distill.evaluation.routers import INK, MUTED, Group, RouterEntry, routers
from adamroute.distill.evaluation.schema import Ablation, Report, ReportRow, TeacherReport
from adamroute.distill.evaluation.splits import Array
from adamroute.distill.evaluation.table import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID, OTHER = "#e3e8ec", "#5b6b78"
DASHES = {"^": (0, (5, 2)), "v": (0, (1, 1.5))}  # of curves of references, by marker
KIND_COLOURS = ("#d1495b", "#00798c", "#edae49", "#8d5a97", "#5fa777")
STYLE = {
    "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": MUTED, "axes.linewidth": 0.8,
    "axes.labelcolor": INK, "axes.titlesize": 12, "axes.titleweight": "bold",
    "axes.titlecolor": INK, "axes.titlelocation": "left", "axes.titlepad": 12,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.grid": True,
    "grid.color": GRID, "grid.linewidth": 0.8, "axes.axisbelow": True, "figure.dpi": 130,
    "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "adamroute",
}  # fmt: skip


SHADES = ("#b9d6da", "#86bac1", "#4d9fa9", "#00798c", "#005866", "#003a44", "#001d22", "#000000")


@dataclass(frozen=True)
class Curves:
    """What the third picture of the report shows."""

    budgets: tuple[int, ...]  # [C]
    recall: Mapping[str, Array]  # router to [C]
    sent: Array  # [S] share of requests handed to the teacher, least confident first
    cascade: Array  # [S] recall over K = 20, 40, 100 of the mixture
    operating: float | None  # share that the calibrated rule really sends


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of wanted items: of pseudo-queries, and of real train queries."""

    pseudo_text: Array  # [P]
    pseudo_mm: Array
    real_text: Array  # [R]
    real_mm: Array


@dataclass(frozen=True)
class Dot:
    """One row of a dot picture."""

    router: RouterEntry
    mean: float
    ci95: tuple[float, float]


def draw_routers(report: Report, path: Path) -> None:
    """Recall over K = 20, 40, 100 of every router of the report."""
    spans = {name: row["ci95"]["recall_at_k_mean"] for name, row in report.shown.items()}
    title = f"{report.shop}: recall at equal budgets, {report.n_queries} requests"
    _draw_dots(path, title, _dots(report.shown, spans, "report"), "student", report.today)


def draw_teacher(report: TeacherReport, path: Path) -> None:
    """Recall over K = 20, 40, 100 of the teacher and what it is held against."""
    spans = {name: row["ci95"] for name, row in report.rows.items()}
    title = f"{report.shop}: the teacher at equal budgets"
    _draw_dots(path, title, _dots(report.rows, spans, "teacher"), "teacher", report.today)


def _dots(
    rows: Mapping[str, ReportRow], spans: Mapping[str, tuple[float, float]], group: Group
) -> list[Dot]:
    known = routers(group)
    dots = [Dot(known[name], row.recall, spans[name]) for name, row in rows.items()]
    return sorted(dots, key=lambda dot: dot.mean)


def _draw_dots(path: Path, title: str, dots: Sequence[Dot], subject: str, today: str) -> None:
    """Dots with intervals, in per cent, best at the top; a line at the best of today."""
    (base,) = (100 * dot.mean for dot in dots if dot.router.name == today)
    with panels(path, 1, width=8.4, height=0.4 * len(dots)) as (axes,):
        axes.axvline(base, color=INK, lw=1.0, ls=(0, (4, 3)), zorder=1)
        for place, dot in enumerate(dots):
            _draw_dot(axes, place, dot)
        axes.set_yticks(range(len(dots)), [dot.router.label for dot in dots])
        for text, dot in zip(axes.get_yticklabels(), dots, strict=True):
            bold = dot.router.name in (subject, today)
            text.set_fontweight("bold" if bold else "normal")
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.08)
        axes.set_xlabel(
            "wanted items recalled, %, mean over K = 20, 40, 100 (line: 95 % interval)"
        )
        axes.set_title(title)


def _draw_dot(axes: Axes, place: int, dot: Dot) -> None:
    mean, low, high = (100 * value for value in (dot.mean, *dot.ci95))
    colour = dot.router.colour or OTHER
    axes.plot([low, high], [place, place], color=colour, lw=2.4, alpha=0.45, zorder=2)
    axes.plot(
        mean, place, "o", ms=8, color=colour, zorder=3,
        markerfacecolor="white" if dot.router.hollow else colour, markeredgewidth=1.8,
    )  # fmt: skip
    axes.annotate(
        f"{mean:.1f}", (high, place), xytext=(7, 0), textcoords="offset points",
        va="center", fontsize=9, color=dot.router.colour or INK,
    )  # fmt: skip


def draw_alphas(table: Results, path: Path) -> None:
    """How the student divides the budget, one panel a stated kind."""
    alphas = table.fact("student").struct.field("alpha").to_numpy()
    kinds = table.fact("kind").to_numpy()
    names = sorted(set(kinds.tolist()) - {""}) or ["all requests"]
    edges = np.linspace(-0.05, 1.05, 12)
    with panels(path, len(names)) as row:
        for place, (axes, name) in enumerate(zip(row, names, strict=True)):
            here = alphas if name == "all requests" else alphas[kinds == name]
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
    """Gain over the best fixed fusion: plain recall curves would lie on top of each other."""
    known = routers("report")
    base = known["fusion_best"]
    drawn = sorted(curves.recall, key=lambda name: (not known[name].hollow, name == "student"))
    for router in (known[name] for name in drawn if name != base.name):
        gain = 100 * (curves.recall[router.name] - curves.recall[base.name])
        axes.plot(
            curves.budgets, gain, color=router.colour or OTHER,
            lw=2.4 if router.name == "student" else 1.6, ls=DASHES.get(router.marker, "-"),
            marker=router.marker, ms=4, label=router.label,
        )  # fmt: skip
    axes.axhline(0, color=base.colour, lw=1.4, label=base.label)
    axes.set_xscale("log")
    axes.set_xticks(curves.budgets, [str(k) for k in curves.budgets])
    axes.minorticks_off()
    axes.set_xlabel("budget K, candidates")
    axes.set_ylabel(f"recall, points above the {base.label}")
    axes.set_title("What a learned alpha gains", fontsize=11)
    legend(axes)


def _draw_cascade(axes: Axes, report: Report, curves: Curves) -> None:
    sent, mixed, known = 100 * curves.sent, 100 * curves.cascade, routers("report")
    colour, base = known["cascade"].colour, known[report.today]
    axes.plot(sent, mixed, color=colour, lw=2.2, label="least confident first")
    axes.plot(
        sent[[0, -1]], mixed[[0, -1]], color=MUTED, lw=1.4, ls=(0, (2, 2)), label="in random order"
    )
    today = 100 * report.rows[base.name].recall
    axes.axhline(today, color=base.colour or OTHER, lw=1.4, label=base.label)
    for x, y, name in ((sent[0], mixed[0], "student"), (sent[-1], mixed[-1], "teacher")):
        axes.plot(x, y, "o", ms=8, color=known[name].colour, label=f"{name} alone", zorder=4)
    if curves.operating is not None:
        axes.axvline(100 * curves.operating, color=colour, lw=1.2, ls=(0, (4, 3)))
        axes.annotate(
            f"calibrated rule: {100 * curves.operating:.0f} %", (100 * curves.operating, 0.02),
            xycoords=("data", "axes fraction"), xytext=(5, 0), textcoords="offset points",
            fontsize=8.5, color=colour,
        )  # fmt: skip
    axes.set_xlabel("requests sent to the teacher, %")
    axes.set_ylabel("recall, %, mean over K = 20, 40, 100")
    axes.set_title("What asking the teacher changes", fontsize=11)
    low, high = min(today, mixed.min()), max(today, mixed.max())
    middle, half = (high + low) / 2, max(0.65 * (high - low), 3.0)
    axes.set_ylim(middle - half, middle + half)  # at least 6 points: one request is no cliff
    legend(axes)


def draw_hardness(ranks: Ranks, path: Path) -> None:
    """Share of queries whose item has at most this rank, a panel a branch."""
    with panels(path, 2, width=4.6, height=4.2) as (left, right):
        _draw_branch(left, ranks.pseudo_text, ranks.real_text)
        _draw_branch(right, ranks.pseudo_mm, ranks.real_mm)
        left.set_title("Text branch", fontsize=11)
        right.set_title("Multimodal branch", fontsize=11)
        left.set_ylabel("queries, %")


def _draw_branch(axes: Axes, pseudo: Array, real: Array) -> None:
    colour = routers("teacher")["teacher"].colour
    lines = (("real train queries", real, INK), ("pseudo-queries", pseudo, colour))
    for label, values, shade in lines:
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(np.sort(values), share, where="post", color=shade, lw=2.2, label=label)
    axes.set_xscale("log")
    most = max(pseudo.max(), real.max())
    ticks = [10**n for n in range(9) if 10**n <= most]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xlabel("rank of the item asked for, at most")
    axes.set_ylim(0, 101)
    legend(axes, columns=2)


def draw_sweep(report: Ablation, path: Path) -> None:
    """Left recall, right ndcg@20 against alpha: one line a budget K, a dot at its best alpha.

    The full method is a level line in both, drawn at what its own mean budget reaches.
    """
    with panels(path, 2, share_y=False, width=4.9, height=4.4) as (left, right):
        _draw_sweep(left, report, "recall")
        _draw_sweep(right, report, "ndcg20")
        left.set_title("Wanted items recalled, %", fontsize=11)
        right.set_title("NDCG@20 after scoring, x 100", fontsize=11)


def _draw_sweep(axes: Axes, report: Ablation, metric: str) -> None:
    full, by_budget = report.rows["full"], dict[int, list[ReportRow]]()
    for swept in report.sweep:
        by_budget.setdefault(swept["budget"], []).append(swept)
    for shade, (k, here) in zip(SHADES, sorted(by_budget.items()), strict=False):
        alphas = [swept.number("alpha") for swept in here]
        values = [100 * swept.number(metric) for swept in here]
        axes.plot(alphas, values, color=shade, lw=1.8, label=f"K = {k}")
        best = max(range(len(values)), key=values.__getitem__)
        axes.plot(alphas[best], values[best], "o", ms=6, color=shade)
    axes.axhline(
        100 * full.number(metric), color=routers("teacher")["teacher"].colour, lw=1.6,
        ls=(0, (4, 3)), label=f"full method, mean K = {full['mean_budget']:.0f}",
    )  # fmt: skip
    axes.set_xlabel("alpha: 0 multimodal only, 1 text only")
    legend(axes)


def legend(axes: Axes, columns: int = 3) -> None:
    """Below the panel, where no curve can run through it."""
    axes.legend(
        frameon=False, fontsize=8.5, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.15)
    )


@contextmanager
def panels(
    path: Path, count: int, *, share_y: bool = True, width: float = 3.4, height: float = 3.2
) -> Iterator[tuple[Axes, ...]]:
    """Panels side by side in the project's style, saved by rename when the block ends.

    Without pyplot, so that nothing global is left behind.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        canvas = Figure(figsize=(width * count, height), layout="constrained", facecolor="white")
        FigureCanvasAgg(canvas)
        yield tuple(canvas.subplots(1, count, sharey=share_y, squeeze=False)[0])
        partial = path.with_name(path.name + ".partial")
        canvas.savefig(partial, format="png", metadata={"Software": None})
        partial.replace(path)
