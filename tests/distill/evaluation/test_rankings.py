"""Routers that order items by one score, on scores small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.distill.evaluation.metrics import METRICS
from adamroute.distill.evaluation.outcomes import listed
from adamroute.distill.evaluation.rankings import (
    Bm25,
    Ranking,
    fused,
    fused_hits,
    fused_rows,
    judged_weight,
    judged_weights,
    ordered,
)
from adamroute.distill.evaluation.routers import routers
from adamroute.retrieval.replay import recalled
from adamroute.theta import Theta
from tests.distill.worlds import B, N, bench, requests
from tests.reranking.weighing import weighing

TEXTS = ("a lamp that dims softly", "a rug that muffles steps", "lamps and rugs", "a red lamp")


def places(found: Ranking) -> list[int]:
    """1-based place of every wanted item."""
    within = np.stack([found.within(k) for k in range(1, N + 1)])
    return [1 + int(count) for count in (~within).sum(axis=0)]


def test_ranks_follow_the_scores_and_ties_go_to_the_lower_row_or_are_lost() -> None:
    scores = [np.array([0.1, 0.5, 0.5, 0.2]), np.array([0.3, 0.3 + 1e-9, 0.9, 0.3])]
    found = ordered(scores, np.array([2, 0]), budget=3)
    assert found.lists.tolist() == [[1, 2, 3], [2, 0, 1]]
    assert places(found) == [2, 2]
    # With ties lost the places are 2 and 4: 1e-9 is no difference, so rows 0, 1 and 3 tie.
    for budget, worst in ((1, [False, False]), (2, [True, False]), (3, [True, False])):
        assert ordered(scores, np.array([2, 0]), budget).worst.tolist() == worst
    assert ordered(scores, np.array([2, 0]), 4).worst.tolist() == [True, True]


def test_bm25_finds_the_word_that_was_said_and_no_other_form_of_it() -> None:
    (lamp,) = Bm25(TEXTS).scores(["LAMP?"])
    assert (lamp > 0).tolist() == [True, False, False, True]
    assert lamp[3] > lamp[0]  # the shorter text


def test_bm25_of_words_that_no_listing_has_prefers_nothing() -> None:
    for scores in Bm25(TEXTS).scores(["zeppelin", "the a of", ""]):
        assert scores.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("text", "mm", "weight"),
    [
        (3.0, 1.0, 0.8),  # .75, to one place
        (1.0, 3.0, 0.2),  # .25
        (2.0, 2.0, 0.5),
        (4.6, 2.0, 1.0),  # the text branch's item alone is of the top grade
        (2.0, 4.5, 0.0),
        (4.6, 4.9, 0.5),
    ],
)
def test_the_judged_weight_is_the_texts_share_of_both_grades(
    text: float, mm: float, weight: float
) -> None:
    assert judged_weight(text, mm) == weight


def test_both_branches_first_items_are_judged_request_by_request() -> None:
    known = requests()
    asked = []

    def judge(place: int, rows: np.ndarray) -> np.ndarray:
        asked.append((place, *rows.tolist()))
        return np.array([3.0, 1.0])

    assert judged_weights(known, judge).tolist() == [0.8] * B
    firsts = zip(known.text_lists[:, 0], known.mm_lists[:, 0], strict=True)
    assert asked == [(b, *map(int, pair)) for b, pair in enumerate(firsts)]


def test_the_judged_weight_fuses_both_branches_whatever_the_run_does() -> None:
    world = bench(collaborative=())  # of a run that splits
    world.reranker = weighing({"log_text_rank": -1.0}, top=(-30.0, 0.0))  # none of grade 5
    found, known = routers("peer")["judged_fusion"].choose(world), requests()
    weights = judged_weights(known, world.desk({}).judge)
    assert found.alphas.tolist() == [weights.tolist()]
    assert len(set(weights.tolist())) > 1
    assert weights.min() >= 0.5  # the text branch's first item is first by text
    for k in (20, 40):
        hits = [
            recalled(known.ranks.take(np.array([b])), Theta(weight, k), "fused")[0]
            for b, weight in enumerate(weights.tolist())
        ]
        assert found.hits_at(k)[0].tolist() == hits
    assert np.all(found.candidates == 40)  # fused retrieval fills the budget


def test_a_ranking_is_served_with_its_first_k_rows_and_nothing_else() -> None:
    known = requests()
    orders = [np.random.default_rng(b).permutation(N).astype(np.float64) for b in range(B)]
    found = ordered(orders, known.targets, 30, "text")
    answers = listed(bench(collaborative=()), found, costs={"ms": np.full(B, 2.0)})
    result = {name: metric.values(answers) for name, metric in METRICS.items() if name != "regret"}
    assert result["candidates"].tolist() == [30.0] * B
    assert result["recall"].tolist() == found.within(30).tolist()
    assert result["recall@20"].tolist() == found.within(20).tolist()
    assert np.all(result["ms"] > 4.0)  # encoding, ordering, and what the answer took
    assert np.all((result["hr@20"] > 0) <= found.within(30))


def test_fusion_adds_the_reciprocals_of_both_ranks() -> None:
    rows, scores = fused(np.array([4, 7, 2]), np.array([7, 9, 4]))
    assert rows.tolist() == [7, 4, 9, 2]
    assert scores == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63])


def test_equal_fused_scores_go_to_the_lower_row() -> None:
    assert fused(np.array([8]), np.array([3]))[0].tolist() == [3, 8]


@pytest.mark.parametrize("budget", [20, 40, 100])
def test_fusion_recalls_what_its_first_k_rows_hold_and_never_more_when_ties_are_lost(
    budget: int,
) -> None:
    known = requests()
    hits = fused_hits(known, budget)
    for place in range(len(known)):
        rows = fused_rows(known, place, budget)
        assert len(rows) == budget
        assert hits[place] == (known.targets[place] in rows)
    assert np.all(fused_hits(known, budget, worst=True) <= hits)
