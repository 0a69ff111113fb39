"""Beliefs: votes decide alpha, utility decides K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.retrieval.replay import price, recall_surfaces
from adamroute.teacher.belief import Belief, alpha_votes, mixture
from adamroute.theta import Bins, Theta

BINS = Bins(40)  # budgets 20 and 40


def belief(votes: dict[int, float], surface: float = 0.5) -> Belief:
    counted = np.zeros(11)
    for place, share in votes.items():
        counted[place] = share
    return Belief(counted, np.full(BINS.shape, surface))


def test_the_alpha_with_most_votes_wins_whatever_the_mean_surface_likes() -> None:
    held = belief({2: 0.6, 8: 0.4})
    held.surface[8] = 0.9
    assert held.theta(BINS, 0.1) == Theta(0.2, 20)


def test_k_is_the_best_at_that_alpha_for_its_price() -> None:
    held = belief({2: 1.0})
    held.surface[2] = 0.5, 0.6  # K = 40 gains .1 and costs lambda / 2 more
    assert held.theta(BINS, 0.19) == Theta(0.2, 40)
    assert held.theta(BINS, 0.21) == Theta(0.2, 20)


def test_ties_go_to_the_alpha_nearest_the_middle_and_the_smaller_k() -> None:
    assert belief({1: 0.5, 7: 0.5}).theta(BINS, 0.0) == Theta(0.7, 20)
    assert belief({4: 0.5, 6: 0.5}).theta(BINS, 0.0) == Theta(0.4, 20)


def test_two_rows_that_need_opposite_branches_elect_an_end_not_the_middle() -> None:
    # The mean of the two surfaces is highest in the middle: (.5 + .5) / 2 there, .4 at an end.
    surfaces = recall_surfaces(np.array([10, 10_000]), np.array([10_000, 10]), Bins(20))
    votes = alpha_votes(surfaces, Bins(20), 0.0)
    held = mixture(np.array([0.51, 0.49]), votes, surfaces)
    assert int(surfaces.mean(axis=0).argmax()) in range(3, 8)
    assert held.theta(Bins(20), 0.0).alpha >= 0.9


@given(st.integers(1, 3000), st.integers(1, 3000), st.floats(0.0, 2.0))
def test_votes_of_a_row_are_a_distribution(text: int, mm: int, lam: float) -> None:
    surfaces = recall_surfaces(np.array([text]), np.array([mm]), BINS)
    votes = alpha_votes(surfaces, BINS, lam)
    assert votes.sum() == pytest.approx(1.0)
    best = (surfaces[0] - price(BINS, lam)).max(axis=1)
    assert votes[0].max() - votes[0][int(best.argmax())] < 0.5  # K shares votes, alpha leads


def test_a_mixture_weighs_its_rows() -> None:
    rows = mixture(
        np.array([3.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[[1.0]], [[0.0]]])
    )
    assert rows.votes.tolist() == [0.75, 0.25]
    assert rows.surface.tolist() == [[0.75]]
