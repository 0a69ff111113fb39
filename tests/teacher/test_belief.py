"""Beliefs: votes lean alpha, utility decides K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.leaning import Leaning
from adamroute.retrieval.replay import TargetRanks, price, recall_surfaces
from adamroute.teacher.belief import (
    Belief,
    alpha_votes,
    evidence_belief,
    mixture,
    undecided,
)
from adamroute.theta import Bins, Theta
from tests.leanings import ALL_THE_WAY, AS_MEAN

BINS = Bins(40)  # budgets 20 and 40


def split_ranks(text: list[int], mm: list[int]) -> TargetRanks:
    """Nothing is said of fused retrieval."""
    return TargetRanks(np.array(text), np.array(mm), np.ones((len(text), 11), np.int64))


def belief(votes: dict[int, float], surface: float = 0.5) -> Belief:
    counted = np.zeros(11)
    for place, share in votes.items():
        counted[place] = share
    return Belief(counted, np.full(BINS.shape, surface))


def test_the_votes_say_which_way_whatever_the_mean_surface_likes() -> None:
    held = belief({2: 0.75, 8: 0.25})  # their mean is .35
    held.surface[8] = 0.9
    assert held.theta(BINS, 0.1, ALL_THE_WAY) == Theta(0.0, 20)
    assert held.theta(BINS, 0.1, Leaning(scale=0.15, reach=0.2)) == Theta(0.3, 20)


def test_k_is_the_best_at_that_alpha_for_its_price() -> None:
    held = belief({2: 1.0})
    held.surface[2] = 0.5, 0.6  # K = 40 gains .1 and costs lambda / 2 more
    assert held.theta(BINS, 0.19, AS_MEAN) == Theta(0.2, 40)
    assert held.theta(BINS, 0.21, AS_MEAN) == Theta(0.2, 20)


def test_votes_that_cancel_give_one_half_and_ties_the_smaller_k() -> None:
    assert belief({1: 0.5, 9: 0.5}).theta(BINS, 0.0, ALL_THE_WAY) == Theta(0.5, 20)


def test_rows_that_need_one_branch_and_fewer_that_need_the_other_lean_to_the_first() -> None:
    # The mean of the surfaces is highest in the middle, where each row gets a half.
    surfaces = recall_surfaces(split_ranks([10, 10, 10_000], [10_000, 10_000, 10]), Bins(20))
    votes = alpha_votes(surfaces, Bins(20), 0.0)
    held = mixture(np.ones(3), votes, surfaces)
    assert int(surfaces[1:].mean(axis=0).argmax()) in range(3, 8)
    assert held.theta(Bins(20), 0.0, ALL_THE_WAY).alpha == 1.0


@given(st.integers(1, 3000), st.integers(1, 3000), st.floats(0.0, 2.0))
def test_votes_of_a_row_are_a_distribution(text: int, mm: int, lam: float) -> None:
    surfaces = recall_surfaces(split_ranks([text], [mm]), BINS)
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


def test_fused_evidence_votes_for_the_alphas_at_which_its_item_ranks_well() -> None:
    bins = Bins(20, "fused")
    ranks = np.full((2, 11), 200)
    ranks[:, 8] = 10  # both rows are found at alpha .8 alone
    held = evidence_belief(TargetRanks(ranks[:, 10], ranks[:, 0], ranks), bins, 0.0)
    assert held.surface[8, 0] == pytest.approx(1 / (1 + (10 / 20) ** 2))
    assert held.surface[0, 0] == pytest.approx(1 / (1 + (200 / 20) ** 2))
    # soft labels at temperature .05: exp(.8 / .05) against exp(.0099 / .05) at the ten others
    wanted = 1 / (1 + 10 * np.exp((1 / 101 - 0.8) / 0.05))
    assert held.votes[8] == pytest.approx(wanted)
    assert held.theta(bins, 0.0, AS_MEAN) == Theta(0.8, 20)


def test_where_nothing_is_known_one_half_is_held() -> None:
    surface = np.random.default_rng(0).random(BINS.shape)
    held = undecided(surface)
    assert held.votes.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert held.surface is surface
    assert held.theta(BINS, 0.0, ALL_THE_WAY).alpha == 0.5
