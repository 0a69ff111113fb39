import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import LabelError
from adamroute.retrieval import replay
from adamroute.theta import ALPHAS, Bins, Theta


def test_an_item_is_recalled_when_either_branch_reaches_it() -> None:
    text, mm = np.array([3, 4, 9]), np.array([9, 8, 2])
    hits = replay.recalled(text, mm, Theta(0.3, 10))  # 3 from text, 7 from multimodal
    assert hits.tolist() == [True, False, True]


def test_soft_hit_is_the_logistic_of_the_log_ratio() -> None:
    for rank, n in [(1, 20), (20, 20), (37, 8), (5, 0)]:
        ratio = (math.log(rank) - math.log(max(n, 0.5))) / 0.5
        wanted = 1 / (1 + math.exp(ratio))
        assert replay.soft_hit(np.array(rank), np.array(n)) == pytest.approx(wanted)


def test_recall_surface_worked_by_hand() -> None:
    surface = replay.recall_surfaces(np.array([8]), np.array([6]), Bins(20))[0]
    # alpha .4 of 20: 8 from text, 12 from multimodal
    assert surface[4, 0] == pytest.approx(1 - (1 - 1 / (1 + 1.0)) * (1 - 1 / (1 + 0.25)))
    # alpha 0: nothing from text, where max(n, .5) leaves (8 / .5)^2 = 256
    assert surface[0, 0] == pytest.approx(1 - (1 - 1 / 257) * (1 - 1 / (1 + 0.09)))


@given(
    st.floats(1, 3000), st.floats(1, 3000), st.sampled_from(ALPHAS), st.sampled_from((20, 40, 80))
)
def test_a_theta_on_the_grid_has_the_value_of_its_bin(
    text: float, mm: float, alpha: float, budget: int
) -> None:
    bins = Bins(200)
    surface = replay.recall_surfaces(np.array([text]), np.array([mm]), bins)[0]
    at = replay.recall_at(np.array([text]), np.array([mm]), Theta(alpha, budget))[0]
    assert at == pytest.approx(surface[ALPHAS.index(alpha), bins.budgets.index(budget)])


@given(st.integers(1, 3000), st.integers(1, 3000), st.floats(0, 1), st.integers(1, 200))
def test_regret_is_never_negative(text: int, mm: int, alpha: float, budget: int) -> None:
    assert replay.regret(text, mm, Theta(alpha, budget)) >= 0.0


def test_the_best_alpha_has_no_regret_and_the_worst_has_much() -> None:
    assert replay.regret(1, 2000, Theta(1.0, 20)) == 0.0
    assert replay.regret(1, 2000, Theta(0.0, 20)) == pytest.approx(
        1 / (1 + 1 / 400) - 0.2, abs=1e-3
    )


def test_ranks_below_one_are_refused() -> None:
    with pytest.raises(LabelError, match="ranks >= 1"):
        replay.recall_surfaces(np.array([0]), np.array([1]), Bins(20))


def test_soft_labels_are_a_softmax_over_all_bins() -> None:
    labels = replay.soft_labels(np.array([[0.0, 0.05], [0.0, 0.0]]), temperature=0.05)
    assert labels.sum() == pytest.approx(1.0)
    assert labels[0, 1] == pytest.approx(math.e / (math.e + 3))


@given(st.integers(0, 2**32 - 1), st.sampled_from((20.0, 33.0, 60.0, 150.0, 200.0)))
def test_the_price_makes_the_mean_budget_what_was_asked_at_most(seed: int, wanted: float) -> None:
    bins = Bins(200)
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, 400, (2, 60))
    surfaces = replay.recall_surfaces(ranks[0], ranks[1], bins)
    lam = replay.solve_price(surfaces, bins, wanted)
    chosen = [bins.best(s - replay.price(bins, lam))[1] for s in surfaces]
    assert np.mean([bins.budgets[k] for k in chosen]) <= wanted
    if lam > 1e-5:  # a cheaper price would overspend
        cheaper = [bins.best(s - replay.price(bins, lam - 2e-6))[1] for s in surfaces]
        assert np.mean([bins.budgets[k] for k in cheaper]) > wanted


def test_a_mean_budget_outside_the_bins_is_refused() -> None:
    with pytest.raises(LabelError, match="must lie between 20 and 200"):
        replay.solve_price(np.zeros((1, 11, 5)), Bins(200), 300)
