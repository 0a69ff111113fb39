"""Differences, hardness and slices of the teacher's report, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from adamroute.distill.evaluation.teaching.measure import Ranks, ks_distance, pool_taught
from adamroute.distill.evaluation.teaching.numbers import Pairs, hardness, slices
from tests.distill.taught import STATIC, TEACHER, taught

NOTHING = np.empty(0)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 0.0),
        ([1, 2, 3, 4], [3, 4, 5, 6], 0.5),  # at 2: half against none
        ([1, 1, 2], [1, 2, 2], 1 / 3),  # at 1: two of three against one
        ([1], [2, 3, 4], 1.0),
        ([1, 10], [5], 0.5),
    ],
)
def test_the_distance_is_the_widest_gap_of_the_distribution_functions(
    one: list[float], other: list[float], distance: float
) -> None:
    for pair in ((one, other), (other, one)):
        assert ks_distance(*map(np.array, pair)) == pytest.approx(distance)


def test_hardness_compares_both_branches() -> None:
    found = hardness(taught().ranks)
    text, mm = found["text"], found["multimodal"]
    assert (text.n_pseudo, text.n_real, mm.n_real) == (4, 4, 2)
    assert (text.median_pseudo, text.median_real) == (1.5, 4.5)
    assert text.distance == 0.75  # at 2: three of four pseudo, no real one
    assert mm.distance == 1.0


def test_without_pseudo_queries_or_real_ones_there_is_nothing_to_compare() -> None:
    ranks = taught().ranks
    assert hardness(replace(ranks, real_text=NOTHING, real_mm=NOTHING)) == {}
    assert hardness(Ranks(NOTHING, NOTHING, ranks.real_text, ranks.real_mm)) == {}


def test_differences_are_paired_at_every_budget_and_over_all() -> None:
    minus = Pairs(["a", "a", "b", "b"], 0).minus(np.array(TEACHER), np.array(STATIC))
    assert minus["20"].mean == pytest.approx(1 / 4)  # only request 3 at K = 20
    assert minus["40"].mean == pytest.approx(1 / 4)  # only request 1 at K = 40
    assert minus["100"].mean == 0.0
    assert minus["100"].ci95 == (0.0, 0.0)
    assert minus["mean"].mean == pytest.approx(2 / 12)
    # Both users gain one hit of six, so no way of drawing them changes the mean.
    assert minus["mean"].ci95 == pytest.approx((1 / 6, 1 / 6))


def test_slices_split_the_requests_by_kind_history_and_steps() -> None:
    found = slices(taught(), 0)
    assert {label: part.n for label, part in found["kind"].items()} == {
        "visual": 2,
        "functional": 1,
    }
    assert {label: part.n for label, part in found["history"].items()} == {
        "0": 1,
        "3 to 5": 2,
        "21 and more": 1,
    }
    assert {label: part.n for label, part in found["steps"].items()} == {"0": 1, "1": 1, "2": 2}
    visual = found["kind"]["visual"]
    assert visual.teacher == pytest.approx(5 / 6)
    assert visual.static_best == pytest.approx(4 / 6)
    assert visual.oracle == 1.0
    assert visual.regret == pytest.approx(0.05)
    assert visual.minus_static_best.mean == pytest.approx(1 / 6)


def test_folds_are_pooled_request_by_request() -> None:
    once, twice = taught(), pool_taught([taught(), taught()])
    assert len(twice.queries) == len(twice.answers) == 8
    assert np.array_equal(twice.at_k["teacher"], np.tile(once.at_k["teacher"], (2, 1)))
    assert len(twice.ranks.real_mm) == 4
    assert hardness(twice.ranks)["text"].distance == 0.75
