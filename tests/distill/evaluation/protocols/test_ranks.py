"""Places and measures, worked by hand and as laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from adamroute.distill.evaluation.protocols.ranks import (
    Answer,
    Measures,
    answer_of,
    measures,
    median,
)
from adamroute.errors import RequestError

ranks = st.lists(st.integers(1, 60) | st.just(float("inf")), min_size=1, max_size=30).map(
    lambda values: np.array(values, np.float64)
)


def test_a_tie_is_lost_and_an_absent_item_has_no_place() -> None:
    answer = Answer(("a", "b", "c", "d"), np.array([3.0, 2.0, 2.0, 1.0]))
    assert [answer.rank(item) for item in "abcd"] == [1.0, 3.0, 3.0, 4.0]
    assert answer.rank("x") == np.inf


def test_items_in_any_order_come_best_first() -> None:
    assert answer_of(["a", "b", "c"], np.array([1.0, 3.0, 1.0])).ids == ("b", "a", "c")


@pytest.mark.parametrize(
    ("ids", "values"),
    [
        (("a", "a"), [2.0, 1.0]),
        (("a", "b"), [1.0]),
        (("a", "b"), [1.0, 2.0]),
        (("a", "b"), [1.0, np.nan]),
    ],
)
def test_what_is_no_ranking_is_refused(ids: tuple[str, ...], values: list[float]) -> None:
    with pytest.raises(RequestError):
        Answer(ids, np.array(values))


def test_measures_are_means_over_requests() -> None:
    found = measures(np.array([1.0, 3.0, 20.0, 21.0, 41.0, np.inf]))
    gains = [1.0, 1 / 2.0, 1 / np.log2(21)]
    assert (found.hr20, found.hr40) == (3 / 6, 4 / 6)
    assert found.ndcg20 == pytest.approx(sum(gains) / 6)
    assert found.ndcg40 == pytest.approx((sum(gains) + 1 / np.log2(22)) / 6)


def test_copies_count_a_request_as_often_as_its_row_stands_there() -> None:
    found = measures(np.array([1.0, np.inf]), np.array([3, 1]))
    assert (found.hr20, found.ndcg20) == (3 / 4, 3 / 4)


def test_the_median_is_taken_measure_by_measure() -> None:
    trials = [Measures(0.1, 0.5, 0.3, 0.2), Measures(0.3, 0.4, 0.1, 0.9), Measures(0.2, 0.6, 0, 0)]
    assert median(trials) == Measures(0.2, 0.5, 0.1, 0.2)
    assert median(trials).spoken() == {
        "hr@20": 0.2, "hr@40": 0.5, "ndcg@20": 0.1, "ndcg@40": 0.2,
    }  # fmt: skip


@given(ranks)
def test_measures_lie_in_order(found: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    made = measures(found)
    assert 0.0 <= made.ndcg20 <= made.hr20 <= made.hr40 <= 1.0
    assert made.ndcg20 <= made.ndcg40 <= made.hr40


@given(ranks, st.integers(1, 4))
def test_counting_every_request_equally_often_changes_nothing(
    found: np.ndarray[tuple[int], np.dtype[np.float64]], often: int
) -> None:
    counted = measures(found, np.full(len(found), often))
    assert counted.spoken() == pytest.approx(measures(found).spoken())


@given(ranks)
def test_one_place_nearer_never_lowers_a_measure(
    found: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    nearer, before = measures(np.maximum(found - 1.0, 1.0)).spoken(), measures(found).spoken()
    assert all(nearer[name] >= before[name] for name in before)


@given(st.permutations(range(25)), st.integers(0, 24))
def test_ndcg_is_that_of_scikit_learn_where_one_item_is_relevant(
    order: list[int], target: int
) -> None:
    values = np.array(order, np.float64)
    answer = answer_of([str(item) for item in range(25)], values)
    truth = np.zeros((1, 25))
    truth[0, target] = 1.0
    found = measures(np.array([answer.rank(str(target))]))
    assert found.ndcg20 == pytest.approx(ndcg_score(truth, values[None], k=20))
