"""report.md, teacher.md and ablation.md: the numbers in words and tables for a stranger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from adamroute.distill.evaluation.metrics import METRICS, auc, compared
from adamroute.distill.evaluation.routers import routers
from adamroute.distill.evaluation.schema import (
    Ablation,
    Difference,
    Heading,
    Report,
    Rows,
    TeacherReport,
)
from adamroute.distill.evaluation.splits import Array, Hits
from adamroute.distill.evaluation.table import Results

if TYPE_CHECKING:
    from jinja2 import Template

EXAMPLES = 5  # requests shown of those gained and of those lost
QUERY_CHARS = 110
SLICED = ("teacher", "static_best", "prior_only", "oracle")  # routers in the teacher's slices


def report_page(
    report: Report, table: Results, *, versions: Mapping[str, str], command: str, cpus: int,
    epsilon: float,
) -> str:  # fmt: skip
    """report.md"""
    kept = table.of("student", "regret") <= epsilon
    confidence = table.fact("confidence").to_numpy()
    return template("report.md.j2").render(
        report=report,
        evidence=evidence(report),
        verdict=verdict(report),
        by_recall=by_recall(report.shown),
        routers=routers("report"),
        columns=columns(),
        separation=separation(table),
        fallbacks=fallback_counts(table),
        gained=examples(table, report.today, gained=True),
        lost=examples(table, report.today, gained=False),
        budgets=budget_counts(table),
        quarters=quarters(confidence, kept),
        confidence_auc=auc(confidence, kept),
        epsilon=epsilon,
        versions=versions,
        command=command,
        cpus=cpus,
    )


def teacher_page(report: TeacherReport, command: str) -> str:
    """teacher.md"""
    return template("teacher.md.j2").render(
        report=report,
        verdict=teacher_verdict(report),
        routers=routers("teacher"),
        by_recall=by_recall(report.rows),
        sliced=SLICED,
        command=command,
    )


def ablation_page(report: Ablation, command: str) -> str:
    """ablation.md"""
    shown = {name.replace("@", ""): column for name, column in columns().items()}
    kept = report.rows["full"].root
    return template("ablation.md.j2").render(
        report=report,
        verdict=ablation_verdict(report),
        groups=(
            ("The method and its parts", routers("ablation")),
            ("Peers", routers("peer")),
            ("References", routers("reference")),
        ),
        columns={name: column for name, column in shown.items() if name in kept},
        command=command,
    )


def by_recall(rows: Rows) -> list[str]:
    """Routers with the best first, at equal budgets."""
    return sorted(rows, key=lambda name: -rows[name].recall)


def columns() -> dict[str, tuple[str, Callable[[float], str]]]:
    """Metrics that have a column in the pages: name to heading and how a value is shown."""
    shown = ((name, METRICS[name]) for name in compared())
    return {
        name: (metric.heading, percent if metric.percent else "{:.3f}".format)
        for name, metric in shown
        if metric.heading
    }


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
    environment.filters.update(
        pct=percent, points=points, cell=_cell, requests=_requests, shortened=_shortened
    )
    return environment.get_template(name)


def evidence(report: Report) -> str:
    """The first sentence: what kind of evidence the numbers stand on."""
    if not report.out_of_sample:
        return (
            "**Warning: leaky evidence.** Written requests were ranked by parts that were fitted "
            "on their own items (`labels.out_of_sample: false`), so this run's router and its "
            "numbers flatter themselves; decide nothing by them."
        )
    if report.asked == "written":
        return (
            f"**Written evidence:** these numbers stand on {report.n_queries} requests that were "
            "written from the catalogue and ranked by parts that never saw their items. Real "
            "shoppers may differ; twenty judged queries would tell (`adamroute judge`)."
        )
    learned = (
        "those of other users" if report.learned == "real"
        else "requests written from the catalogue alone"
    )  # fmt: skip
    return (
        f"**Real evidence:** these numbers stand on {report.n_queries} real requests; the router "
        f"learned from {learned}."
    )


def verdict(report: Report) -> tuple[str, str, str]:
    """Three sentences: student against what a shop has today, the ends, and the cascade."""
    rows = {name: percent(row.recall) for name, row in report.rows.items()}
    gain = report.rows["student"].minus("today", "recall_at_k_mean")
    first = (
        f"{_asked(report)}, the {report.student} student recalls {rows['student']} of the wanted "
        f"items (mean over K = 20, 40, 100); the best that a shop has without a router, "
        f"{routers('report')[report.today].label}, {rows[report.today]}: "
        f"{points(gain)}, {significance(gain)}."
    )
    second = (
        f"A random split reaches {rows['random']}, an oracle that sees the answer "
        f"{rows['oracle']}{_beside(report, rows)}."
    )
    return first, second, _cascade_sentence(report)


def _beside(report: Report, rows: Mapping[str, str]) -> str:
    if report.student == "linear":
        return ""
    linear = rows["linear_student"]
    return f", and the linear student, a ridge regression on the same labels, {linear}"


def teacher_verdict(report: TeacherReport) -> tuple[str, ...]:
    """Teacher against the best fixed split, against knowing the kind, against its own prior."""
    rows = {name: percent(row.recall) for name, row in report.rows.items()}
    gain, prior = report.minus[report.today]["mean"], report.minus["prior_only"]["mean"]
    first = (
        f"{_asked(report)}, the teacher recalls {rows['teacher']} of the wanted items (mean over "
        f"K = 20, 40, 100); the best that a shop has without a router, "
        f"{routers('teacher')[report.today].label}, {rows[report.today]}: {points(gain)}, "
        f"{significance(gain)}."
    )
    second = f"Its verified pseudo-queries change {points(prior)} against its prior alone."
    third = (
        f"Who knows the request's kind reaches {rows['kind_known']}, an oracle that sees the "
        f"answer {rows['oracle']}"
    )
    if report.gain_share is None:
        return first, second, f"{third}; knowing the kind gains nothing here."
    share = f"the teacher has {report.gain_share:.2f} of the gain of knowing the kind"
    return first, second, f"{third}; {share}."


def ablation_verdict(report: Ablation) -> tuple[str, ...]:
    """The full method, and the parts whose absence the requests at hand can tell."""
    full = report.rows["full"]
    parts = routers("ablation")
    felt = [
        f"{router.label} {points(difference)}"
        for name, router in parts.items()
        if (difference := report.rows[name].minus("full", "hr@20"))
        and not difference.ci95[0] <= 0 <= difference.ci95[1]  # chance alone explains the others
    ]
    first = (
        f"{_asked(report)}, the full method recalls {percent(full['recall_augmented'])} of "
        f"the wanted items with {full['mean_candidates']:.1f} candidates and shows "
        f"{percent(full['hr20'])} of them among its first 20."
    )
    if not felt:
        return first, "No part is missed by more than chance explains (HR@20)."
    return first, f"Missed or better left out beyond chance (HR@20): {'; '.join(felt)}."


def _asked(report: Heading) -> str:
    return f"On {report.n_queries} requests of {report.n_users} users ({report.queries})"


def significance(difference: Difference) -> str:
    """What a 95 % interval allows to say, in words."""
    low, high = difference.ci95
    if low > 0:
        return "more than chance explains"
    if high < 0:
        return "a loss that chance does not explain"
    return "which chance alone could explain"


def separation(table: Results) -> tuple[float, float] | None:
    """AUC of functional against visual requests by the student's alpha: chosen, and mean of p.

    None where the requests are not of both kinds.
    """
    kinds = table.fact("kind").to_numpy()
    here = np.isin(kinds, ["functional", "visual"])
    chosen = table.fact("student").struct.field("alpha")
    functional = kinds[here] == "functional"
    areas = [
        auc(values.to_numpy()[here], functional)
        for values in (chosen, table.fact("student_mean_alpha"))
    ]
    return None if areas[0] is None or areas[1] is None else (areas[0], areas[1])


def fallback_counts(table: Results) -> Mapping[str, int]:
    """How often each named fallback happened, the cascade's and the teacher's own."""
    counts: Counter[str] = Counter()
    for row in table.requests.iter_rows(named=True):
        if row["fallback"]:
            counts[f"cascade: {row['fallback']}"] += 1
        if row["fallback_skipped"]:
            counts[f"cascade skipped: {row['fallback_skipped']}"] += 1
        counts.update(f"teacher: {name}" for name in set(row["teacher_fallbacks"]))
    return dict(sorted(counts.items()))


def examples(table: Results, today: str, *, gained: bool) -> tuple[int, list[dict[str, Any]]]:
    """How many requests the student recalls at more (fewer) of the three K; the clearest."""
    recalls = [table.of(n, "recall_at_k_mean") for n in ("student", today)]
    difference = recalls[0] - recalls[1] if gained else recalls[1] - recalls[0]
    places = [int(b) for b in np.argsort(-difference, kind="stable") if difference[b] > 0]
    shown = [table.requests.row(b, named=True) for b in places[:EXAMPLES]]
    return len(places), shown


def quarters(confidence: Array, kept: Hits) -> list[dict[str, float]]:
    """Promised against kept, a quarter of the requests each, the least confident first.

    `kept`: whose regret is within epsilon, which is what confidence promises; both [B].
    """
    parts = np.array_split(np.argsort(confidence, kind="stable"), 4)
    return [
        {"n": len(p), "confidence": float(confidence[p].mean()), "kept": float(kept[p].mean())}
        for p in parts
        if len(p)
    ]


def budget_counts(table: Results) -> Mapping[int, tuple[int, int]]:
    """Budget K to how many requests student and teacher gave it."""
    mine, theirs = (
        table.fact(name).struct.field("budget").to_list() for name in ("student", "teacher")
    )
    return {k: (mine.count(k), theirs.count(k)) for k in sorted({*mine, *theirs})}


def _cascade_sentence(report: Report) -> str:
    cascade, student, teacher = (report.rows[n] for n in ("cascade", "student", "teacher"))
    start = (
        f"The teacher's full loop reaches {percent(teacher.recall)} at "
        f"{teacher['p50_ms']:.0f} ms a request against {student['p50_ms']:.0f} ms (p50)"
    )
    if cascade["fallback_rate"] == 0:
        return f"{start}; the cascade never asks it here, so its row equals the student's."
    return (
        f"{start}; the cascade asks it on {percent(cascade['fallback_rate'])} of the requests, "
        f"which changes recall by {_signed(cascade.recall - student.recall)} points."
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
