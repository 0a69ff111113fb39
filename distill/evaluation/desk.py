"""The served path without the server: the recommender's own steps, timed, for any theta."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.recommender.steps import Prepared, Steps
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.dual import Candidates, Origin
from adamroute.theta import Combine, Theta

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Served:
    """Where the wanted item came in one answer."""

    rank: float  # 1-based by expected grade, every tie lost; infinite where it is no candidate
    candidates: int  # routed ones, without the neighbours' items; disliked ones among them
    ms: float  # retrieval and re-ranking


class Desk:
    """B prepared requests, answered under any theta; answers are remembered."""

    def __init__(
        self, steps: Steps, reranker: Reranker, prepared: Sequence[Prepared], targets: Rows
    ) -> None:
        """`targets` are the rows of the wanted items, [B]."""
        self.collaborative = [one.collaborative for one in prepared]
        self._steps, self._reranker = steps, reranker
        self._prepared, self._targets = prepared, targets
        self._answers: dict[tuple[int, Combine, float, int, bool], Served] = {}

    def serve(self, place: int, theta: Theta, combine: Combine, *, decided: bool = True) -> Served:
        """Answer request `place` with theta, spent as `combine` says.

        `decided`: theta was for this request, so that the re-ranker reads it.
        """
        key = (place, combine, theta.weight(combine), theta.budget, decided)
        if key not in self._answers:
            steps, asked = self._spending(combine), self._prepared[place]
            self._answers[key] = self._timed(
                steps, place, lambda: steps.retrieve(asked, theta), theta, decided
            )
        return self._answers[key]

    def _spending(self, combine: Combine) -> Steps:
        return Steps(self._steps.contexts, replace(self._steps.facts, combine=combine))

    def serve_rows(self, place: int, rows: Rows, origin: Origin | None = None) -> Served:
        """Answer request `place` with exactly these rows and the neighbours' items.

        `origin` is what found the rows; without it, each is taken as found by the branches that
        have it among their first len(rows), and by both where neither has.
        """
        return self._timed(
            self._steps, place, lambda: self._named(place, rows, origin), _half(rows), False
        )

    def judge(self, place: int, rows: Rows) -> NDArray[np.float64]:
        """[M] expected grade of each of the rows for request `place`, looks and all."""
        found = self._named(place, rows, "both")
        case = self._steps.case(self._prepared[place], found, _half(rows), decided=False)
        grades = self._steps.rank(case, self._reranker).expected
        at = {row: k for k, row in enumerate(found.rows.tolist())}
        return grades[[at[row] for row in rows.tolist()]]

    def _named(self, place: int, rows: Rows, origin: Origin | None) -> Candidates:
        asked = self._prepared[place]
        wider = replace(asked, collaborative=(*rows.tolist(), *asked.collaborative))
        found = self._spending("split").retrieve(wider, _half(rows))
        return _only(found, rows, frozenset(asked.collaborative), origin)

    def _timed(
        self,
        steps: Steps,
        place: int,
        find: Callable[[], Candidates],
        theta: Theta,
        decided: bool,
    ) -> Served:
        start, asked = time.perf_counter(), self._prepared[place]
        found = find()
        kept, _ = steps.keep(asked, found)
        ranked = steps.rank(steps.case(asked, kept, theta, decided=decided), self._reranker)
        ms = (time.perf_counter() - start) * 1000.0
        rank = _rank(ranked.expected, kept.rows, int(self._targets[place]))
        return Served(rank, found.routed, ms)


def _half(rows: Rows) -> Theta:
    """Wide enough for both branches to find as many."""
    return Theta(0.5, 2 * len(rows))


def _rank(values: NDArray[np.float64], rows: NDArray[np.int64], target: int) -> float:
    at = np.flatnonzero(rows == target)
    if not len(at):
        return float("inf")
    return float((values >= values[at[0]] - 1e-9).sum())  # counts itself


def _only(
    found: Candidates,
    rows: NDArray[np.int64],
    collaborative: frozenset[int],
    origin: Origin | None,
) -> Candidates:
    """The candidates among `rows`, and the neighbours' items beside them."""
    wanted = frozenset(rows.tolist())
    either = wanted | collaborative
    kept = [k for k, row in enumerate(found.rows.tolist()) if row in either]

    def origin_of(k: int) -> Origin:
        if int(found.rows[k]) not in wanted:
            return "collaborative"
        seen = found.origin[k]
        return origin or ("both" if seen == "collaborative" else seen)

    return replace(found.take(kept), origin=tuple(origin_of(k) for k in kept))
