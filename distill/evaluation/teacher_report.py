"""`adamroute report CONFIG --teacher`: teacher.json, teacher.md and two pictures.

With `--folds 5` only the label stage is refitted a fold, with the fixed split and the kinds'
alphas: no student, no re-ranker. Labels are always made anew, since a manifest does not know the
teacher's code; what makes that bearable is that every text is encoded once (kept_texts.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.asked import asked_queries, check_folds, fold_configs, told_as
from adamroute.distill.evaluation.bench import Bench, open_bench
from adamroute.distill.evaluation.kept_texts import KeptTexts
from adamroute.distill.evaluation.learned import decision_ms
from adamroute.distill.evaluation.metrics import AT_FIXED
from adamroute.distill.evaluation.pages import SLICED, teacher_page
from adamroute.distill.evaluation.pictures import Ranks, draw_hardness, draw_teacher
from adamroute.distill.evaluation.routers import RouterEntry, measure, routers
from adamroute.distill.evaluation.schema import ReportRow, TeacherReport
from adamroute.distill.evaluation.summary import best_today, distance, minus, teacher_row
from adamroute.distill.evaluation.table import RESULTS, Results, pooled
from adamroute.pipeline import LABEL, TEACHER_REPORT
from adamroute.progress import Progress
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, Work, commit, write_text
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.constants import TRACES_FILE

Relabel = Callable[[Config, Shop, SearchIndex, Progress], object]
FOLDS = "folds-teacher"  # their folder, below the run's
TEACHER_JSON, TEACHER_MD = "teacher.json", "teacher.md"
HISTORIES = ((0, 0), (1, 2), (3, 5), (6, 10), (11, 20), (21, None))  # positives, inclusive


@dataclass(frozen=True, eq=False)
class Taught:
    """What the page is made from, one entry a request."""

    table: Results
    ranks: Ranks


def run_teacher_report(
    config: Config,
    progress: Progress,
    *,
    relabel: Relabel,
    queries: Path | None = None,
    folds: int | None = None,
    out: Path | None = None,
    command: str = "adamroute report CONFIG --teacher",
) -> Path:
    """Measure the teacher anew and return the path of teacher.md, in report-teacher/ or `out`.

    `queries` reports on every row of that file, else on the test split; `folds` on every logged
    query, each by a teacher that never saw its user, labelled by `relabel`.
    """
    check_folds(queries, folds)
    stage = TEACHER_REPORT
    if folds is not None:  # labels of its own
        inputs = tuple(source for source in stage.inputs if source is not LABEL)
        stage = replace(stage, folder=f"{FOLDS}/{stage.folder}", inputs=inputs)
    stage = stage.at(out or stage.path(config))

    def make(work: Work) -> Counts:
        shop = open_shop(config)
        if folds is None:
            asked = asked_queries(config, shop, queries, progress)
            taught = _taught(config, shop, asked, progress, stored=queries is None)
        else:
            taught = _folded(config, folds, relabel, progress)
        report = build_teacher_report(
            config, shop, taught, told_as(queries, folds), remembered=folds is not None
        )
        write_teacher_report(work.folder, report, taught, command)
        return {"requests": len(taught.table)}

    stage.run(config, make, options={"folds": folds}, anew=True)
    return stage.path(config) / TEACHER_MD


def _taught(
    config: Config, shop: Shop, asked: Sequence[Query], progress: Progress, *, stored: bool
) -> Taught:
    index = load_index(config.stage("index"))
    return measure_teacher(
        open_bench(
            config, shop, index, asked, verb="report --teacher", stored=stored, progress=progress
        )
    )


def measure_teacher(bench: Bench) -> Taught:
    """The label stage's teacher, and the baselines' alphas replayed on the same ranks."""
    table = measure(bench, routers("teacher"), teacher_metrics)
    ranks = _ranks(bench.config.stage("labels"), bench.train)
    return Taught(table.told(facts(bench.requests, bench.taught({}))), ranks)


def facts(requests: Sequence[Request], answers: Sequence[TeacherAnswer]) -> pl.DataFrame:
    """What the page says of each request beside what was found."""
    told = {
        "history": [_span(sum(x.positive for x in r.history)) for r in requests],
        "steps": [str(len(answer.item_ids)) for answer in answers],
        "unproved": [answer.source == "teacher:no_evidence" for answer in answers],
        "fallbacks": [sorted(set(answer.fallbacks)) for answer in answers],
        "ms": [decision_ms(answer) for answer in answers],
    }
    return pl.DataFrame(told, schema_overrides={"fallbacks": pl.List(pl.String)})


def teacher_metrics(router: RouterEntry) -> tuple[str, ...]:
    """What the report needs to know of one router: no more than replay tells."""
    own = ("recall", "budget", "regret", "llm_calls", "tokens") if router.name == "teacher" else ()
    return (*AT_FIXED, "recall_at_k_mean", *own)


def write_teacher_report(
    folder: Path, report: TeacherReport, taught: Taught, command: str
) -> None:
    """Write page, numbers and pictures into an existing folder."""
    write_text(folder / TEACHER_JSON, report.model_dump_json(indent=2) + "\n")
    taught.table.rows.write_parquet(folder / RESULTS)
    draw_teacher(report, folder / "rows.png")
    if report.hardness:
        draw_hardness(taught.ranks, folder / "hardness.png")
    write_text(folder / TEACHER_MD, teacher_page(report, command))


def build_teacher_report(
    config: Config, shop: Shop, taught: Taught, queries: str, *, remembered: bool
) -> TeacherReport:
    """teacher.json as a value; `remembered` texts cost nothing, so no time is told of them."""
    table, names = taught.table, routers("teacher")
    today = best_today(table)
    means = {name: float(table.values(name, *AT_FIXED).mean()) for name in names}
    static, known = means["static_best"], means["kind_known"]
    named = Counter(name for many in table.fact("fallbacks").to_list() for name in many)
    return TeacherReport(
        shop=shop.name,
        queries=queries,
        n_queries=len(table),
        n_users=len(set(table.users)),
        policy=config.teacher.policy,
        mean_budget=config.routing.mean_budget,
        commit=commit(),
        today=today,
        rows={name: teacher_row(table, name, today) for name in names},
        minus={name: minus(table, "teacher", name) for name in routers("rival")},
        gain_share=(means["teacher"] - static) / (known - static) if known > static else None,
        regret=table.mean("teacher", "regret"),
        recall=table.mean("teacher", "recall"),
        teacher_budget=table.mean("teacher", "budget"),
        hardness=hardness(taught.ranks),
        slices={
            column: {label: _slice(part) for label, part in table.parts(column).items()}
            for column in ("kind", "history", "steps")
        },
        no_evidence=float(table.fact("unproved").to_numpy().mean()),
        fallbacks={name: count / len(table) for name, count in sorted(named.items())},
        costs={
            "llm_calls": table.mean("teacher", "llm_calls"),
            "tokens": table.mean("teacher", "tokens"),
            "ms": None if remembered else float(table.fact("ms").to_numpy().mean()),
        },
    )


def hardness(ranks: Ranks) -> dict[str, ReportRow]:
    """Pseudo-queries against real ones in both branches; empty where either are none.

    `distance` is Kolmogorov-Smirnov's, the widest gap between two distribution functions.
    """
    if not len(ranks.pseudo_text) or not len(ranks.real_text):
        return {}
    branches = {
        "text": (ranks.pseudo_text, ranks.real_text),
        "multimodal": (ranks.pseudo_mm, ranks.real_mm),
    }
    return {
        name: ReportRow(
            {
                "n_pseudo": len(pseudo),
                "n_real": len(real),
                "median_pseudo": float(np.median(pseudo)),
                "median_real": float(np.median(real)),
                "distance": distance(pseudo, real),
            }
        )
        for name, (pseudo, real) in branches.items()
    }


def _slice(part: Results) -> ReportRow:
    return ReportRow(
        {
            "n": len(part),
            **{name: float(part.values(name, *AT_FIXED).mean()) for name in SLICED},
            "regret": part.mean("teacher", "regret"),
            "minus_static_best": minus(part, "teacher", "static_best")["mean"],
        }
    )


def _span(liked: int) -> str:
    """The label of the history's length, in positives."""
    low, high = next(span for span in HISTORIES if span[1] is None or liked <= span[1])
    if high is None:
        return f"{low} and more"
    return str(low) if low == high else f"{low} to {high}"


def _folded(config: Config, folds: int, relabel: Relabel, progress: Progress) -> Taught:
    """A fold is a label stage of its own, asked on the users that it never saw."""
    index = load_index(config.stage("index"))
    memory = KeptTexts(index.text_encoder, config.out / "cache")
    index, parts = replace(index, text_encoder=memory), []
    for part in fold_configs(config, FOLDS, folds, progress):
        shop = open_shop(part)
        relabel(part, shop, index, progress)
        asked = shop.split("test")
        bench = open_bench(part, shop, index, asked, verb="report --teacher", progress=progress)
        parts.append(measure_teacher(bench))
    memory.save()
    return pooled(parts)


def _ranks(labels: Path, train: QueryRanks) -> Ranks:
    """Pseudo-queries of the last labelling round, and the train queries they stand for."""
    pairs = np.array(list(_last_round(labels / TRACES_FILE)), np.int64).reshape(-1, 2)
    text, mm = pairs.astype(np.float64).T
    return Ranks(text, mm, train.text.astype(np.float64), train.mm.astype(np.float64))


def _last_round(traces: Path) -> Iterator[tuple[int, int]]:
    lines = traces.read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line) for line in lines]
    last = max((step["round"] for step in steps), default=0)
    for step in steps:
        if step["round"] == last and step["text_rank"] is not None:
            yield step["text_rank"], step["mm_rank"]
