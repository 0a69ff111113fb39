"""Replay: what stored ranks say of any theta, split or fused, worked by hand."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import LabelError
from adamroute.retrieval import replay
from adamroute.retrieval.replay import TargetRank, TargetRanks
from adamroute.theta import ALPHAS, Bins, Combine, Theta

COMBINES: tuple[Combine, ...] = get_args(Combine)
RANK = st.integers(1, 3000)
# Where one item ranks at alpha 0, .1, ... 1: third by photos, fiftieth by text, best at .3.
FUSED = (3, 2, 2, 1, 4, 8, 15, 20, 30, 40, 50)


def branches(text: list[float], mm: list[float]) -> TargetRanks:
    """Ranks of a split; nothing is said of fused retrieval."""
    return TargetRanks(np.array(text), np.array(mm), np.ones((len(text), len(ALPHAS))))


def fused(*rows: tuple[float, ...]) -> TargetRanks:
    """Ranks of fused retrieval, whose ends are those of the branches."""
    whole = np.array(rows)
    return TargetRanks(whole[:, -1], whole[:, 0], whole)


def test_an_item_is_recalled_when_either_branch_reaches_it() -> None:
    ranks = branches([3, 4, 9], [9, 8, 2])
    hits = replay.recalled(ranks, Theta(0.3, 10), "split")  # 3 from text, 7 from multimodal
    assert hits.tolist() == [True, False, True]


def test_a_fused_item_is_recalled_when_its_rank_at_that_alpha_is_within_the_budget() -> None:
    ranks = fused(FUSED, tuple(reversed(FUSED)))
    assert replay.recalled(ranks, Theta(0.3, 10), "fused").tolist() == [True, False]  # 1 and 20
    assert replay.recalled(ranks, Theta(0.6, 15), "fused").tolist() == [True, True]  # 15 and 4
    assert replay.recalled(ranks, Theta(0.6, 14), "fused").tolist() == [False, True]
    assert replay.recalled(ranks, Theta(1.0, 3), "fused").tolist() == [False, True]  # 50 and 3


def test_an_alpha_between_the_bins_is_taken_for_the_nearest() -> None:
    ranks = fused(FUSED)
    for alpha, rank in [(0.44, 4), (0.46, 8), (0.97, 50), (0.04, 3)]:
        assert replay.recalled(ranks, Theta(alpha, rank), "fused").tolist() == [True]
        if rank > 1:
            assert replay.recalled(ranks, Theta(alpha, rank - 1), "fused").tolist() == [False]
        at = replay.recall_at(ranks, [Theta(alpha, 20)], "fused")
        assert at.tolist() == pytest.approx([1 / (1 + (rank / 20) ** 2)])


def test_soft_hit_is_the_logistic_of_the_log_ratio() -> None:
    for rank, n in [(1, 20), (20, 20), (37, 8), (5, 0)]:
        ratio = (math.log(rank) - math.log(max(n, 0.5))) / 0.5
        wanted = 1 / (1 + math.exp(ratio))
        assert replay.soft_hit(np.array(rank), np.array(n)) == pytest.approx(wanted)


def test_recall_surface_worked_by_hand() -> None:
    surface = replay.recall_surfaces(branches([8], [6]), Bins(20))[0]
    # alpha .4 of 20: 8 from text, 12 from multimodal
    assert surface[4, 0] == pytest.approx(1 - (1 - 1 / (1 + 1.0)) * (1 - 1 / (1 + 0.25)))
    # alpha 0: nothing from text, where max(n, .5) leaves (8 / .5)^2 = 256
    assert surface[0, 0] == pytest.approx(1 - (1 - 1 / 257) * (1 - 1 / (1 + 0.09)))


def test_a_fused_surface_is_the_soft_hit_of_the_rank_at_each_alpha() -> None:
    bins = Bins(40, "fused")
    surfaces = replay.recall_surfaces(fused(FUSED, (1,) * 11), bins)
    assert surfaces.shape == (2, *bins.shape) == (2, 11, 2)
    assert surfaces[0, 0].tolist() == pytest.approx([1 / (1 + 0.15**2), 1 / (1 + 0.075**2)])
    assert surfaces[0, 7].tolist() == pytest.approx([1 / 2, 1 / (1 + 0.25)])  # rank 20
    assert surfaces[0, 10].tolist() == pytest.approx([1 / (1 + 2.5**2), 1 / (1 + 1.25**2)])
    assert surfaces[1, :, 0].tolist() == pytest.approx([1 / (1 + 0.05**2)] * 11)


@given(RANK, RANK, st.lists(RANK, min_size=11, max_size=11), st.sampled_from(COMBINES),
       st.sampled_from(ALPHAS), st.sampled_from((20, 40, 80)))  # fmt: skip
def test_a_theta_on_the_grid_has_the_value_of_its_bin(
    text: int, mm: int, both: list[int], combine: Combine, alpha: float, budget: int
) -> None:
    bins = Bins(200, combine)
    ranks = TargetRanks(np.array([text + 0.5]), np.array([mm + 0.25]), np.array([both]) + 0.75)
    surface = replay.recall_surfaces(ranks, bins)[0]
    at = replay.recall_at(ranks, [Theta(alpha, budget)], combine)[0]
    assert at == pytest.approx(surface[ALPHAS.index(alpha), bins.budgets.index(budget)])


@given(RANK, RANK, st.lists(RANK, min_size=11, max_size=11), st.sampled_from(COMBINES),
       st.floats(0, 1), st.integers(1, 200))  # fmt: skip
def test_regret_is_never_negative(
    text: int, mm: int, both: list[int], combine: Combine, alpha: float, budget: int
) -> None:
    ranks = TargetRanks.of([TargetRank(text, mm, tuple(both))])
    assert replay.regrets(ranks, [Theta(alpha, budget)], combine)[0] >= 0.0


def test_the_best_alpha_has_no_regret_and_the_worst_has_much() -> None:
    ranks = branches([1, 1], [2000, 2000])
    best, worst = replay.regrets(ranks, [Theta(1.0, 20), Theta(0.0, 20)], "split")
    assert best == 0.0
    # All of 20 by text find rank 1: 1 / (1 + 1 / 400); none by text: 1 / (1 + (1 / .5)^2) = .2.
    assert worst == pytest.approx(1 / (1 + 1 / 400) - 0.2, abs=1e-3)


def test_fused_regrets_are_measured_against_the_best_alpha_of_each_row_at_its_own_budget() -> None:
    flat = (10,) * 11
    ranks = fused(FUSED, FUSED, FUSED, flat)
    thetas = [Theta(0.3, 20), Theta(0.7, 20), Theta(1.0, 40), Theta(0.5, 20)]
    best_20, best_40 = 1 / (1 + (1 / 20) ** 2), 1 / (1 + (1 / 40) ** 2)  # rank 1, at alpha .3
    wanted = [0.0, best_20 - 1 / 2, best_40 - 1 / (1 + (50 / 40) ** 2), 0.0]
    assert replay.regrets(ranks, thetas, "fused").tolist() == pytest.approx(wanted)


def test_no_rows_have_no_regrets() -> None:
    nothing = TargetRanks.of([])
    assert (len(nothing), nothing.fused.shape) == (0, (0, 11))
    for combine in COMBINES:
        assert replay.regrets(nothing, [], combine).tolist() == []
        assert replay.recall_surfaces(nothing, Bins(20, combine)).shape == (0, 11, 1)
        assert replay.recalled(nothing, Theta(0.5, 20), combine).tolist() == []


def test_ranks_are_taken_apart_and_put_together_row_by_row() -> None:
    rows = [TargetRank(n, n + 10, tuple(range(n, n + 11))) for n in (1, 2, 3)]
    whole = TargetRanks.of(rows)
    assert whole.each() == rows
    assert whole.take(np.array([2, 0])).each() == [rows[2], rows[0]]
    assert whole.take(np.array([False, True, False])).each() == [rows[1]]
    joined = TargetRanks.joined([TargetRanks.of([]), whole, TargetRanks.of(rows[:1])])
    assert joined.each() == [*rows, rows[0]]


@pytest.mark.parametrize("spoiled", ["text", "mm", "fused"])
def test_ranks_below_one_are_refused(spoiled: str) -> None:
    whole = {"text": np.array([1]), "mm": np.array([1]), "fused": np.ones((1, 11), int)}
    whole[spoiled] = 0 * whole[spoiled]
    with pytest.raises(LabelError, match="numbers >= 1"):
        replay.recall_surfaces(TargetRanks(**whole), Bins(20))


def test_soft_labels_are_a_softmax_over_all_bins() -> None:
    labels = replay.soft_labels(np.array([[0.0, 0.05], [0.0, 0.0]]), temperature=0.05)
    assert labels.sum() == pytest.approx(1.0)
    assert labels[0, 1] == pytest.approx(math.e / (math.e + 3))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((20.0, 33.0, 60.0, 150.0, 200.0)),
    st.sampled_from(COMBINES),
)
def test_the_price_makes_the_mean_budget_what_was_asked_at_most(
    seed: int, wanted: float, combine: Combine
) -> None:
    bins = Bins(200, combine)
    rng = np.random.default_rng(seed)
    ranks = rng.integers(1, 400, (2, 60))
    both = rng.integers(1, 400, (60, 11))
    surfaces = replay.recall_surfaces(TargetRanks(ranks[0], ranks[1], both), bins)
    lam = replay.solve_price(surfaces, bins, wanted)
    chosen = [bins.best(s - replay.price(bins, lam))[1] for s in surfaces]
    assert np.mean([bins.budgets[k] for k in chosen]) <= wanted
    if lam > 1e-5:  # a cheaper price would overspend
        cheaper = [bins.best(s - replay.price(bins, lam - 2e-6))[1] for s in surfaces]
        assert np.mean([bins.budgets[k] for k in cheaper]) > wanted


def test_a_mean_budget_outside_the_bins_is_refused() -> None:
    with pytest.raises(LabelError, match="must lie between 20 and 200"):
        replay.solve_price(np.zeros((1, 11, 5)), Bins(200), 300)
