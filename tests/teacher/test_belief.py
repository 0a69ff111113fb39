"""Beliefs: votes decide alpha, utility decides K."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.retrieval.replay import TargetRanks, price, recall_surfaces
from adamroute.teacher.belief import (
    Belief,
    alpha_votes,
    evidence_belief,
    mixture,
    undecided,
)
from adamroute.theta import Bins, Theta

BINS = Bins(40)  # budgets 20 and 40


def split_ranks(text: list[int], mm: list[int]) -> TargetRanks:
    """Nothing is said of fused retrieval."""
    return TargetRanks(np.array(text), np.array(mm), np.ones((len(text), 11), np.int64))


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
    surfaces = recall_surfaces(split_ranks([10, 10_000], [10_000, 10]), Bins(20))
    votes = alpha_votes(surfaces, Bins(20), 0.0)
    held = mixture(np.array([0.51, 0.49]), votes, surfaces)
    assert int(surfaces.mean(axis=0).argmax()) in range(3, 8)
    assert held.theta(Bins(20), 0.0).alpha >= 0.9


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
    assert held.theta(bins, 0.0) == Theta(0.8, 20)


def test_where_nothing_is_known_one_half_is_held() -> None:
    surface = np.random.default_rng(0).random(BINS.shape)
    held = undecided(surface)
    assert held.votes.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert held.surface is surface
    assert held.theta(BINS, 0.0).alpha == 0.5


def test_without_trust_every_vote_is_for_one_half() -> None:
    held = belief({0: 0.7, 9: 0.3}).trusted(0.0)
    assert held.votes.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert held.theta(BINS, 0.0) == Theta(0.5, 20)


def test_full_trust_leaves_the_votes_as_they_are() -> None:
    before = belief({0: 0.25, 3: 0.5, 10: 0.25})
    assert before.trusted(1.0).votes.tolist() == before.votes.tolist()
    assert before.trusted(1.0).surface is before.surface


def test_half_trust_moves_votes_half_the_way_between_two_bins_to_both_by_nearness() -> None:
    # 1.0 comes to .75, half to .7 and half to .8; .1 to .3; .5 stays. At trust .75, 0 to .125.
    held = belief({10: 0.6, 1: 0.3, 5: 0.1}).trusted(0.5)
    assert held.votes.tolist() == pytest.approx([0, 0, 0, 0.3, 0, 0.1, 0, 0.3, 0.3, 0, 0])
    low = belief({0: 1.0}).trusted(0.75)
    assert low.votes.tolist() == pytest.approx([0, 0.75, 0.25, 0, 0, 0, 0, 0, 0, 0, 0])


@given(st.lists(st.floats(0, 1), min_size=11, max_size=11), st.floats(0, 1))
def test_trust_keeps_the_mass_of_the_votes_and_draws_their_mean_towards_one_half(
    raw: list[float], trust: float
) -> None:
    votes = (np.array(raw) + 0.01) / (sum(raw) + 0.11)
    held = Belief(votes, np.full(BINS.shape, 0.5)).trusted(trust)
    assert held.votes.sum() == pytest.approx(1.0)
    assert held.votes.min() >= 0.0
    alphas = np.arange(11) / 10
    assert held.votes @ alphas - 0.5 == pytest.approx(trust * (votes @ alphas - 0.5), abs=1e-9)
