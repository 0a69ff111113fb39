"""All rows of the ablation table on the test requests of one finished run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from adamroute.assembly import load_index, load_teacher
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.ablation.peers import (
    Bm25,
    fit_weight,
    fusion_scores,
    judged_weights,
    ranking,
    ranking_outcomes,
)
from adamroute.distill.evaluation.ablation.schema import REFERENCES, ROWS, RowName
from adamroute.distill.evaluation.ablation.variants import (
    FIXED_ALPHAS,
    SWITCHES,
    LooksKept,
    fixed_theta,
    switched,
)
from adamroute.distill.evaluation.answering import Desk
from adamroute.distill.evaluation.measure import build_desk, encoding_ms
from adamroute.distill.evaluation.metrics import ndcg_at
from adamroute.distill.evaluation.outcomes import (
    Array,
    Choice,
    Outcomes,
    baseline_choices,
    chosen,
    fusion_outcomes,
    outcomes,
)
from adamroute.errors import LabelError
from adamroute.progress import Advance, Progress
from adamroute.reranking.reranker import RetrievalOrder
from adamroute.retrieval.dual import Origin
from adamroute.retrieval.ranks import QueryRanks, load_ranks
from adamroute.retrieval.replay import recalled
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.theta import ALPHAS, Bins, Theta


@dataclass(frozen=True, eq=False)
class Bench:
    """The requests of one run, ready to be answered in any way."""

    config: Config
    shop: Shop
    index: SearchIndex
    queries: tuple[Query, ...]
    requests: tuple[Request, ...]
    known: QueryRanks
    fit: QueryRanks  # train and calibration
    desk: Desk
    encode_ms: Array  # [B]
    budget: int  # K of peers and references
    tau: int


@dataclass(frozen=True, eq=False)
class Ablated:
    """What the table and the picture are made from."""

    results: Mapping[RowName, Outcomes]
    linear_weight: float
    sweep: tuple[tuple[Theta, float, float], ...]  # theta, recall, ndcg@20


def set_bench(config: Config) -> Bench:
    """Load a finished run: index, labels and scorer. ArtifactError where one is missing."""
    labels = config.stage("labels")
    shop = open_shop(config)
    index = load_index(config.stage("index"))
    queries = known_queries(shop, config.stage("ranks"), "test")
    fit_queries = known_queries(shop, config.stage("ranks"), "train", "calibration")
    if not queries or not fit_queries:
        raise LabelError(
            f"ablate: {len(queries)} test requests, {len(fit_queries)} of train and calibration "
            "to fit fixed splits on, wanted one of each or more. Give the shop such queries"
        )
    budget = min(config.routing.mean_budget, config.routing.tau, len(index.ids))
    fit, known = (load_ranks(config.stage("ranks"), many) for many in (fit_queries, queries))
    requests = tuple(shop.request(query) for query in queries)
    tasks = load_teacher(labels, index, config, config.out / REPLIES_FILE).contexts.prepare(
        requests
    )
    constants = read_teacher_file(labels)
    return Bench(
        config=config,
        shop=shop,
        index=index,
        queries=queries,
        requests=requests,
        known=known,
        fit=fit,
        desk=build_desk(config, index, constants.time, known, tasks),
        encode_ms=encoding_ms(index, queries),
        budget=budget,
        tau=constants.tau,
    )


def ablate(bench: Bench, progress: Progress) -> Ablated:
    """Every row of the table, then the static sweep."""
    results: dict[RowName, Outcomes] = {}
    weight = fit_weight(bench.index, bench.fit)
    with progress.task("rows of the table", len(ROWS)) as advance:
        results |= _methods(bench, advance)
        results |= _peers(bench, weight, advance)
        for name, choice in references(bench).items():
            results[name] = outcomes(bench.known, choice, bench.desk, bench.encode_ms)
            advance(1)
    return Ablated(results, weight, _sweep(bench, progress))


def teacher_choice(bench: Bench, config: Config) -> Choice:
    """What the teacher of this config answers, with what it cost."""
    teacher = load_teacher(config.stage("labels"), bench.index, config, config.out / REPLIES_FILE)
    answers = teacher.decide_many(bench.requests)
    own = chosen(
        np.array([a.theta.alpha for a in answers]),
        np.array([float(a.theta.budget) for a in answers]),
        np.array([decision_ms(answer) for answer in answers]),
    )
    return replace(
        own,
        llm_calls=np.array([float(a.llm_calls) for a in answers]),
        tokens=np.array([float(a.tokens) for a in answers]),
    )


def decision_ms(answer: TeacherAnswer) -> float:
    """What deciding took; a kept reply counts with the time that it took when it was asked for."""
    return max(answer.ms, sum(call.ms for call in answer.calls))


def references(bench: Bench) -> dict[RowName, Choice]:
    """Choices of the routers that every table is held against."""
    rng = np.random.default_rng(bench.config.seed)
    found = baseline_choices(bench.fit, bench.known, bench.budget, rng)
    return {name: found[name] for name in REFERENCES}


def _methods(bench: Bench, advance: Advance) -> dict[RowName, Outcomes]:
    known, desk, n = bench.known, bench.desk, len(bench.known)
    results: dict[RowName, Outcomes] = {}

    def add(name: RowName, choice: Choice, at: Desk = desk) -> None:
        results[name] = outcomes(known, choice, at, bench.encode_ms)
        advance(1)

    choices = {name: teacher_choice(bench, switched(bench.config, name)) for name in SWITCHES}
    for name, choice in choices.items():
        add(name, choice)
    for name in FIXED_ALPHAS:
        theta = fixed_theta(name, bench.tau)
        add(name, chosen(np.full(n, theta.alpha), np.full(n, float(theta.budget))))
    full, recall = choices["full"], bench.index.recall
    add("no_augmentation", full, desk.variant(collaborative=[()] * n))
    add("no_attribute_filter", full, desk.variant(recall=LooksKept(recall.text, recall.mm)))
    add("no_preference_scoring", full, desk.variant(scorer=RetrievalOrder()))
    return results


def _peers(bench: Bench, weight: float, advance: Advance) -> dict[RowName, Outcomes]:
    known, desk, n = bench.known, bench.desk, len(bench.known)

    def ranked(
        scores: Iterable[Array], before_ms: Array, origin: Origin | None = None
    ) -> Outcomes:
        start = time.perf_counter()
        found = ranking(scores, known.targets, bench.budget, origin)
        own_ms = (time.perf_counter() - start) * 1000.0 / n
        advance(1)
        return ranking_outcomes(known, found, bench.budget, desk, before_ms + own_ms)

    def fused(weights: Array, judging_ms: float = 0.0) -> Outcomes:
        scores = fusion_scores(bench.index, known, weights)
        return ranked(scores, bench.encode_ms + judging_ms)

    start = time.perf_counter()
    judged = judged_weights(known, desk.judge)
    judging_ms = (time.perf_counter() - start) * 1000.0 / n
    text = chosen(np.ones(n), np.full(n, float(bench.budget)))
    bm25 = Bm25(bench.index.texts)  # not timed, as no row's index is
    results: dict[RowName, Outcomes] = {
        "bm25": ranked(bm25.scores([q.text for q in bench.queries]), np.zeros(n), "text"),
        "dense_text": outcomes(known, text, desk, bench.encode_ms),
        "rrf": fusion_outcomes(known, bench.budget, desk, bench.encode_ms),
        "linear_fusion": fused(np.full(n, weight)),
        "judged_fusion": fused(judged, judging_ms),
    }
    advance(2)
    return results


def _sweep(bench: Bench, progress: Progress) -> tuple[tuple[Theta, float, float], ...]:
    """Recall and ndcg@20 of every fixed theta on the grid (the paper's figure 3)."""
    thetas = [Theta(alpha, k) for k in Bins(bench.tau).budgets for alpha in ALPHAS]
    known, found = bench.known, []
    with progress.task("static sweep", len(thetas)) as advance:
        for theta in thetas:
            ranks = np.array([bench.desk.serve(b, theta).rank for b in range(len(known))])
            hits = recalled(known.text, known.mm, theta)
            found.append((theta, float(hits.mean()), float(ndcg_at(ranks, 20).mean())))
            advance(1)
    return tuple(found)
