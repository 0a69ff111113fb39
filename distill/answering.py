"""The served path without the server: recall, score and order, timed, for any theta of a request.

The same functions as in serving, called in this process, so a report needs no cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.recall.dual import Candidates, DualRecall
from adamroute.routing.theta import Theta
from adamroute.scoring.features import Asked, ItemFacts, scoring_case
from adamroute.scoring.scorer import Scorer, expected_level
from distill.known import Known


@dataclass(frozen=True, slots=True)
class Served:
    """Where the wanted item came in one answer."""

    rank: float  # 1-based by expected level, every tie lost; infinite where it is no candidate
    candidates: int  # routed ones, without the neighbours' items
    ms: float  # recall and scoring


class Desk:
    """B requests ready to be answered under any theta; answers are remembered by split."""

    def __init__(
        self,
        *,
        recall: DualRecall,
        facts: ItemFacts,
        scorer: Scorer,
        known: Known,
        asked: Sequence[Asked],
        collaborative: Sequence[tuple[int, ...]],
    ) -> None:
        """`collaborative` holds, per request, the rows of the neighbours' positive items."""
        self.known = known
        self.collaborative = collaborative
        self._recall, self._facts, self._scorer, self._asked = recall, facts, scorer, asked
        self._answers: dict[tuple[int, int, int], Served] = {}

    def serve(self, place: int, theta: Theta) -> Served:
        """Answer request `place` with theta."""
        key = (place, *theta.split())
        if key not in self._answers:
            self._answers[key] = self._timed(place, lambda: self._search(place, theta))
        return self._answers[key]

    def serve_rows(self, place: int, rows: NDArray[np.int64]) -> Served:
        """Answer request `place` with exactly these rows and the neighbours' items."""
        both = Theta(0.5, 2 * len(rows))  # the fused rows lie within both lists' first K
        return self._timed(place, lambda: _only(self._search(place, both), rows))

    def _search(self, place: int, theta: Theta) -> Candidates:
        known = self.known
        text, mm = known.text_vectors[place], known.mm_vectors[place]
        return self._recall.search(text, mm, theta, self.collaborative[place])

    def _timed(self, place: int, find: Callable[[], Candidates]) -> Served:
        start = time.perf_counter()
        found = find()
        case = scoring_case(found, self._asked[place], self._facts)
        values = expected_level(self._scorer.score(case))
        ms = (time.perf_counter() - start) * 1000.0
        rank = _rank(values, found.rows, int(self.known.targets[place]))
        return Served(rank, found.routed, ms)


def _rank(values: NDArray[np.float64], rows: NDArray[np.int64], target: int) -> float:
    at = np.flatnonzero(rows == target)
    if not len(at):
        return float("inf")
    return float((values >= values[at[0]] - 1e-9).sum())  # counts itself


def _only(found: Candidates, rows: NDArray[np.int64]) -> Candidates:
    """The candidates among `rows`, and the collaborative ones."""
    collaborative = np.array([origin == "collaborative" for origin in found.origin], np.bool_)
    kept = np.flatnonzero(np.isin(found.rows, rows) | collaborative)
    return replace(
        found,
        rows=found.rows[kept],
        text_ranks=found.text_ranks[kept],
        mm_ranks=found.mm_ranks[kept],
        text_scores=found.text_scores[kept],
        mm_scores=found.mm_scores[kept],
        origin=tuple(found.origin[k] for k in kept),
    )
