"""Measures of one answer, each expected value written as the sum it is."""

import numpy as np
import pytest

from adamroute.distill.evaluation.metrics import auc, hr_at, intervals, kl_divergence, ndcg_at

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


def test_intervals_hold_the_mean_and_shrink_to_a_point_where_users_agree() -> None:
    columns = np.stack([np.tile([0.0, 1.0], 50), np.ones(100)], axis=1)
    users = [f"u{i // 2}" for i in range(100)]  # every user has one hit and one miss
    assert intervals(columns, users, 0) == ((0.5, 0.5), (1.0, 1.0))
    alone = [f"u{i}" for i in range(100)]
    (low, high), _ = intervals(columns, alone, 0)
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(100), rel=0.1)
