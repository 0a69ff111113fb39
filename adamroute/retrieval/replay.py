"""Replay: the ranks of a known item tell the utility of *every* theta, without a model.

A split recalls an item iff r_txt <= n_txt or r_mm <= n_mm, fused retrieval iff its rank at that
alpha is <= K. So ranks are stored once, and oracles, sweeps, soft labels and regrets all follow
from here. Formulas: CONTRACTS, "Numbers".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import LabelError
from adamroute.theta import ALPHAS, Bins, Combine, Theta, alpha_bin

Ranks = NDArray[np.number]  # 1-based; reals where they are matched in difficulty
Surface = NDArray[np.float64]  # [A, K], one value a bin
Hits = NDArray[np.bool_]
Values = NDArray[np.float64]

LABEL_TEMPERATURE = 0.05


@dataclass(frozen=True, eq=False)
class TargetRanks:
    """Where T known items rank for as many queries; an item absent has rank N + 1."""

    text: Ranks  # [T]
    mm: Ranks  # [T]
    fused: Ranks  # [T, A], one an alpha bin

    @classmethod
    def of(cls, rows: Sequence[TargetRank]) -> Self:
        """From single items; may be none."""
        whole = np.array([(row.text, row.mm, *row.fused) for row in rows], np.int64)
        whole = whole.reshape(-1, 2 + len(ALPHAS))
        return cls(whole[:, 0], whole[:, 1], whole[:, 2:])

    @classmethod
    def joined(cls, parts: Sequence[TargetRanks]) -> Self:
        """One after the other; at least one part."""
        return cls(
            np.concatenate([part.text for part in parts]),
            np.concatenate([part.mm for part in parts]),
            np.concatenate([part.fused for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.text)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> TargetRanks:
        """Some of them."""
        return TargetRanks(self.text[rows], self.mm[rows], self.fused[rows])

    def each(self) -> list[TargetRank]:
        """One value a query; the ranks must be whole."""
        rows = zip(self.text.tolist(), self.mm.tolist(), self.fused.tolist(), strict=True)
        return [TargetRank(text, mm, tuple(fused)) for text, mm, fused in rows]


@dataclass(frozen=True, slots=True)
class TargetRank:
    """Where one known item ranks for a query."""

    text: int
    mm: int
    fused: tuple[int, ...]  # [A]


def recalled(ranks: TargetRanks, theta: Theta, combine: Combine) -> Hits:
    """Which targets theta would have recalled (paper, section 3.3), [T].

    Fused ranks are known at the alpha bins; another alpha is taken for the nearest of them.
    """
    if combine == "fused":
        return np.asarray(ranks.fused[:, alpha_bin(theta.alpha)] <= theta.budget)
    n_text, n_mm = theta.split()
    return np.asarray((ranks.text <= n_text) | (ranks.mm <= n_mm))


def soft_hit(ranks: NDArray[np.number], n: NDArray[np.number]) -> NDArray[np.float64]:
    """h = 1 / (1 + exp((ln r - ln max(n, .5)) / .5)): a recall that tolerates near misses.

    `ranks` and `n` broadcast. The exponential of twice a log-ratio is the ratio squared.
    """
    return np.asarray(1.0 / (1.0 + (ranks / np.maximum(n, 0.5)) ** 2), dtype=np.float64)


def recall_surfaces(ranks: TargetRanks, bins: Bins) -> NDArray[np.float64]:
    """P(alpha, K) of every evidence row: [T, A, K] in [0, 1]."""
    if not all(np.all(found >= 1) for found in (ranks.text, ranks.mm, ranks.fused)):
        raise LabelError(f"ranks: need numbers >= 1, got {ranks!r}")
    if bins.combine == "fused":
        return soft_hit(ranks.fused[:, :, None], np.array(bins.budgets))
    miss_text = 1.0 - soft_hit(ranks.text[:, None, None], bins.n_text)
    return np.asarray(1.0 - miss_text * (1.0 - soft_hit(ranks.mm[:, None, None], bins.n_mm)))


def recall_at(ranks: TargetRanks, thetas: Sequence[Theta], combine: Combine) -> Values:
    """P of each row at its own theta, [T], on or off the grid; alphas as in `recalled`."""
    alphas = np.array([theta.alpha for theta in thetas])
    return _recall_at(ranks, alphas, np.array([theta.budget for theta in thetas]), combine)


def regrets(ranks: TargetRanks, thetas: Sequence[Theta], combine: Combine) -> Values:
    """Routing regret of each answer, [T]: the best alpha at its own K, less the alpha it chose."""
    budgets = np.array([theta.budget for theta in thetas])
    best = np.max(
        [_recall_at(ranks, np.full(len(thetas), a), budgets, combine) for a in ALPHAS], axis=0
    )
    return np.asarray(np.maximum(0.0, best - recall_at(ranks, thetas, combine)))


def _recall_at(ranks: TargetRanks, alphas: Values, budgets: Ranks, combine: Combine) -> Values:
    if combine == "fused":
        bins = [alpha_bin(alpha) for alpha in alphas.tolist()]
        return soft_hit(ranks.fused[np.arange(len(ranks)), bins], budgets)
    n_text = text_share(alphas, budgets)
    miss_text = 1.0 - soft_hit(ranks.text, n_text)
    return np.asarray(1.0 - miss_text * (1.0 - soft_hit(ranks.mm, budgets - n_text)))


def text_share(alphas: Values, budgets: NDArray[np.number]) -> Values:
    """n_txt of each theta, as `Theta.split`."""
    return np.asarray(np.floor(alphas * budgets + 0.5 + 1e-9), np.float64)


def price(bins: Bins, lam: float) -> Surface:
    """lambda K / tau for every bin, [A, K]."""
    return np.broadcast_to(lam * np.array(bins.budgets) / bins.tau, bins.shape).copy()


def soft_labels(
    utilities: NDArray[np.float64], temperature: float = LABEL_TEMPERATURE
) -> NDArray[np.float64]:
    """Softmax over all bins of U / T: [..., A, K] to probabilities of the same shape."""
    bins, scaled = (-2, -1), utilities / temperature
    weights = np.exp(scaled - scaled.max(axis=bins, keepdims=True))
    return np.asarray(weights / weights.sum(axis=bins, keepdims=True), np.float64)


def solve_price(surfaces: NDArray[np.float64], bins: Bins, mean_budget: float) -> float:
    """lambda such that the thetas that maximise U have `mean_budget` candidates on average.

    `surfaces` is P of the train rows, [R, A, K]. The mean K falls in steps as lambda grows; the
    result is the smallest lambda (to 1e-6) whose mean K does not exceed `mean_budget`.
    """
    if not bins.budgets[0] <= mean_budget <= bins.budgets[-1]:
        raise LabelError(
            f"mean_budget {mean_budget}: with tau {bins.tau} it must lie between "
            f"{bins.budgets[0]} and {bins.budgets[-1]}"
        )
    best_p = surfaces.max(axis=1)  # [R, K]: alpha does not change the price
    budgets = np.array(bins.budgets)

    def mean_k(lam: float) -> float:
        utility = best_p - lam * budgets / bins.tau
        return float(budgets[utility.argmax(axis=1)].mean())  # the first, so the smallest K

    if mean_k(0.0) <= mean_budget:
        return 0.0
    low, high = 0.0, 1.0
    while mean_k(high) > mean_budget:
        low, high = high, 2.0 * high
    while high - low > 1e-6:
        middle = (low + high) / 2.0
        low, high = (middle, high) if mean_k(middle) > mean_budget else (low, middle)
    return high
