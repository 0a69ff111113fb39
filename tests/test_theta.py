import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import ThetaError
from adamroute.theta import ALPHAS, BUDGETS, Bins, Theta


@given(st.floats(0, 1), st.integers(1, 5000))
def test_the_split_always_sums_to_the_budget(alpha: float, budget: int) -> None:
    n_text, n_mm = Theta(alpha, budget).split()
    assert n_text + n_mm == budget
    assert n_text >= 0
    assert n_mm >= 0


@pytest.mark.parametrize(
    ("alpha", "budget", "split"),
    [
        (0.0, 20, (0, 20)),
        (1.0, 20, (20, 0)),
        (0.5, 5, (3, 2)),  # 2.5 rounds up, to text
        (0.35, 10, (4, 6)),  # 3.5, although the float product is 3.4999999999999996
        (0.34, 10, (3, 7)),
    ],
)
def test_halves_go_to_text(alpha: float, budget: int, split: tuple[int, int]) -> None:
    assert Theta(alpha, budget).split() == split


@pytest.mark.parametrize(("alpha", "budget"), [(-0.1, 5), (1.1, 5), (0.5, 0), (float("nan"), 5)])
def test_a_theta_out_of_range_is_refused_at_birth(alpha: float, budget: int) -> None:
    with pytest.raises(ThetaError, match="need 0 <= alpha <= 1 and budget >= 1"):
        Theta(alpha, budget)


def test_budgets_are_cut_at_tau() -> None:
    assert Bins(200).budgets == (20, 40, 80, 120, 200)
    assert Bins(1000).budgets == BUDGETS
    assert Bins(7).budgets == (7,)
    with pytest.raises(ThetaError, match="tau = 0"):
        Bins(0)


def test_the_grid_of_shares_sums_to_the_budgets() -> None:
    bins = Bins(200)
    assert bins.shape == (11, 5)
    assert np.array_equal((bins.n_text + bins.n_mm)[3], bins.budgets)
    assert bins.theta(3, 1) == Theta(0.3, 40)
    assert bins.n_text[3, 1] == 12


def test_ties_go_to_the_smallest_budget_then_to_the_alpha_nearest_one_half() -> None:
    bins = Bins(40)
    flat = np.zeros(bins.shape)
    assert bins.best(flat) == (5, 0)
    flat[[2, 9], 1] = 1.0
    assert bins.best(flat) == (2, 1)  # .2 is .3 from one half, .9 is .4
    flat[[4, 6], 1] = 2.0
    assert bins.best(flat) == (4, 1)  # equally near: the smaller
    with pytest.raises(ThetaError, match="the bins are"):
        bins.best(np.zeros((11, 5)))


def test_alphas_are_exact_tenths() -> None:
    assert ALPHAS == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
