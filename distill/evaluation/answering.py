"""The served path without the server: recall, score and order, timed, for any theta of a request.

The same functions as in serving, called in this process, so a report needs no cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.reranking.features import Asked, Case, ranking_case
from adamroute.reranking.reranker import Reranker, expected_grade
from adamroute.retrieval.dual import Candidates, DualRetriever, Origin
from adamroute.retrieval.item_facts import ItemFacts
from adamroute.retrieval.ranks import QueryRanks
from adamroute.theta import Theta


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
        recall: DualRetriever,
        facts: ItemFacts,
        scorer: Reranker,
        known: QueryRanks,
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

    def serve_rows(
        self, place: int, rows: NDArray[np.int64], origin: Origin | None = None
    ) -> Served:
        """Answer request `place` with exactly these rows and the neighbours' items.

        `origin` is what found the rows; without it, each is taken as found by the branches that
        have it among their first len(rows), and by both where neither has.
        """
        return self._timed(place, lambda: self._named(place, rows, origin))

    def judge(self, place: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """[M] expected level of each of the rows for request `place`, looks and all."""
        found = self._named(place, rows, "both")
        levels = expected_grade(self._scorer.score(self._case(place, found)))
        at = {row: k for k, row in enumerate(found.rows.tolist())}
        return levels[[at[row] for row in rows.tolist()]]

    def variant(
        self,
        *,
        recall: DualRetriever | None = None,
        scorer: Reranker | None = None,
        collaborative: Sequence[tuple[int, ...]] | None = None,
    ) -> Desk:
        """The same requests with another part."""
        return Desk(
            recall=recall or self._recall,
            facts=self._facts,
            scorer=scorer or self._scorer,
            known=self.known,
            asked=self._asked,
            collaborative=self.collaborative if collaborative is None else collaborative,
        )

    def _search(self, place: int, theta: Theta, more: Sequence[int] = ()) -> Candidates:
        known = self.known
        text, mm = known.text_vectors[place], known.mm_vectors[place]
        return self._recall.search(text, mm, theta, (*more, *self.collaborative[place]))

    def _named(self, place: int, rows: NDArray[np.int64], origin: Origin | None) -> Candidates:
        found = self._search(place, Theta(0.5, 2 * len(rows)), rows.tolist())
        return _only(found, rows, frozenset(self.collaborative[place]), origin)

    def _case(self, place: int, found: Candidates) -> Case:
        return ranking_case(found, self._asked[place], self._facts)

    def _timed(self, place: int, find: Callable[[], Candidates]) -> Served:
        start = time.perf_counter()
        found = find()
        values = expected_grade(self._scorer.score(self._case(place, found)))
        ms = (time.perf_counter() - start) * 1000.0
        rank = _rank(values, found.rows, int(self.known.targets[place]))
        return Served(rank, found.routed, ms)


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

    return replace(
        found,
        rows=found.rows[kept],
        text_ranks=found.text_ranks[kept],
        mm_ranks=found.mm_ranks[kept],
        text_scores=found.text_scores[kept],
        mm_scores=found.mm_scores[kept],
        origin=tuple(origin_of(k) for k in kept),
    )
