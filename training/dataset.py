"""What students learn from: the label stage's rows as arrays, and the order a run sees them in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.array_files import read_arrays
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import Shop
from adamroute.errors import LabelError
from adamroute.retrieval.ranks import load_ranks
from adamroute.teacher.constants import ROWS_FILE, TARGETS_FILE
from adamroute.theta import Bins


@dataclass(frozen=True)
class TrainingSet:
    """R label rows: what a student reads, and the soft label it should answer with."""

    queries: tuple[str, ...]
    profiles: tuple[PreferenceProfile, ...]
    user_ids: tuple[str, ...]  # the request's own id where there is no user
    soft: NDArray[np.float64]  # [R, A, K], each row sums to 1
    weights: NDArray[np.float64]  # [R], >= 0

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> TrainingSet:
        """The named rows, in that order."""
        picked = [int(row) for row in rows]
        return TrainingSet(
            tuple(self.queries[r] for r in picked),
            tuple(self.profiles[r] for r in picked),
            tuple(self.user_ids[r] for r in picked),
            self.soft[picked],
            self.weights[picked],
        )

    def with_shuffled_labels(self, rng: np.random.Generator) -> TrainingSet:
        """Labels and weights dealt to the wrong prompts: the control run, which must not learn."""
        order = rng.permutation(len(self))
        return replace(self, soft=self.soft[order], weights=self.weights[order])


class _StoredProfile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    strong_pref: tuple[str, ...] = ()
    nice_to_have: tuple[str, ...] = ()
    dislike: tuple[str, ...] = ()


class _Row(BaseModel):
    """The part of a label row that students read (CONTRACTS, "Teacher"); the rest is not ours."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    request_id: str
    user_id: str | None
    query: str
    profile: _StoredProfile


def load_training_set(labels: Path, bins: Bins) -> TrainingSet:
    """Rows of the label stage's folder; LabelError where files disagree or a row is unusable."""
    soft, weights = _read_targets(labels / TARGETS_FILE)
    rows = _read_rows(labels / ROWS_FILE)
    if not len(rows) == len(soft) == len(weights):
        raise LabelError(
            f"{labels}: {len(rows)} rows in {ROWS_FILE}, {len(soft)} soft labels and "
            f"{len(weights)} weights in {TARGETS_FILE}. "
            "Delete the folder and run: adamroute label CONFIG"
        )
    if soft.shape[1:] != bins.shape:
        raise LabelError(
            f"{labels / TARGETS_FILE}: labels over {soft.shape[1:]} bins, tau {bins.tau} gives "
            f"{bins.shape}. Run: adamroute label CONFIG"
        )
    _check_values(labels / TARGETS_FILE, soft, weights)
    profiles = tuple(
        PreferenceProfile(r.profile.strong_pref, r.profile.nice_to_have, r.profile.dislike)
        for r in rows
    )
    users = tuple(r.user_id or r.request_id for r in rows)
    return TrainingSet(tuple(r.query for r in rows), profiles, users, soft, weights)


def query_vectors(rows: TrainingSet, shop: Shop, ranks: Path) -> NDArray[np.float32]:
    """E_txt of every row's query, [R, D], as stage `ranks` has them; rows share texts."""
    vectors: dict[str, NDArray[np.float32]] = {}
    for queries in (shop.split("train"), synthetic_queries(shop, ranks)):
        found = load_ranks(ranks, queries).text_vectors
        vectors |= {query.text: vector for query, vector in zip(queries, found, strict=True)}
    return np.stack([vectors[query] for query in rows.queries])


def _read_targets(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        arrays = read_arrays(path)
        return arrays["soft"].astype(np.float64), arrays["weights"].astype(np.float64)
    except (OSError, ValueError, KeyError) as error:
        raise LabelError(
            f"{path}: wanted arrays soft [R, A, K] and weights [R] ({error}). "
            "Run: adamroute label CONFIG"
        ) from error


def _read_rows(path: Path) -> list[_Row]:
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(
            f"{path}: cannot be read ({error}). Run: adamroute label CONFIG"
        ) from error
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(_Row.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "line"
            raise LabelError(
                f"{path}:{number}: {field}: {first['msg']}. Run: adamroute label CONFIG"
            ) from error
    return rows


def _check_values(path: Path, soft: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
    sums = soft.sum(axis=(1, 2))
    wrong = np.flatnonzero(~((soft.min(axis=(1, 2)) >= 0.0) & (np.abs(sums - 1.0) < 1e-6)))
    if len(wrong):
        raise LabelError(f"{path}: row {wrong[0]} sums to {sums[wrong[0]]:.6g}, wanted 1")
    if not (weights.ndim == 1 and np.all(weights >= 0.0) and weights.sum() > 0.0):
        raise LabelError(f"{path}: weights must be >= 0 and some above 0")


def best_bin_labels(soft: NDArray[np.float64], bins: Bins) -> NDArray[np.float64]:
    """All mass on each row's best bin: with these, the soft loss is plain two-token SFT."""
    hard = np.zeros_like(soft)
    for row, surface in enumerate(soft):
        hard[(row, *bins.best(surface))] = 1.0
    return hard


def draw_order(
    weights: NDArray[np.float64],
    lengths: NDArray[np.int64],
    *,
    steps: int,
    batch: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """[steps * batch] rows in training order, each drawn as often as its weight deserves.

    Systematic draws: a row with twice the mean weight comes twice as often, up to one, and a row
    of weight 0 never. Within stretches of 16 batches rows of like length share a batch, so that
    little is padded; the batches of a stretch come in random order.
    """
    total = steps * batch
    shuffled = rng.permutation(len(weights))
    edges = np.cumsum(weights[shuffled]) / weights.sum()
    places = (np.arange(total) + rng.random()) / total
    picked = np.minimum(np.searchsorted(edges, places, side="right"), len(weights) - 1)
    drawn = rng.permutation(shuffled[picked])
    order = []
    for start in range(0, total, 16 * batch):
        stretch = drawn[start : start + 16 * batch]
        by_length = stretch[np.argsort(lengths[stretch], kind="stable")]
        batches = by_length.reshape(-1, batch)
        order.append(batches[rng.permutation(len(batches))].ravel())
    return np.concatenate(order)


def held_out(user_ids: Sequence[str], share: float) -> NDArray[np.bool_]:
    """Which rows belong to users set aside by the sha256 of their id, [R]."""
    digests = [hashlib.sha256(f"held-out:{u}".encode()).digest()[:4] for u in user_ids]
    return np.array([int.from_bytes(d, "big") / 2**32 < share for d in digests], dtype=np.bool_)
