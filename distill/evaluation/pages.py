"""report.md: what the numbers say, in words and tables that a stranger can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adamroute.distill.evaluation.learned import fallback_counts
from adamroute.distill.evaluation.metrics import auc
from adamroute.distill.evaluation.pictures import LABELS
from adamroute.distill.evaluation.schema import ROUTERS, Difference, Report

if TYPE_CHECKING:
    from jinja2 import Template

    from adamroute.distill.evaluation.measure import Measured

EXAMPLES = 5  # requests shown of those gained and of those lost
QUERY_CHARS = 110


@dataclass(frozen=True)
class Page:
    """What report.md is rendered from."""

    report: Report
    measured: Measured
    command: str
    cpus: int
    epsilon: float


@dataclass(frozen=True)
class Example:
    """One request on which the student and the best fixed split part ways."""

    query: str
    kind: str
    title: str
    alpha: float
    text_rank: int
    mm_rank: int


def render(page: Page) -> str:
    """The page as Markdown."""
    report, measured = page.report, page.measured
    return template("report.md.j2").render(
        report=report,
        verdict=verdict(report),
        by_recall=sorted(ROUTERS, key=lambda n: -report.rows[n].recall_at_k.mean),
        labels=LABELS,
        separation=separation(measured),
        fallbacks=fallback_counts(measured.told),
        gained=examples(measured, gained=True),
        lost=examples(measured, gained=False),
        budgets=budget_counts(measured),
        quarters=confidence_quarters(measured, page.epsilon),
        confidence_auc=auc(measured.told.confidence, measured.regrets <= page.epsilon),
        epsilon=page.epsilon,
        versions=measured.versions,
        command=page.command,
        cpus=page.cpus,
    )


def template(name: str) -> Template:
    """A page's template with the filters that all pages share: pct, points, cell, requests."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("adamroute.distill.evaluation"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(pct=percent, points=points, cell=_cell, requests=_requests)
    return environment.get_template(name)


def verdict(report: Report) -> tuple[str, str, str]:
    """Three sentences: student against the best fixed split, against the ends, and the cascade."""
    student, static = report.rows["student"], report.rows["static_best"]
    gain = student.minus_static_best["recall_at_k_mean"]
    first = (
        f"On {report.n_queries} requests of {report.n_users} users ({report.queries}), the LoRA "
        f"student recalls {percent(student.recall_at_k.mean)} of the wanted items (mean over "
        f"K = 20, 40, 100) and the best fixed split {percent(static.recall_at_k.mean)}: "
        f"{points(gain)}, {significance(gain)}."
    )
    ends = [report.rows[n].recall_at_k.mean for n in ("random", "oracle", "linear_student")]
    second = (
        f"A random split reaches {percent(ends[0])}, an oracle that sees the answer "
        f"{percent(ends[1])}, and the linear student, a ridge regression on the same labels, "
        f"{percent(ends[2])}."
    )
    return first, second, _cascade_sentence(report)


def significance(difference: Difference) -> str:
    """What a 95 % interval allows to say, in words."""
    low, high = difference.ci95
    if low > 0:
        return "more than chance explains"
    if high < 0:
        return "a loss that chance does not explain"
    return "which chance alone could explain"


def separation(measured: Measured) -> tuple[float, float] | None:
    """AUC of functional against visual requests by the student's alpha: chosen, and mean of p.

    None where the requests are not of both kinds.
    """
    kinds = np.array([q.kind or "" for q in measured.queries])
    here = np.isin(kinds, ["functional", "visual"])
    predictions = measured.told.predictions
    grid = np.linspace(0.0, 1.0, len(predictions[0].alpha_probs))
    chosen = np.array([p.theta.alpha for p in predictions])
    mean = np.array([float(p.alpha_probs @ grid) for p in predictions])
    functional = kinds[here] == "functional"
    areas = [auc(values[here], functional) for values in (chosen, mean)]
    return None if areas[0] is None or areas[1] is None else (areas[0], areas[1])


def examples(measured: Measured, *, gained: bool) -> tuple[int, tuple[Example, ...]]:
    """How many requests the student recalls at more (fewer) of the three K; the clearest."""
    difference = measured.results["student"].at_k_mean - measured.results["static_best"].at_k_mean
    difference = difference if gained else -difference
    places = [int(b) for b in np.argsort(-difference, kind="stable") if difference[b] > 0]
    shown = tuple(_example(measured, b) for b in places[:EXAMPLES])
    return len(places), shown


@dataclass(frozen=True)
class Quarter:
    """A quarter of the requests, by the student's confidence."""

    n: int
    confidence: float  # mean
    good: float  # share whose regret is within epsilon: what confidence promises


def confidence_quarters(measured: Measured, epsilon: float) -> tuple[Quarter, ...]:
    """Promised against kept, least confident quarter first."""
    confidence, good = measured.told.confidence, measured.regrets <= epsilon
    parts = np.array_split(np.argsort(confidence, kind="stable"), 4)
    return tuple(
        Quarter(len(part), float(confidence[part].mean()), float(good[part].mean()))
        for part in parts
        if len(part)
    )


def budget_counts(measured: Measured) -> Mapping[int, tuple[int, int]]:
    """Budget K to how many requests student and teacher gave it."""
    student = [p.theta.budget for p in measured.told.predictions]
    teacher = [a.theta.budget for a in measured.told.answers]
    return {k: (student.count(k), teacher.count(k)) for k in sorted({*student, *teacher})}


def _cascade_sentence(report: Report) -> str:
    cascade, student = report.rows["cascade"], report.rows["student"]
    teacher = report.rows["teacher"]
    start = (
        f"The teacher's full loop reaches {percent(teacher.recall_at_k.mean)} at "
        f"{teacher.p50_ms:.0f} ms a request against {student.p50_ms:.0f} ms (p50)"
    )
    if cascade.fallback_rate == 0:
        return f"{start}; the cascade never asks it here, so its row equals the student's."
    change = cascade.recall_at_k.mean - student.recall_at_k.mean
    return (
        f"{start}; the cascade asks it on {percent(cascade.fallback_rate)} of the requests, "
        f"which changes recall by {_signed(change)} points."
    )


def _example(measured: Measured, place: int) -> Example:
    query = measured.queries[place]
    return Example(
        query=_shortened(query.text),
        kind=query.kind or "",
        title=_shortened(measured.titles[place]),
        alpha=measured.told.predictions[place].theta.alpha,
        text_rank=int(measured.text_ranks[place]),
        mm_rank=int(measured.mm_ranks[place]),
    )


def _shortened(text: str) -> str:
    return text if len(text) <= QUERY_CHARS else text[: QUERY_CHARS - 3].rstrip() + "..."


def percent(share: float) -> str:
    """0.615 as "61.5 %"."""
    return f"{100 * share:.1f} %"


def points(difference: Difference) -> str:
    """A difference of shares in points, with its interval."""
    low, high = difference.ci95
    return f"{_signed(difference.mean)} points [{_signed(low)}, {_signed(high)}]"


def _signed(share: float) -> str:
    """Points with their sign, and never "-0.0"."""
    value = round(100 * share, 1)
    return f"{value:+.1f}" if value else "0.0"


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"


def _cell(text: str) -> str:
    """Text inside a Markdown table: no pipes, line breaks or markup of its own."""
    flat = " ".join(text.split())
    return "".join("\\" + c if c in "\\|`*_<>[]#" else c for c in flat)
