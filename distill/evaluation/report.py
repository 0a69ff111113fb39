"""The teacher-versus-student report: report.json, report.md, three pictures, one row a request.

`--folds` refits everything that is fitted once a fold, in folders of its own beside the report,
and pools the folds' requests. The stages that refit are handed in, since stages never import
each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import JsonValue

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import WRITTEN, outcome_source, synthetic_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.asked import (
    asked_queries,
    check_folds,
    fold_configs,
    told_as,
)
from adamroute.distill.evaluation.bench import Bench, open_bench
from adamroute.distill.evaluation.metrics import AT_FIXED, COSTS, compared, kl_divergence
from adamroute.distill.evaluation.pages import report_page
from adamroute.distill.evaluation.pictures import Curves, draw_alphas, draw_curves, draw_routers
from adamroute.distill.evaluation.routers import RouterEntry, measure, routers
from adamroute.distill.evaluation.schema import Asked, Report, ReportRow
from adamroute.distill.evaluation.splits import CURVE_BUDGETS, Array
from adamroute.distill.evaluation.summary import at_fixed, best_today, distance, report_row
from adamroute.distill.evaluation.table import RESULTS, Results, pooled
from adamroute.errors import ConfigError
from adamroute.pipeline import CALIBRATE, LABEL, REPORT, RERANKER, TRAIN, decided_by, lacks
from adamroute.progress import Progress
from adamroute.retrieval.ranks import load_ranks
from adamroute.stages import Counts, commit, file_hash, write_text
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.belief import evidence_belief
from adamroute.teacher.constants import TeacherFile
from adamroute.theta import Bins, Theta

Refit = Callable[[Config, Progress], object]
FOLDS = "folds"  # their folder, below the run's
REPORT_JSON, REPORT_MD, REQUESTS = "report.json", "report.md", "requests.jsonl"
SHARES = np.linspace(0.0, 1.0, 41)  # of requests sent to the teacher, for the third picture
INNER = ("query", "title", "kl", "teacher_fallbacks", "user", "request")  # not in requests.jsonl

MAYBE_EMPTY: Mapping[str, Any] = {  # columns that may hold nothing
    "fallback": pl.String, "fallback_skipped": pl.String, "kl": pl.Float64,
    "teacher_fallbacks": pl.List(pl.String),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Measured:
    """Everything the report is made from."""

    table: Results
    versions: Mapping[str, str]  # stage to hash
    asked: Asked  # whose requests they are
    learned: Asked  # whose requests the router learned from
    constants: TeacherFile  # of the run, the first fold's where there are folds
    lacks: tuple[str, ...] = ()  # parts of the run that could not be fitted as they should


def run_report(
    config: Config,
    progress: Progress,
    *,
    queries: Path | None = None,
    folds: int | None = None,
    out: Path | None = None,
    refit: Sequence[Refit] = (),
    command: str = "adamroute report CONFIG",
) -> Path:
    """Write the report and return the path of report.md.

    `queries` reports on every row of that file, else on the test split; `folds` on every logged
    query, each by parts that never saw its user, made by the `refit` stages in order. Without
    `out` the report stage's folder is used (folds have their own beside it), and nothing is done
    where it is fresh.
    """
    check_folds(queries, folds)

    def make(folder: Path) -> Counts:
        shop = open_shop(config)
        if folds is None:
            asked = asked_queries(config, shop, queries, progress)
            found = measure_run(config, shop, asked, progress, stored=queries is None)
        else:
            found = _folded(config, folds, refit, progress)
        told = told_as(queries, folds)
        write_report(folder, config, shop, found, queries=told, command=command)
        return {"requests": len(found.table)}

    if out is None:
        return _stage(config, queries, folds, make) / REPORT_MD
    out.mkdir(parents=True, exist_ok=True)  # a folder of the user's, which may hold other files
    make(out)
    return out / REPORT_MD


def _stage(
    config: Config, queries: Path | None, folds: int | None, make: Callable[[Path], Counts]
) -> Path:
    """The report stage's folder, fresh."""
    stage = REPORT if folds is None else replace(REPORT, folder=f"{FOLDS}/report")
    options: dict[str, JsonValue] = {
        "folds": folds,
        "refitted": config.deciding(decided_by(REPORT)) if folds else None,
        "queries": file_hash(queries) if queries else None,
    }
    stage.run(config, lambda work: make(work.folder), options=options)
    return stage.path(config)


def measure_run(
    config: Config,
    shop: Shop,
    queries: Sequence[Query],
    progress: Progress,
    *,
    stored: bool = True,
) -> Measured:
    """Measure all routers on `queries`; LabelError where there is nothing to measure on."""
    index = load_index(config.stage("index"))
    bench = open_bench(
        config, shop, index, queries, verb="report", stored=stored, progress=progress, together=1
    )
    bench.told  # noqa: B018 - first of all: it refuses parts that don't belong together
    hashes = {stage.label: stage.hash(config) for stage in (LABEL, TRAIN, RERANKER)}
    missing = lacks(stage.read(config) for stage in (LABEL, TRAIN, RERANKER, CALIBRATE))
    return replace(measured(bench, {"index": index.hash, **hashes}), lacks=missing)


def measured(bench: Bench, versions: Mapping[str, str]) -> Measured:
    """All routers of the report on these requests."""
    table = measure(bench, routers("report"), report_metrics)
    written = all(query.query_id.startswith(WRITTEN) for query in bench.queries)
    asked: Asked = "written" if written else "real"
    learned: Asked = "real" if bench.shop.split("train") else "written"
    return Measured(table.told(request_facts(bench)), versions, asked, learned, bench.constants)


def request_facts(bench: Bench) -> pl.DataFrame:
    """What each learned router said of every request, [B] rows."""
    told, answers, known = bench.told, bench.taught({}), bench.known
    grid = np.linspace(0.0, 1.0, bench.constants.bins.shape[0])
    rows = [
        {
            "query": query.text,
            "title": bench.index.titles[known.targets[b]],
            "text_rank": int(known.text[b]),
            "mm_rank": int(known.mm[b]),
            "student": _plain(said.theta),
            "student_mean_alpha": float(said.alpha_probs @ grid),
            "bin_mass": said.bin_mass,
            "linear_student": _plain(told.linear[b].theta),
            "teacher": _plain(answer.theta),
            "teacher_source": answer.source,
            "confidence": float(told.confidence[b]),
            "fallback": told.verdicts[b].fallback,
            "fallback_skipped": told.verdicts[b].skipped,
            "teacher_fallbacks": list(answer.fallbacks),
            "kl": _kl(answer, said.alpha_probs, bench.constants.bins, bench.constants.lam),
        }
        for b, (query, said, answer) in enumerate(
            zip(bench.queries, told.predictions, answers, strict=True)
        )
    ]
    return pl.DataFrame(rows, schema_overrides=MAYBE_EMPTY)


def report_metrics(router: RouterEntry) -> tuple[str, ...]:
    """What the report needs to know of one router."""
    curve = [f"recall@{k}" for k in CURVE_BUDGETS] if router.curve else []
    regret = ["regret"] if router.name == "student" else []
    return tuple(dict.fromkeys([*compared(), *AT_FIXED, *COSTS, *curve, *regret]))


def write_report(
    folder: Path, config: Config, shop: Shop, found: Measured, *, queries: str, command: str
) -> Report:
    """Write all files of the report into an existing folder."""
    table = found.table
    report = build_report(config, shop, found, queries)
    report = report.model_copy(update={"lacks": tuple(dict.fromkeys(found.lacks))})
    write_text(folder / REPORT_JSON, report.model_dump_json(indent=2) + "\n")
    table.rows.write_parquet(folder / RESULTS)
    draw_routers(report, folder / "routers.png")
    draw_alphas(table, folder / "alphas.png")
    draw_curves(report, curves(report, table), folder / "curves.png")
    write_text(folder / REQUESTS, "".join(_lines(table.requests)))
    page = report_page(
        report, table, versions=found.versions, command=command, cpus=os.cpu_count() or 1,
        epsilon=config.routing.epsilon,
    )  # fmt: skip
    write_text(folder / REPORT_MD, page)
    return report


def build_report(config: Config, shop: Shop, found: Measured, queries: str) -> Report:
    """report.json as a value."""
    table, names = found.table, routers("report")
    today, real = best_today(table), found.asked == "real"
    return Report(
        shop=shop.name,
        queries=queries,
        n_queries=len(table),
        n_users=len(set(table.users)),
        teacher_policy=config.teacher.policy,
        student=config.student.kind,
        calibrated_on=outcome_source(shop),
        asked=found.asked,
        learned=found.learned,
        out_of_sample=config.labels.out_of_sample,
        combine=found.constants.combine,
        reach=found.constants.leaning.reach,
        today=today,
        written_distance=written_distance(config, shop, table) if real else {},
        mean_budget=config.routing.mean_budget,
        commit=commit(),
        rows={name: report_row(table, name, today) for name in names},
        agreement=agreement(table),
        slices={
            "kind": {
                kind: {
                    "n": len(part),
                    **{name: ReportRow({"recall_at_k": at_fixed(part, name)}) for name in names},
                }
                for kind, part in table.parts("kind").items()
            }
        },
    )


def written_distance(config: Config, shop: Shop, table: Results) -> dict[str, float]:
    """How far the ranks of written requests lie from those of the real ones that were asked.

    By branch; empty where the run wrote none.
    """
    ranks = config.stage("ranks")
    requests = synthetic_queries(shop, ranks)
    if not requests:
        return {}
    written = load_ranks(ranks, requests)
    real = (table.fact(name).to_numpy() for name in ("text_rank", "mm_rank"))
    pairs = zip(("text", "multimodal"), (written.text, written.mm), real, strict=True)
    return {branch: distance(own, other) for branch, own, other in pairs}


def agreement(table: Results) -> dict[str, float]:
    """Student against teacher, each by its own theta; `kl` of the teacher's soft label, in nats.

    Of the shares, `win` is where the student alone recalls the wanted item.
    """
    mine, theirs = (table.of(name, "recall") for name in ("student", "teacher"))
    student, teacher = (
        table.fact(name).struct.field("alpha").to_numpy() for name in ("student", "teacher")
    )
    kl = table.fact("kl").drop_nulls().to_numpy()
    return {
        "alpha_mae": float(np.abs(student - teacher).mean()),
        "top_bin": float((np.round(student * 10) == np.round(teacher * 10)).mean()),
        "kl": float(kl.mean()) if len(kl) else 0.0,
        "budget_ratio": table.mean("student", "budget") / table.mean("teacher", "budget"),
        "win": float((mine > theirs).mean()),
        "tie": float((mine == theirs).mean()),
        "loss": float((mine < theirs).mean()),
        "calls_saved": table.mean("teacher", "llm_calls"),
        "tokens_saved": table.mean("teacher", "tokens"),
    }


def curves(report: Report, table: Results) -> Curves:
    """What the third picture shows."""
    order = np.argsort(table.fact("confidence").to_numpy(), kind="stable")
    student, teacher = (table.of(n, "recall_at_k_mean")[order] for n in ("student", "teacher"))
    counts = np.round(SHARES * len(order)).astype(np.int64)
    mixed = [(teacher[:c].sum() + student[c:].sum()) / len(order) for c in counts.tolist()]
    rate = report.rows["cascade"].number("fallback_rate")
    names = [f"recall@{k}" for k in CURVE_BUDGETS]
    known = routers("report")
    drawn = [name for name in known if known[name].curve and name in report.shown]
    return Curves(
        budgets=CURVE_BUDGETS,
        recall={name: table.values(name, *names).mean(axis=0) for name in drawn},
        sent=SHARES,
        cascade=np.array(mixed),
        operating=rate if rate > 0.0 else None,
    )


def _plain(theta: Theta) -> dict[str, float]:
    return {"alpha": theta.alpha, "budget": theta.budget}


def _kl(answer: TeacherAnswer, probs: Array, bins: Bins, lam: float) -> float | None:
    """Of the votes of the teacher's evidence for each alpha; None without evidence."""
    if not answer.item_ids:
        return None
    belief = evidence_belief(answer.ranks, bins, lam)
    return float(kl_divergence(belief.votes[None], probs[None])[0])


def _lines(requests: pl.DataFrame) -> Iterator[str]:
    """What each router said of every request, for a person who looks for one."""
    for row in requests.iter_rows(named=True):
        kept = {key: value for key, value in row.items() if key not in INNER}
        told = {k: round(v, 6) if isinstance(v, float) else v for k, v in kept.items()}
        names = {"request_id": row["request"], "user_id": row["user"]}
        yield json.dumps({**names, **told, "kind": row["kind"] or None}) + "\n"


def _folded(config: Config, folds: int, refit: Sequence[Refit], progress: Progress) -> Measured:
    """Refit and measure fold by fold; finished folds are found again by their manifests."""
    if not refit:
        raise ConfigError("report: --folds needs the stages to refit; call it by the command line")
    parts = []
    for part in fold_configs(config, FOLDS, folds, progress):
        for stage in refit:
            stage(part, progress)
        shop = open_shop(part)
        parts.append(measure_run(part, shop, shop.split("test"), progress))
    return pooled(parts)
