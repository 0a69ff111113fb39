"""The teacher-versus-student report: report.json, report.md, three pictures, one row a request.

`--folds` refits everything that is fitted once a fold, in folders of its own beside the report,
and pools the folds' requests. The stages that refit are handed in, since stages never import
each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from adamroute.catalogue.folder import read_queries
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries, outcome_source
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config, FoldConfig
from adamroute.distill.evaluation.learned import agreement
from adamroute.distill.evaluation.measure import CURVE_BUDGETS, Measured, measure, pool_measured
from adamroute.distill.evaluation.outcomes import kind_slices, report_rows
from adamroute.distill.evaluation.pages import Page, render
from adamroute.distill.evaluation.pictures import Curves, draw_alphas, draw_curves, draw_routers
from adamroute.distill.evaluation.schema import Report
from adamroute.errors import ConfigError
from adamroute.pipeline import BUILD, RANKS, REPORT, borrow, decided_by
from adamroute.progress import Progress
from adamroute.stages import (
    Counts,
    commit,
    file_hash,
    write_text,
)

Stage = Callable[[Config, Progress], object]
REPORT_JSON, REPORT_MD, REQUESTS = "report.json", "report.md", "requests.jsonl"
SHARES = np.linspace(0.0, 1.0, 41)  # of requests sent to the teacher, for the third picture


def run_report(
    config: Config,
    progress: Progress,
    *,
    queries: Path | None = None,
    folds: int | None = None,
    out: Path | None = None,
    refit: Sequence[Stage] = (),
    command: str = "adamroute report CONFIG",
) -> Path:
    """Write the report and return the path of report.md.

    `queries` reports on every row of that file, else on the test split; `folds` on every logged
    query, each by parts that never saw its user, made by the `refit` stages in order. Without
    `out` the report stage's folder is used (folds have their own beside it), and nothing is done
    where it is fresh.
    """
    if folds is not None and queries is not None:
        raise ConfigError("report: --folds and --queries exclude each other. Give one of them")
    if folds is not None and folds < 3:
        raise ConfigError(f"report: --folds {folds}: train, calibration and test need one each")
    stage = REPORT if folds is None else replace(REPORT, folder="folds/report")

    def make(folder: Path) -> Counts:
        shop = open_shop(config)
        if folds is None:
            asked = _asked(config, shop, queries)
            told_as, measured = _name(queries), measure(config, shop, asked, progress)
        else:
            told_as = f"all queries, {folds} folds over users"
            measured = _folded(config, folds, refit, progress)
        write_report(folder, config, shop, measured, told_as, command)
        return {"requests": len(measured.queries)}

    if out is not None:  # a folder of the user's, which may hold other files
        out.mkdir(parents=True, exist_ok=True)
        make(out)
        return out / REPORT_MD
    options: dict[str, JsonValue] = {
        "folds": folds,
        "refitted": config.deciding(decided_by(REPORT)) if folds else None,
        "queries": file_hash(queries) if queries else None,
    }
    stage.run(config, lambda work: make(work.folder), options=options)
    return stage.path(config) / REPORT_MD


def write_report(
    folder: Path, config: Config, shop: Shop, measured: Measured, queries: str, command: str
) -> Report:
    """Write all files of the report into an existing folder."""
    report = build_report(config, shop, measured, queries)
    curves = _curves(report, measured)
    write_text(folder / REPORT_JSON, report.model_dump_json(indent=2) + "\n")
    alphas = np.array([p.theta.alpha for p in measured.told.predictions])
    draw_routers(report, folder / "routers.png")
    draw_alphas(alphas, [q.kind for q in measured.queries], folder / "alphas.png")
    draw_curves(report, curves, folder / "curves.png")
    rows = "".join(json.dumps(row) + "\n" for row in _request_rows(measured))
    write_text(folder / REQUESTS, rows)
    page = Page(report, measured, command, os.cpu_count() or 1, config.routing.epsilon)
    write_text(folder / REPORT_MD, render(page))
    return report


def build_report(config: Config, shop: Shop, measured: Measured, queries: str) -> Report:
    """report.json as a value."""
    users = [q.user_id for q in measured.queries]
    results = measured.results
    return Report(
        shop=shop.name,
        queries=queries,
        n_queries=len(measured.queries),
        n_users=len(set(users)),
        teacher_policy=config.teacher.policy,
        calibrated_on=outcome_source(shop),
        mean_budget=config.routing.mean_budget,
        commit=commit(),
        rows=report_rows(results, users, config.seed),
        agreement=agreement(measured.told, results["student"].recall, results["teacher"].recall),
        slices={"kind": kind_slices(results, [q.kind for q in measured.queries])},
    )


def _asked(config: Config, shop: Shop, queries: Path | None) -> tuple[Query, ...]:
    if queries is not None:
        return read_queries(queries, shop.catalogue)
    return known_queries(shop, config.stage("ranks"), "test")


def _name(queries: Path | None) -> str:
    return "test split" if queries is None else queries.name


def _folded(config: Config, folds: int, refit: Sequence[Stage], progress: Progress) -> Measured:
    """Refit and measure fold by fold; finished folds are found again by their manifests."""
    if not refit:
        raise ConfigError("report: --folds needs the stages to refit; call it by the command line")
    parts = []
    for number in range(folds):
        progress.note(f"fold {number + 1} of {folds}")
        home = _folds_home(config) / f"{number + 1}-of-{folds}"
        part = config.model_copy(update={"out": home, "fold": FoldConfig(of=folds, number=number)})
        borrow(part, config, BUILD, RANKS)
        for stage in refit:
            stage(part, progress)
        shop = open_shop(part)
        parts.append(measure(part, shop, shop.split("test"), progress))
    return pool_measured(parts)


def _folds_home(config: Config) -> Path:
    return config.out / "folds"


def _curves(report: Report, measured: Measured) -> Curves:
    results, told = measured.results, measured.told
    order = np.argsort(told.confidence, kind="stable")
    student, teacher = (results[n].at_k_mean[order] for n in ("student", "teacher"))
    counts = np.round(SHARES * len(order)).astype(np.int64)
    mixed = [(teacher[:c].sum() + student[c:].sum()) / len(order) for c in counts.tolist()]
    rate = report.rows["cascade"].fallback_rate
    return Curves(
        budgets=CURVE_BUDGETS,
        recall={name: values.mean(axis=0) for name, values in measured.curves.items()},
        sent=SHARES,
        cascade=np.array(mixed),
        operating=rate if rate > 0.0 else None,
    )


def _request_rows(measured: Measured) -> Iterator[dict[str, object]]:
    """What each router said of every request, for a person who looks for one."""
    told = measured.told
    for b, query in enumerate(measured.queries):
        prediction, answer, verdict = told.predictions[b], told.answers[b], told.verdicts[b]
        grid = np.linspace(0.0, 1.0, len(prediction.alpha_probs))
        yield {
            "request_id": query.query_id,
            "user_id": query.user_id,
            "kind": query.kind,
            "text_rank": int(measured.text_ranks[b]),
            "mm_rank": int(measured.mm_ranks[b]),
            "student": {"alpha": prediction.theta.alpha, "budget": prediction.theta.budget},
            "student_mean_alpha": round(float(prediction.alpha_probs @ grid), 6),
            "bin_mass": round(prediction.bin_mass, 6),
            "linear_student": {
                "alpha": told.linear_thetas[b].alpha, "budget": told.linear_thetas[b].budget,
            },
            "teacher": {"alpha": answer.theta.alpha, "budget": answer.theta.budget},
            "teacher_source": answer.source,
            "confidence": round(float(told.confidence[b]), 6),
            "fallback": verdict.fallback,
            "fallback_skipped": verdict.skipped,
        }  # fmt: skip
