"""Targets of the label rows: what each row teaches about every theta.

Surface of a row: (1 - shrink) P_row + shrink * sum over kinds of P(kind | q) times that kind's
mean surface. P_row is the mean of its evidence rows' surfaces; ranks of template queries (teacher
and synthetic rows) are difficulty-matched, those of logged outcomes are as they are. The soft
label is the softmax of (surface - lambda K / tau) / T (CONTRACTS, "Numbers").

targets.npz holds surfaces and soft labels in the order of rows.jsonl; weights are there as well as
in the rows: a row counts its source's weight from the config, no more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import ArtifactError
from adamroute.recall.replay import Surface, price, recall_surfaces, soft_labels
from adamroute.routing.composition import Composition
from adamroute.routing.difficulty import Difficulty
from adamroute.routing.theta import Bins

ROWS_FILE = "rows.jsonl"
TARGETS_FILE = "targets.npz"


@dataclass(frozen=True, eq=False)
class Targets:
    """Label rows with their targets, [R] in the order of rows.jsonl."""

    request_ids: tuple[str, ...]
    user_ids: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]
    weights: NDArray[np.float64]  # [R]
    surfaces: NDArray[np.float64]  # [R, A, K], shrunk P
    soft: NDArray[np.float64]  # [R, A, K], each row sums to 1


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


def load_targets(labels: Path) -> Targets:
    """Read rows and targets of a finished label stage. ArtifactError where they don't match."""
    lines = (labels / ROWS_FILE).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    with np.load(labels / TARGETS_FILE, allow_pickle=False) as arrays:
        weights, surfaces, soft = arrays["weights"], arrays["surfaces"], arrays["soft"]
    if not len(rows) == len(weights) == len(surfaces) == len(soft):
        raise ArtifactError(
            f"{labels}: {len(rows)} rows in {ROWS_FILE}, {len(soft)} in {TARGETS_FILE}. "
            "Delete the folder and run: adamroute label CONFIG"
        )
    return Targets(
        request_ids=tuple(row["request_id"] for row in rows),
        user_ids=tuple(row["user_id"] for row in rows),
        queries=tuple(row["query"] for row in rows),
        sources=tuple(row["source"] for row in rows),
        weights=weights,
        surfaces=surfaces,
        soft=soft,
    )
