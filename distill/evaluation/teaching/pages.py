"""teacher.md: the teacher's numbers in words and tables that a stranger can read."""

from __future__ import annotations

from adamroute.distill.evaluation.pages import percent, points, significance, template
from adamroute.distill.evaluation.teaching.pictures import NAMES
from adamroute.distill.evaluation.teaching.schema import PLACES, RIVALS, ROWS, TeacherReport


def render(report: TeacherReport, command: str) -> str:
    """The page as Markdown."""
    return template("teacher.md.j2").render(
        report=report,
        verdict=verdict(report),
        names=NAMES,
        places=PLACES,
        rivals=RIVALS,
        by_recall=sorted(ROWS, key=lambda n: -report.rows[n].recall_at_k.mean),
        command=command,
    )


def verdict(report: TeacherReport) -> tuple[str, ...]:
    """Teacher against the best fixed split, against knowing the kind, against its own prior."""
    rows = {name: report.rows[name].recall_at_k.mean for name in ROWS}
    gain, prior = report.minus["static_best"]["mean"], report.minus["prior_only"]["mean"]
    first = (
        f"On {report.n_queries} requests of {report.n_users} users ({report.queries}), the "
        f"teacher recalls {percent(rows['teacher'])} of the wanted items (mean over K = 20, 40, "
        f"100) and the best fixed split {percent(rows['static_best'])}: {points(gain)}, "
        f"{significance(gain)}."
    )
    second = f"Its verified pseudo-queries change {points(prior)} against its prior alone."
    third = (
        f"Who knows the request's kind reaches {percent(rows['kind_known'])}, an oracle that sees "
        f"the answer {percent(rows['oracle'])}"
    )
    if report.gain_share is None:
        return first, second, f"{third}; knowing the kind gains nothing here."
    share = f"the teacher has {report.gain_share:.2f} of the gain of knowing the kind"
    return first, second, f"{third}; {share}."
