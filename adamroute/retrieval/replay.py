"""Replay: the two ranks of a known item tell the utility of *every* theta, without a model.

An item is recalled under theta iff r_txt <= n_txt or r_mm <= n_mm, so ranks are stored once and
oracles, sweeps, soft labels and regrets all follow from here. Formulas: CONTRACTS, "Numbers".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import LabelError
from adamroute.theta import ALPHAS, Bins, Theta

Ranks = NDArray[np.int64]  # [T], 1-based
Surface = NDArray[np.float64]  # [A, K], one value a bin
Hits = NDArray[np.bool_]

LABEL_TEMPERATURE = 0.05


def recalled(text_ranks: Ranks, mm_ranks: Ranks, theta: Theta) -> Hits:
    """Which targets theta would have recalled (paper, section 3.3).

    Both ranks are [T], 1-based; the result is [T] booleans. An item absent from a branch has
    rank N + 1.
    """
    n_text, n_mm = theta.split()
    return np.asarray((text_ranks <= n_text) | (mm_ranks <= n_mm))


def soft_hit(ranks: NDArray[np.number], n: NDArray[np.number]) -> NDArray[np.float64]:
    """h = 1 / (1 + exp((ln r - ln max(n, .5)) / .5)): a recall that tolerates near misses.

    `ranks` and `n` broadcast. The exponential of twice a log-ratio is the ratio squared.
    """
    return np.asarray(1.0 / (1.0 + (ranks / np.maximum(n, 0.5)) ** 2), dtype=np.float64)


def recall_surfaces(
    text_ranks: NDArray[np.number], mm_ranks: NDArray[np.number], bins: Bins
) -> NDArray[np.float64]:
    """P(alpha, K) of every evidence row: ranks [T], reals allowed, to [T, A, K] in [0, 1]."""
    for name, ranks in (("text", text_ranks), ("mm", mm_ranks)):
        if ranks.ndim != 1 or not np.all(ranks >= 1):
            raise LabelError(f"{name} ranks: need a vector of ranks >= 1, got {ranks!r}")
    h_text = soft_hit(text_ranks[:, None, None], bins.n_text)
    h_mm = soft_hit(mm_ranks[:, None, None], bins.n_mm)
    return np.asarray(1.0 - (1.0 - h_text) * (1.0 - h_mm), dtype=np.float64)


def recall_at(
    text_ranks: NDArray[np.number], mm_ranks: NDArray[np.number], theta: Theta
) -> NDArray[np.float64]:
    """P(theta) of every row, [T], for a theta on or off the grid."""
    n_text, n_mm = theta.split()
    miss_text = 1.0 - soft_hit(text_ranks, np.array(n_text))
    return np.asarray(1.0 - miss_text * (1.0 - soft_hit(mm_ranks, np.array(n_mm))))


def regret(text_rank: float, mm_rank: float, theta: Theta) -> float:
    """Routing regret of one answer: the best alpha at its own K, less the alpha it chose; >= 0."""
    text, mm = np.array([text_rank]), np.array([mm_rank])
    best = max(float(recall_at(text, mm, Theta(a, theta.budget))[0]) for a in ALPHAS)
    return max(0.0, best - float(recall_at(text, mm, theta)[0]))


def price(bins: Bins, lam: float) -> Surface:
    """lambda K / tau for every bin, [A, K]."""
    return np.broadcast_to(lam * np.array(bins.budgets) / bins.tau, bins.shape).copy()


def soft_labels(
    utilities: NDArray[np.float64], temperature: float = LABEL_TEMPERATURE
) -> NDArray[np.float64]:
    """Softmax over all bins of U / T: [..., A, K] to probabilities of the same shape."""
    flat = utilities.reshape(*utilities.shape[:-2], -1) / temperature
    weights = np.exp(flat - flat.max(axis=-1, keepdims=True))
    return np.asarray(
        (weights / weights.sum(axis=-1, keepdims=True)).reshape(utilities.shape), np.float64
    )


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
