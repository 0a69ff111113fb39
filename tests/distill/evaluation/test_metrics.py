"""Measures of one answer, each expected value written as the sum it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from adamroute.distill.evaluation.metrics import auc, hr_at, kl_divergence, ndcg_at, placed

RANKS = np.array([1.0, 2.0, 3.0, 20.0, 21.0, np.inf])


def test_hr_counts_the_items_within_the_first_k() -> None:
    assert hr_at(RANKS, 20).mean() == pytest.approx((1 + 1 + 1 + 1 + 0 + 0) / 6)


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    gains = [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 1 / np.log2(21), 0, 0]
    assert ndcg_at(RANKS, 20) == pytest.approx(gains)
    assert ndcg_at(RANKS, 20).mean() == pytest.approx(sum(gains) / 6)


def test_auc_is_the_share_of_pairs_in_the_right_order_with_ties_half() -> None:
    scores, positive = np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False])
    assert auc(scores, positive) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


def test_auc_of_one_class_alone_is_none() -> None:
    assert auc(np.array([0.1, 0.2]), np.array([True, True])) is None


def test_kl_is_zero_for_equals_and_the_sum_of_p_log_ratio_otherwise() -> None:
    truth, guess = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.25, 0.75]])
    assert kl_divergence(truth, guess) == pytest.approx([0.0, 1.0 * np.log(1.0 / 0.25)])


places = st.lists(st.integers(1, 60) | st.just(float("inf")), min_size=1, max_size=30).map(
    lambda values: np.array(values, np.float64)
)


@given(places)
def test_metrics_of_places_lie_in_order(found: np.ndarray) -> None:
    mean = {name: of(found).mean() for name, of in placed().items()}
    assert 0.0 <= mean["ndcg@20"] <= mean["hr@20"] <= mean["hr@40"] <= 1.0
    assert mean["ndcg@20"] <= mean["ndcg@40"] <= mean["hr@40"]


@given(places)
def test_one_place_nearer_never_lowers_a_metric(found: np.ndarray) -> None:
    nearer = np.maximum(found - 1.0, 1.0)
    assert all(np.all(of(nearer) >= of(found)) for of in placed().values())


@given(st.permutations(range(25)), st.integers(0, 24))
def test_ndcg_is_that_of_scikit_learn_where_one_item_is_relevant(
    order: list[int], target: int
) -> None:
    values = np.array(order, np.float64)
    truth = np.zeros((1, 25))
    truth[0, target] = 1.0
    place = np.array([1.0 + (values > values[target]).sum()])
    assert ndcg_at(place, 20)[0] == pytest.approx(ndcg_score(truth, values[None], k=20))
