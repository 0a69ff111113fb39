"""Difficulty matching: equal mean log-ranks, nothing below rank 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import LabelError
from adamroute.teacher.difficulty import Difficulty, match_factor

RANKS = st.lists(st.integers(1, 5000), min_size=1, max_size=30)


def ranks(*values: int) -> "np.typing.NDArray[np.int64]":
    return np.array(values, dtype=np.int64)


def test_a_factor_above_one_is_the_ratio_of_geometric_means() -> None:
    # geometric means: sqrt(1 * 4) = 2 and sqrt(8 * 18) = 12
    assert match_factor(ranks(1, 4), ranks(8, 18)) == pytest.approx(6.0)


def test_a_factor_below_one_makes_up_for_ranks_that_cannot_fall_below_one() -> None:
    # only the 16 can move: ln(16 f) / 2 = ln 2 gives f = 1/4, where the plain ratio is 1/2
    assert match_factor(ranks(1, 16), ranks(2, 2)) == pytest.approx(0.25)


def test_a_shop_without_real_queries_or_without_templates_gets_one() -> None:
    assert match_factor(ranks(3, 9), ranks()) == match_factor(ranks(), ranks(2)) == 1.0


@given(RANKS, RANKS)
def test_matched_mean_log_ranks_are_equal(template: list[int], real: list[int]) -> None:
    factor = match_factor(ranks(*template), ranks(*real))
    matched, _ = Difficulty(factor, 1.0).matched(ranks(*template), ranks(*template))
    assert matched.min() >= 1.0
    assert np.log(matched).mean() == pytest.approx(np.log(real).mean(), abs=1e-6)


def test_each_branch_has_its_own_factor() -> None:
    text, mm = Difficulty(2.0, 0.25).matched(ranks(3, 1), ranks(2, 8))
    assert text.tolist() == [6.0, 2.0]
    assert mm.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_must_be_positive_and_finite(factor: float) -> None:
    with pytest.raises(LabelError, match="positive"):
        Difficulty(text=factor)
