"""From a distribution over alpha to the alpha that is served."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.leaning import HALF_WORTH, LEAST_SCALE, LOGGED, WRITTEN, Leaning, reach_with
from adamroute.theta import ALPHAS
from tests.leanings import AS_MEAN


def at(*bins: int) -> np.ndarray:
    """Mass spread evenly over some bins."""
    return np.isin(np.arange(11), bins) / len(bins)


def test_a_usual_request_goes_as_far_as_the_evidence_reaches_and_others_in_proportion() -> None:
    held = Leaning(scale=0.2, reach=0.3)
    assert ALPHAS[held.bin(at(7))] == 0.8
    assert ALPHAS[held.bin(at(3))] == 0.2
    assert ALPHAS[held.bin(at(6))] in (0.6, 0.7)  # .65 lies between two bins
    assert ALPHAS[held.bin(at(5))] == 0.5
    assert ALPHAS[held.bin(at(10))] == 0.8  # no further, however sure


def test_the_mean_decides_and_not_the_likeliest_alpha() -> None:
    probs = 0.4 * at(0) + 0.6 * at(7)
    assert ALPHAS[AS_MEAN.bin(probs)] == 0.4


def test_the_scale_is_how_far_the_shops_requests_usually_lie_from_one_half() -> None:
    even = Leaning.of(np.stack([at(2), at(8)]), 0.3)
    assert even.scale == pytest.approx(0.3)
    assert even.reach == 0.3
    one_sided = Leaning.of(np.stack([at(5), at(9)]), 0.3)
    assert one_sided.scale == pytest.approx((0.16 / 2) ** 0.5)


def test_requests_that_are_all_alike_or_absent_have_a_scale_too() -> None:
    assert Leaning.of(np.stack([at(5)] * 3), 0.3).scale == LEAST_SCALE
    nothing = Leaning.of(np.empty((0, 11)), 0.3)
    assert nothing.scale == 1.0
    assert ALPHAS[nothing.bin(at(0))] in (0.3, 0.4)


@given(st.lists(st.floats(0, 1), min_size=11, max_size=11), st.floats(0.01, 1), st.floats(0, 0.5))
def test_alpha_never_leaves_the_reach(raw: list[float], scale: float, reach: float) -> None:
    probs = (np.array(raw) + 0.01) / (sum(raw) + 0.11)
    alpha = ALPHAS[Leaning(scale=scale, reach=reach).bin(probs)]
    assert abs(alpha - 0.5) <= reach + 0.05 + 1e-9  # half a bin of rounding


def test_an_alpha_that_somebody_says_is_kept_within_reach() -> None:
    held = Leaning(scale=0.2, reach=0.3)
    assert [held.within(alpha) for alpha in (0.0, 0.2, 0.61, 1.0)] == [0.2, 0.2, 0.61, 0.8]


@given(st.integers(0, 10_000))
def test_reach_grows_with_real_requests(logged: int) -> None:
    assert WRITTEN <= reach_with(logged) < reach_with(logged + 1) <= LOGGED
    assert reach_with(0) == pytest.approx(WRITTEN)
    assert reach_with(HALF_WORTH) == pytest.approx((WRITTEN + LOGGED) / 2)
