"""Targets of the label rows: what each row teaches about every theta.

Surface of a row: (1 - shrink) P_row + shrink * sum over kinds of P(kind | q) times that kind's
mean surface. P_row is the mean of its evidence rows' surfaces; ranks of template queries (teacher
and synthetic rows) are difficulty-matched, those of logged outcomes are as they are. The soft
label is the softmax of (surface - lambda K / tau) / T (CONTRACTS, "Numbers").

targets.npz holds surfaces and soft labels in the order of rows.jsonl; weights are there as well as
in the rows: a row counts its source's weight from the config, no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adamroute.recall.replay import Surface, price, recall_surfaces, soft_labels
from adamroute.routing.composition import Composition
from adamroute.routing.difficulty import Difficulty
from adamroute.routing.theta import Bins


def evidence_surface(
    text_ranks: Sequence[int], mm_ranks: Sequence[int], difficulty: Difficulty, bins: Bins
) -> Surface:
    """Mean matched surface of one row's evidence, [A, K]; at least one rank pair."""
    text, mm = difficulty.matched(np.array(text_ranks), np.array(mm_ranks))
    return np.asarray(recall_surfaces(text, mm, bins).mean(axis=0))


def shrunk(
    surfaces: NDArray[np.float64],
    kinds: NDArray[np.float64],
    composition: Composition,
    shrink: float,
) -> NDArray[np.float64]:
    """[R, A, K] pulled towards what to expect of each row's P(kind | q), [R, 3]."""
    expected = np.tensordot(kinds, composition.surfaces, axes=1)
    return np.asarray((1.0 - shrink) * surfaces + shrink * expected)


def soft_targets(
    surfaces: NDArray[np.float64], bins: Bins, lam: float, temperature: float
) -> NDArray[np.float64]:
    """Soft labels of [R, A, K] surfaces at this price of K."""
    return soft_labels(surfaces - price(bins, lam), temperature)
