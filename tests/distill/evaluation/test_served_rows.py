"""A report's rows are the library's answers: theta and the place of the wanted item."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from adamroute.assembly import (
    calibration,
    check_run,
    load_contexts,
    load_index,
    load_reranker,
    load_served_teacher,
    load_student,
)
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.config import Config
from adamroute.distill.evaluation.bench import Bench, open_bench
from adamroute.recommender import Recommendation, Recommender
from adamroute.recommender.nodes import Nodes, Reranking, Router, Teaching
from adamroute.run import Run
from adamroute.theta import Theta
from tests.test_one_path import SWITCHES, switched_off

STATIC = Theta(0.3, 40)
ALL = 80  # tau of the tiny run


@pytest.fixture(scope="module")
def bench(tiny_run: Config) -> Bench:
    shop, index = read_shop(tiny_run.shop), load_index(tiny_run.stage("index"))
    queries = known_queries(shop, tiny_run.stage("ranks"), "test")[:12]
    return open_bench(tiny_run, shop, index, queries, verb="report", together=1)


def assembled(bench: Bench, off: str) -> Run:
    """The run with one part of the method off, over the report's own index."""
    config = switched_off(bench.config, off)
    facts = replace(
        check_run(bench.config),
        augmentation=config.retrieval.augmentation,
        attribute_filter=config.reranker.attribute_filter,
    )
    nodes = Nodes(
        Router(load_student(config), calibration(config)),
        Teaching(load_served_teacher(config, bench.index)),
        Reranking(load_reranker(config)),
    )
    return Run(config, Recommender(load_contexts(config, bench.index), facts, nodes))


def place(answer: Recommendation, target: str) -> float:
    """1-based, every tie lost; infinite where it is not shown."""
    scores = {item.item_id: item.score for item in answer.items}
    if target not in scores:
        return math.inf
    return float(sum(score >= scores[target] - 1e-9 for score in scores.values()))


@pytest.mark.parametrize("off", SWITCHES)
def test_a_reports_rows_are_what_the_library_answers(bench: Bench, off: str) -> None:
    switches = SWITCHES[off]
    run, desk, n = assembled(bench, off), bench.desk(switches), len(bench)
    student = [prediction.theta for prediction in bench.told.predictions]
    teacher = [answer.theta for answer in bench.taught(switches)]
    asked = [verdict.ask_teacher for verdict in bench.told.verdicts]
    rows = {
        "student": student,
        "teacher": teacher,
        "auto": [t if yes else s for s, t, yes in zip(student, teacher, asked, strict=True)],
        "static@0.3,40": [STATIC] * n,
    }
    shown = 0
    for policy, wanted in rows.items():
        for b, request in enumerate(bench.requests):
            answer = run.recommend(
                query=request.query, user_id=request.user_id, history=request.history,
                policy=policy, n=ALL,
            )  # fmt: skip
            assert answer.theta == wanted[b]
            rank = place(answer, bench.queries[b].target_id)
            if math.isfinite(rank) or len(answer.items) < ALL:
                assert rank == desk.serve(b, wanted[b], bench.constants.combine).rank
                shown += math.isfinite(rank)
    assert shown > n  # most wanted items are found by most
