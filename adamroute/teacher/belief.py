"""Beliefs: what is held of every theta, from one row with known ranks or from many.

A mean of recall surfaces alone decides badly: the smooth utility gives every row something at the
middle alphas, so the mean prefers them although few rows are served best there. A belief therefore
also counts votes: each row's soft label, summed over K, says which alpha would have served it.
The votes' mean says where alpha goes (leaning.py), and K is the best there for its price. On ikea
votes take the same evidence from +.017 to +.030 over the best fixed split (EXPERIMENTS.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.leaning import Leaning
from adamroute.retrieval.replay import (
    Surface,
    TargetRanks,
    price,
    recall_surfaces,
    soft_labels,
)
from adamroute.theta import ALPHAS, Bins, Theta

MIDDLE = len(ALPHAS) // 2  # the bin of alpha .5
Votes = NDArray[np.float64]  # [A], sums to 1


@dataclass(frozen=True, eq=False)
class Belief:
    """Votes for every alpha and the recall to expect of every theta."""

    votes: Votes  # [A]
    surface: Surface  # [A, K], expected P

    def theta(self, bins: Bins, lam: float, leaning: Leaning) -> Theta:
        """The alpha that the votes lean to, and the smallest K with most utility there."""
        alpha = leaning.bin(self.votes)
        utility = self.surface[alpha] - price(bins, lam)[alpha]
        return bins.theta(alpha, int(np.argmax(utility >= utility.max() - 1e-12)))


def undecided(surface: Surface) -> Belief:
    """All votes for alpha .5: what is held where nothing is known."""
    return Belief(np.eye(len(ALPHAS))[MIDDLE], surface)


def alpha_votes(surfaces: NDArray[np.float64], bins: Bins, lam: float) -> NDArray[np.float64]:
    """Soft label of each row's surface, summed over K: [..., A, K] to [..., A]."""
    return np.asarray(soft_labels(surfaces - price(bins, lam)).sum(axis=-1))


def mixture(weights: NDArray[np.float64], votes: NDArray[np.float64], surfaces: Surface) -> Belief:
    """Weighted mean of N rows: [N], [N, A], [N, A, K]; weights need not sum to 1."""
    share = weights / weights.sum()
    return Belief(share @ votes, np.tensordot(share, surfaces, axes=1))


def evidence_belief(ranks: TargetRanks, bins: Bins, lam: float) -> Belief:
    """Mean belief of one row's evidence; at least one item's ranks."""
    surfaces = recall_surfaces(ranks, bins)
    votes = alpha_votes(surfaces, bins, lam)
    return Belief(votes.mean(axis=0), surfaces.mean(axis=0))
