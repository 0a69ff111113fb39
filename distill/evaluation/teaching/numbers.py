"""The numbers of the teacher's report: paired differences, hardness of pseudo-queries, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.metrics import intervals
from adamroute.distill.evaluation.outcomes import at_fixed
from adamroute.distill.evaluation.schema import Difference
from adamroute.distill.evaluation.teaching.measure import Array, Ranks, Taught, ks_distance
from adamroute.distill.evaluation.teaching.schema import (
    PLACES,
    BranchName,
    Hardness,
    Place,
    SliceName,
    TeacherRow,
    TeacherSlice,
)

HISTORIES = ((0, 0), (1, 2), (3, 5), (6, 10), (11, 20), (21, None))  # positives, inclusive


@dataclass(frozen=True)
class Pairs:
    """Means and differences over requests, with intervals that resample their users alike."""

    users: Sequence[str]  # of the requests, [B]
    seed: int

    def row(self, at_k: Array, static: Array) -> TeacherRow:
        """One router; both [B, 3]."""
        (span,) = intervals(at_k.mean(axis=1)[:, None], self.users, self.seed)
        return TeacherRow(
            recall_at_k=at_fixed(at_k),
            ci95=span,
            minus_static_best=self.minus(at_k, static),
        )

    def minus(self, one: Array, other: Array) -> dict[Place, Difference]:
        """one - other at K = 20, 40, 100 and their mean; both [B, 3]."""
        gain = one - other
        columns = np.concatenate([gain, gain.mean(axis=1, keepdims=True)], axis=1)
        spans = intervals(columns, self.users, self.seed)
        return {
            place: Difference(mean=mean, ci95=span)
            for place, mean, span in zip(PLACES, columns.mean(axis=0).tolist(), spans, strict=True)
        }


def hardness(ranks: Ranks) -> dict[BranchName, Hardness]:
    """Pseudo-queries against real ones in both branches; empty where either are none."""
    if not len(ranks.pseudo_text) or not len(ranks.real_text):
        return {}
    branches: Mapping[BranchName, tuple[Array, Array]] = {
        "text": (ranks.pseudo_text, ranks.real_text),
        "multimodal": (ranks.pseudo_mm, ranks.real_mm),
    }
    return {
        name: Hardness(
            n_pseudo=len(pseudo),
            n_real=len(real),
            median_pseudo=float(np.median(pseudo)),
            median_real=float(np.median(real)),
            distance=ks_distance(pseudo, real),
        )
        for name, (pseudo, real) in branches.items()
    }


def slices(taught: Taught, seed: int) -> dict[SliceName, dict[str, TeacherSlice]]:
    """By stated kind, by length of the history, by number of steps; empty parts are left out."""
    kinds = np.array([query.kind or "" for query in taught.queries])
    steps = np.array([len(answer.item_ids) for answer in taught.answers])
    parts: Mapping[SliceName, Mapping[str, NDArray[np.bool_]]] = {
        "kind": {kind: kinds == kind for kind in sorted(set(kinds.tolist()) - {""})},
        "history": {
            _span(low, high): (taught.liked >= low) & (high is None or taught.liked <= high)
            for low, high in HISTORIES
        },
        "steps": {str(n): steps == n for n in sorted(set(steps.tolist()))},
    }
    return {
        name: {label: _slice(taught, here, seed) for label, here in part.items() if here.any()}
        for name, part in parts.items()
    }


def _span(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} and more"
    return str(low) if low == high else f"{low} to {high}"


def _slice(taught: Taught, here: NDArray[np.bool_], seed: int) -> TeacherSlice:
    users = [q.user_id for q, kept in zip(taught.queries, here, strict=True) if kept]
    means = {name: float(values[here].mean()) for name, values in taught.at_k.items()}
    pairs = Pairs(users, seed)
    return TeacherSlice(
        n=int(here.sum()),
        teacher=means["teacher"],
        static_best=means["static_best"],
        prior_only=means["prior_only"],
        oracle=means["oracle"],
        regret=float(taught.regrets[here].mean()),
        minus_static_best=pairs.minus(
            taught.at_k["teacher"][here], taught.at_k["static_best"][here]
        )["mean"],
    )
