"""Measures of one ranked answer with one wanted item, by exact item id.

All take ranks as [R] reals, 1-based, infinite where the item is absent, and give one value a
request, so that means, pairs and intervals are the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adamroute.stats import bootstrap_means, interval

Array = NDArray[np.float64]


def hr_at(ranks: Array, k: int) -> Array:
    """hr@k: 1 where the item is among the first k, else 0."""
    return (ranks <= k).astype(np.float64)


def ndcg_at(ranks: Array, k: int) -> Array:
    """ndcg@k with one relevant item: 1 / log2(1 + rank) within the first k, else 0."""
    return np.where(ranks <= k, 1.0 / np.log2(1.0 + ranks), 0.0)


def auc(scores: Array, positive: NDArray[np.bool_]) -> float | None:
    """P(a positive scores higher than a negative), ties half; None where one class is absent."""
    from sklearn.metrics import roc_auc_score

    if positive.all() or not positive.any():
        return None
    return float(roc_auc_score(positive, scores))


def kl_divergence(truth: Array, guess: Array) -> Array:
    """KL(truth || guess) in nats of rows of probabilities [R, A]; guesses are floored at 1e-12."""
    floor = 1e-12
    ratio = np.log(np.maximum(truth, floor)) - np.log(np.maximum(guess, floor))
    return np.asarray(np.maximum((truth * ratio).sum(axis=1), 0.0))


def intervals(columns: Array, users: Sequence[str], seed: int) -> tuple[tuple[float, float], ...]:
    """95 % intervals of the means of [R, M], users resampled alike for every column."""
    means = bootstrap_means(columns, users, seed)
    return tuple(interval(means[:, column]) for column in range(columns.shape[1]))
