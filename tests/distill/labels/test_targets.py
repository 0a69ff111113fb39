"""Targets of label rows, worked by hand."""

from typing import get_args

import numpy as np
import pytest

from adamroute.distill.labels.targets import shrunk, soft_target
from adamroute.retrieval.replay import TargetRanks, price, recall_surfaces, soft_labels
from adamroute.teacher.belief import Belief, evidence_belief
from adamroute.theta import Bins, Combine

BINS = Bins(20)


def ranks(text: list[int], mm: list[int]) -> TargetRanks:
    """Of a split, and the branches' mean at every alpha between."""
    alphas, ends = np.arange(11) / 10, np.array([mm, text]).T
    fused = (1 - alphas) * ends[:, :1] + alphas * ends[:, 1:]
    return TargetRanks(np.array(text), np.array(mm), fused)


def test_a_rows_belief_is_the_mean_over_its_evidence() -> None:
    belief = evidence_belief(ranks([10, 10_000], [10_000, 10]), BINS, 0.0)
    # alpha 1: (1 / (1 + (10 / 20)^2) + 1 / (1 + (10 / .5)^2)) / 2 = (.8 + .0025) / 2
    assert belief.surface[10, 0] == pytest.approx((0.8 + 1 / 401) / 2, abs=1e-5)
    assert belief.surface[5, 0] == pytest.approx(
        0.5, abs=1e-5
    )  # both halves hit at rank n with .5
    assert belief.votes == pytest.approx(belief.votes[::-1])  # the two rows mirror each other
    assert belief.votes[0] > 2 * belief.votes[5]  # and neither is served best in the middle


def test_shrinking_pulls_a_row_towards_what_its_kinds_let_expect() -> None:
    own = Belief(np.array([0.9, 0.1]), np.array([[0.5], [0.1]]))
    expected = Belief(np.array([0.5, 0.5]), np.array([[0.9], [0.1]]))
    pulled = shrunk(own, expected, 0.25)
    assert pulled.votes.tolist() == pytest.approx([0.8, 0.2])
    assert pulled.surface.ravel().tolist() == pytest.approx([0.6, 0.1])
    assert shrunk(own, expected, 0.0).votes.tolist() == own.votes.tolist()


@pytest.mark.parametrize("combine", get_args(Combine))
def test_one_rank_pair_unshrunk_has_the_contracts_soft_label(combine: Combine) -> None:
    bins, lam = Bins(200, combine), 0.6
    own = evidence_belief(ranks([30], [7]), bins, lam)
    surface = recall_surfaces(ranks([30], [7]), bins)[0]
    label = soft_labels(surface - price(bins, lam))
    assert soft_target(own, bins, lam, 1.0) == pytest.approx(label)


def test_soft_targets_pay_for_k() -> None:
    bins = Bins(40)
    surface = np.full(bins.shape, 0.5)
    surface[:, 1] = 0.6
    even = Belief(np.full(11, 1 / 11), surface)
    # U: .5 - .1 at K = 20, .6 - .2 at K = 40 with lambda .2: all bins alike
    assert soft_target(even, bins, 0.2, 3.0) == pytest.approx(np.full((11, 2), 1 / 22))
    free = soft_target(even, bins, 0.0, 3.0)  # odds exp(.1 / .05)
    assert free[0, 1] / free[0, 0] == pytest.approx(np.exp(2.0))


def test_sharpened_votes_keep_their_order_and_lie_further_apart() -> None:
    belief = Belief(np.array([0.2, *[0.08] * 10]), np.full((11, 1), 0.5))
    plain, sharp = (soft_target(belief, BINS, 0.0, power).sum(axis=1) for power in (1.0, 3.0))
    assert plain.tolist() == pytest.approx(belief.votes.tolist())
    assert sharp[0] / sharp[1] == pytest.approx((0.2 / 0.08) ** 3)
    assert sharp.sum() == pytest.approx(1.0)
