"""`adamroute report CONFIG --teacher`: teacher.json, teacher.md and two pictures.

With `--folds 5` only the label stage is refitted a fold, with the fixed split and the kinds'
alphas: no student, no scorer. Labels are always made anew, since a manifest does not know the
teacher's code; what makes that bearable is that every text is encoded once (remembered.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from adamroute.assembly import load_index
from adamroute.catalogue.folder import read_queries
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config, FoldConfig
from adamroute.distill.evaluation.teaching.measure import (
    Scene,
    Taught,
    measure_teacher,
    pool_taught,
)
from adamroute.distill.evaluation.teaching.numbers import Pairs, hardness, slices
from adamroute.distill.evaluation.teaching.pages import render
from adamroute.distill.evaluation.teaching.pictures import draw_hardness, draw_rows
from adamroute.distill.evaluation.teaching.remembered import Remembered
from adamroute.distill.evaluation.teaching.schema import RIVALS, ROWS, Costs, TeacherReport
from adamroute.errors import ConfigError, LabelError
from adamroute.pipeline import BUILD, LABEL, RANKS, TEACHER_REPORT, borrow
from adamroute.progress import Progress
from adamroute.retrieval.ranks import rank_queries
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import (
    Counts,
    Work,
    commit,
    write_text,
)

Relabel = Callable[[Config, Shop, SearchIndex, Progress], object]
TEACHER_JSON, TEACHER_MD = "teacher.json", "teacher.md"


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
    if folds is not None and queries is not None:
        raise ConfigError("report: --folds and --queries exclude each other. Give one of them")
    stage = TEACHER_REPORT
    if folds is not None:  # labels of its own
        inputs = tuple(source for source in stage.inputs if source is not LABEL)
        stage = replace(stage, folder="folds-teacher/report-teacher", inputs=inputs)
    stage = stage.at(out or stage.path(config))

    def make(work: Work) -> Counts:
        shop = open_shop(config)
        index = load_index(config.stage("index"))
        if folds is None:
            asked = _asked(config, shop, queries)
            scene = set_scene(config, shop, index, asked)
            taught = measure_teacher(config, shop, index, scene, progress)
            told_as = "test split" if queries is None else queries.name
        else:
            memory = Remembered(index.text_encoder, config.out / "cache")
            taught = _folded(config, replace(index, text_encoder=memory), folds, relabel, progress)
            memory.save()
            told_as = f"all queries, {folds} folds over users"
        report = build_teacher_report(config, shop, taught, told_as, remembered=folds is not None)
        write_teacher_report(work.folder, report, taught, command)
        return {"requests": len(taught.queries)}

    stage.run(config, make, options={"folds": folds}, anew=True)
    return stage.path(config) / TEACHER_MD


def write_teacher_report(
    folder: Path, report: TeacherReport, taught: Taught, command: str
) -> None:
    """Write page, numbers and pictures into an existing folder."""
    write_text(folder / TEACHER_JSON, report.model_dump_json(indent=2) + "\n")
    draw_rows(report, folder / "rows.png")
    if report.hardness:
        draw_hardness(taught.ranks, folder / "hardness.png")
    write_text(folder / TEACHER_MD, render(report, command))


def build_teacher_report(
    config: Config, shop: Shop, taught: Taught, queries: str, *, remembered: bool
) -> TeacherReport:
    """teacher.json as a value; `remembered` texts cost nothing, so no time is told of them."""
    users = [q.user_id for q in taught.queries]
    pairs = Pairs(users, config.seed)
    static, known = (taught.at_k[n].mean() for n in ("static_best", "kind_known"))
    answers = taught.answers
    named = Counter(name for answer in answers for name in set(answer.fallbacks))
    return TeacherReport(
        shop=shop.name,
        queries=queries,
        n_queries=len(users),
        n_users=len(set(users)),
        policy=config.teacher.policy,
        mean_budget=config.routing.mean_budget,
        commit=commit(),
        rows={name: pairs.row(taught.at_k[name], taught.at_k["static_best"]) for name in ROWS},
        minus={name: pairs.minus(taught.at_k["teacher"], taught.at_k[name]) for name in RIVALS},
        gain_share=(
            float((taught.at_k["teacher"].mean() - static) / (known - static))
            if known > static else None
        ),
        regret=float(taught.regrets.mean()),
        recall=float(taught.recall.mean()),
        teacher_budget=float(np.mean([answer.theta.budget for answer in answers])),
        hardness=hardness(taught.ranks),
        slices=slices(taught, config.seed),
        no_evidence=float(np.mean([a.source == "teacher:no_evidence" for a in answers])),
        fallbacks={name: count / len(answers) for name, count in sorted(named.items())},
        costs=Costs(
            llm_calls=float(np.mean([a.llm_calls for a in answers])),
            tokens=float(np.mean([a.tokens for a in answers])),
            ms=None if remembered else float(np.mean([a.ms for a in answers])),
        ),
    )  # fmt: skip


def _asked(config: Config, shop: Shop, queries: Path | None) -> tuple[Query, ...]:
    if queries is not None:
        return read_queries(queries, shop.catalogue)
    return known_queries(shop, config.stage("ranks"), "test")


def set_scene(config: Config, shop: Shop, index: SearchIndex, asked: tuple[Query, ...]) -> Scene:
    """Ranks of what is asked and fitted on; LabelError where either is nothing."""
    fit = known_queries(shop, config.stage("ranks"), "train", "calibration")
    if not asked or not fit:
        raise LabelError(
            f"report --teacher: {len(asked)} requests to report on and {len(fit)} of train and "
            "calibration to fit the baselines on, wanted at least one of each. "
            "Give the shop queries of those splits"
        )
    known, fitted = (rank_queries(index, many, 1) for many in (asked, fit))
    return Scene(asked, known, fitted, fitted.take(np.array([q.split == "train" for q in fit])))


def _folded(
    config: Config, index: SearchIndex, folds: int, relabel: Relabel, progress: Progress
) -> Taught:
    """Every query is ranked once; a fold is a choice among them and a label stage of its own."""
    known = rank_queries(index, open_shop(config).queries, 1)
    parts = []
    for number in range(folds):
        progress.note(f"fold {number + 1} of {folds}")
        home = _folds_home(config) / f"{number + 1}-of-{folds}"
        part = config.model_copy(update={"out": home, "fold": FoldConfig(of=folds, number=number)})
        borrow(part, config, BUILD, RANKS)
        shop = open_shop(part)
        relabel(part, shop, index, progress)
        split = np.array([query.split for query in shop.queries])
        scene = Scene(
            shop.split("test"),
            known.take(split == "test"), known.take(split != "test"), known.take(split == "train"),
        )  # fmt: skip
        parts.append(measure_teacher(part, shop, index, scene, progress))
    return pool_taught(parts)


def _folds_home(config: Config) -> Path:
    return config.out / "folds-teacher"
