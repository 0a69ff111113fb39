import numpy as np
import pytest

from adamroute.stats import bootstrap_means, interval


def test_one_user_leaves_nothing_to_resample() -> None:
    means = bootstrap_means(np.array([0.0, 1.0, 1.0]), ["a", "a", "a"], seed=0)
    assert interval(means) == pytest.approx((2 / 3, 2 / 3))


def test_columns_share_their_draws_so_a_constant_difference_has_no_width() -> None:
    rng = np.random.default_rng(1)
    first = rng.normal(size=200)
    users = [str(i // 4) for i in range(200)]
    means = bootstrap_means(np.stack([first, first + 0.3], axis=1), users, seed=0)
    assert interval(means[:, 1] - means[:, 0]) == pytest.approx((0.3, 0.3))
    low, high = interval(means[:, 0])
    assert low < first.mean() < high


def test_the_interval_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(2).normal(size=400)
    low, high = interval(bootstrap_means(values, [str(i) for i in range(400)], seed=3))
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.15)
