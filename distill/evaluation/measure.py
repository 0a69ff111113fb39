"""One set of requests, measured: loads a run's parts and asks every router the same things."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_index, load_reranker, load_teacher
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.preferences import liked_items
from adamroute.catalogue.shop import Query, Shop, TimeMeaning
from adamroute.config import Config
from adamroute.distill.evaluation.answering import Desk
from adamroute.distill.evaluation.baselines import (
    hits_at,
    oracle_alphas,
    random_alphas,
    static_alpha,
)
from adamroute.distill.evaluation.learned import (
    Asking,
    Routers,
    Told,
    ask,
    learned_choices,
    pool_told,
)
from adamroute.distill.evaluation.outcomes import (
    Choice,
    Outcomes,
    baseline_choices,
    fusion_outcomes,
    outcomes,
    pool,
)
from adamroute.distill.evaluation.schema import FIXED_BUDGETS, RouterName
from adamroute.errors import LabelError
from adamroute.pipeline import LABEL, RERANKER, TRAIN
from adamroute.progress import Progress
from adamroute.reranking.features import Asked, encode_parts
from adamroute.retrieval.item_facts import item_facts
from adamroute.retrieval.ranks import QueryRanks, load_ranks, rank_queries
from adamroute.retrieval.replay import regret
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.confidence import load_calibration
from adamroute.routing.linear_student import LinearStudent
from adamroute.routing.lora_student import LoraStudent
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.teacher.context import Context
from adamroute.teacher.neighbours import liked_rows

Array = NDArray[np.float64]
CURVE_BUDGETS = (10, 20, 40, 60, 100, 200)
CURVES: tuple[RouterName, ...] = (
    "static_best", "random", "oracle", "linear_student", "teacher", "student",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Everything the report is made from, one entry a request."""

    queries: tuple[Query, ...]
    text_ranks: NDArray[np.int64]  # [B]
    mm_ranks: NDArray[np.int64]
    told: Told
    results: Mapping[RouterName, Outcomes]
    curves: Mapping[RouterName, Array]  # [B, C]
    regrets: Array  # [B], the student's routing regret
    titles: tuple[str, ...]  # of the wanted items
    versions: Mapping[str, str]  # stage to hash


def measure(config: Config, shop: Shop, queries: Sequence[Query], progress: Progress) -> Measured:
    """Measure all routers on `queries`; LabelError where there is nothing to measure on."""
    index = load_index(config.stage("index"))
    fit_queries = known_queries(shop, config.stage("ranks"), "train", "calibration")
    if not queries or not fit_queries:
        raise LabelError(
            f"report: {len(queries)} requests to report on and {len(fit_queries)} of train and "
            "calibration to fit the baselines on, wanted at least one of each. "
            "Give the shop queries of those splits"
        )
    budget = min(config.routing.mean_budget, config.routing.tau, len(index.ids))
    length = max(*FIXED_BUDGETS, budget)
    fit, known = (
        load_ranks(config.stage("ranks"), fit_queries),
        rank_queries(index, queries, length),
    )
    routers = load_routers(config, index)
    tasks = routers.teacher.contexts.prepare([shop.request(query) for query in queries])
    asking = Asking(
        [task.request for task in tasks], [task.profile for task in tasks], known.text_vectors
    )
    with progress.task("routers answer", total=2 * len(queries)) as advance:
        told = ask(routers, asking, advance)
    rng = np.random.default_rng(config.seed)
    choices = {**baseline_choices(fit, known, budget, rng), **learned_choices(told)}
    desk = build_desk(config, index, routers.constants.time, known, tasks)
    results = _results(known, choices, desk, encoding_ms(index, queries), budget, progress)
    return Measured(
        queries=tuple(queries),
        text_ranks=known.text,
        mm_ranks=known.mm,
        told=told,
        results=results,
        curves=_curves(fit, known, choices, rng),
        regrets=_regrets(known, told),
        titles=tuple(index.titles[row] for row in known.targets),
        versions=_versions(config, index),
    )


def load_routers(config: Config, index: SearchIndex) -> Routers:
    """The learned routers of a finished run; ArtifactError where they don't belong together."""
    labels = config.stage("labels")
    calibration = load_calibration(config.stage("calibration"))
    calibration.check(
        {
            "index": index.hash,
            "labels": LABEL.hash(config),
            "student": TRAIN.hash(config),
        }
    )
    return Routers(
        student=LoraStudent.load(config.stage("student")),
        linear=LinearStudent.load(config.stage("student")),
        teacher=load_teacher(labels, index, config, config.out / REPLIES_FILE),
        constants=read_teacher_file(labels),
        calibration=calibration,
        on_uncertified=config.calibration.on_uncertified,
    )


def pool_measured(parts: Sequence[Measured]) -> Measured:
    """Folds as one; the versions are those of the first."""
    return Measured(
        queries=tuple(q for part in parts for q in part.queries),
        text_ranks=np.concatenate([part.text_ranks for part in parts]),
        mm_ranks=np.concatenate([part.mm_ranks for part in parts]),
        told=pool_told([part.told for part in parts]),
        results=pool([part.results for part in parts]),
        curves={n: np.concatenate([part.curves[n] for part in parts]) for n in CURVES},
        regrets=np.concatenate([part.regrets for part in parts]),
        titles=tuple(title for part in parts for title in part.titles),
        versions=parts[0].versions,
    )


def build_desk(
    config: Config,
    index: SearchIndex,
    time_meaning: TimeMeaning,
    known: QueryRanks,
    tasks: Sequence[Context],
) -> Desk:
    """The served path over these requests, with the run's scorer."""
    parts = encode_parts(index.text_encoder, [task.profile for task in tasks])

    def brought(task: Context) -> tuple[int, ...]:
        history = task.request.history
        return liked_rows(task.neighbours, index.row_of, time=time_meaning, history=history)

    return Desk(
        recall=index.recall,
        facts=item_facts(index.text_vectors, index.profile_texts, index.categories, index.visual),
        scorer=load_reranker(config),
        known=known,
        asked=[
            Asked(
                task.request.query, known.text_vectors[b], task.profile, parts[b],
                liked_items(task.request.history, index.row_of),
            )
            for b, task in enumerate(tasks)
        ],
        collaborative=[brought(task) for task in tasks],
    )  # fmt: skip


def _results(
    known: QueryRanks,
    choices: Mapping[RouterName, Choice],
    desk: Desk,
    encode_ms: Array,
    budget: int,
    progress: Progress,
) -> dict[RouterName, Outcomes]:
    results: dict[RouterName, Outcomes] = {}
    with progress.task("routers' answers served", total=len(choices) + 1) as advance:
        for name, choice in choices.items():
            results[name] = outcomes(known, choice, desk, encode_ms)
            advance(1)
        results["rrf"] = fusion_outcomes(known, budget, desk, encode_ms)
        advance(1)
    return results


def encoding_ms(index: SearchIndex, queries: Sequence[Query]) -> Array:
    """Milliseconds to encode each query alone, as a server does, [B]."""
    ms = []
    for query in queries:
        start = time.perf_counter()
        index.encode([query.text])
        ms.append((time.perf_counter() - start) * 1000.0)
    return np.array(ms)


def _curves(
    fit: QueryRanks,
    known: QueryRanks,
    choices: Mapping[RouterName, Choice],
    rng: np.random.Generator,
) -> dict[RouterName, Array]:
    """Recall at every K of CURVE_BUDGETS, [B, C]; learned routers keep their alpha."""
    n, drawn = len(known), random_alphas(known, rng)

    def alphas(name: RouterName, k: int) -> Array:
        if name == "static_best":
            return np.full((1, n), static_alpha(fit, k))
        if name == "oracle":
            return oracle_alphas(known, k)[None]
        return drawn if name == "random" else choices[name].alphas

    def recall(name: RouterName, k: int) -> Array:
        hits = hits_at(alphas(name, k), np.full(n, float(k)), known.text, known.mm)
        return np.asarray(hits.mean(axis=0))

    return {name: np.stack([recall(name, k) for k in CURVE_BUDGETS], axis=1) for name in CURVES}


def _regrets(known: QueryRanks, told: Told) -> Array:
    thetas = (prediction.theta for prediction in told.predictions)
    return np.array([regret(*row) for row in zip(known.text, known.mm, thetas, strict=True)])


def _versions(config: Config, index: SearchIndex) -> dict[str, str]:
    found = {stage.label: stage.hash(config) for stage in (LABEL, TRAIN, RERANKER)}
    return {"index": index.hash, **found}
