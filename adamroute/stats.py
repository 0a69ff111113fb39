"""Paired bootstrap over users: the one way adamroute puts an interval around a mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000


def bootstrap_means(
    values: NDArray[np.float64], users: Sequence[str], seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Means over rows of users drawn with replacement: values [R] or [R, M] to [S] or [S, M].

    Columns share their draws, so differences between columns are paired. A resample's mean weighs
    each drawn user by its number of rows.
    """
    _, codes = np.unique(np.asarray(users), return_inverse=True)
    n_users = int(codes.max()) + 1
    columns = values.reshape(len(values), -1)
    sums = np.zeros((n_users, columns.shape[1]))
    np.add.at(sums, codes, columns)
    sizes = np.bincount(codes, minlength=n_users).astype(np.float64)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n_users, np.full(n_users, 1.0 / n_users), size=resamples)
    means = (counts @ sums) / (counts @ sizes)[:, None]
    return np.asarray(means[:, 0] if values.ndim == 1 else means)


def interval(means: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of resampled means [S]."""
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
