"""Ways to rank a request: by recall alone, by a run's theta and scorer, or by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.preferences import liked_items
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import TimeMeaning
from adamroute.distill.evaluation.protocols.ranks import Answer, answer_of
from adamroute.reranking.features import Asked, encode_parts, ranking_case
from adamroute.reranking.reranker import Reranker, expected_grade
from adamroute.retrieval.branch_index import TIE, BranchIndex
from adamroute.retrieval.dual import Candidates, DualRetriever
from adamroute.retrieval.item_facts import ItemFacts, item_facts
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.context import Context
from adamroute.teacher.neighbours import liked_rows
from adamroute.theta import Theta

Rows = NDArray[np.int64]
NOTHING = Answer((), np.empty(0))
KEPT = 100  # items of a random answer; no measure looks deeper than 40


class Ranker(Protocol):
    """Ranks the catalogue, or the rows of `among`, for a request."""

    def rank(self, request: Request, among: Rows | None = None) -> Answer:
        """A request without words is answered with nothing."""
        ...


class Encoded:
    """Query vectors of both branches, encoded in one batch."""

    def __init__(self, index: SearchIndex, texts: Sequence[str]) -> None:
        self.index = index
        different = list(dict.fromkeys(text for text in texts if text))
        self._row = {text: row for row, text in enumerate(different)}
        self._vectors = index.encode(different) if different else None

    def search(
        self, text: str, theta: Theta, among: Rows | None, extra: Sequence[int] = ()
    ) -> Candidates:
        """Candidates under theta; `among` makes both branches hold only those rows."""
        assert self._vectors is not None  # some text was encoded, this one among them
        row = self._row[text]
        vectors = self._vectors.text[row], self._vectors.mm[row]
        if among is None:
            return self.index.recall.search(*vectors, theta, extra)
        place = {row: i for i, row in enumerate(among.tolist())}
        inner = [place[row] for row in extra if row in place]
        part = DualRetriever(
            BranchIndex(np.asarray(self.index.text_vectors[among])),
            BranchIndex(np.asarray(self.index.mm_vectors[among])),
        )
        found = part.search(*vectors, theta, inner)
        return replace(found, rows=among[found.rows])

    def vector(self, text: str) -> NDArray[np.float32]:
        """E_txt of one of the texts, [D]."""
        assert self._vectors is not None
        return np.asarray(self._vectors.text[self._row[text]])


@dataclass(frozen=True)
class ByRecall:
    """A fixed theta and no scorer: an item's value is its better place in the two lists."""

    encoded: Encoded
    theta: Theta

    def rank(self, request: Request, among: Rows | None = None) -> Answer:
        if not request.query:
            return NOTHING
        found = self.encoded.search(request.query, self.theta, among)
        n_text, n_mm = self.theta.split()
        places = np.minimum(
            _places(found.text_scores, found.text_ranks <= n_text),
            _places(found.mm_scores, found.mm_ranks <= n_mm),
        )
        ids = self.encoded.index.ids
        return answer_of([ids[row] for row in found.rows.tolist()], -places)


def _places(scores: NDArray[np.float32], listed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[K] place in one list with ties lost; infinite for what is not in it."""
    known = scores[listed].astype(np.float64)
    places = np.full(len(scores), np.inf)
    places[listed] = (known[None, :] >= known[:, None] - TIE).sum(axis=1)
    return places


class ByScorer:
    """A run's thetas, the neighbours' items, and the scorer's order."""

    def __init__(
        self,
        encoded: Encoded,
        scorer: Reranker,
        tasks: Sequence[Context],
        thetas: Mapping[str, Theta],
        time: TimeMeaning,
    ) -> None:
        """`thetas` by request id, one for each of the tasks."""
        index = encoded.index
        self._encoded, self._scorer, self._thetas, self._time = encoded, scorer, thetas, time
        self._facts: ItemFacts = item_facts(
            index.text_vectors, index.profile_texts, index.categories, index.visual
        )
        parts = encode_parts(index.text_encoder, [task.profile for task in tasks])
        self._tasks = {
            task.request.request_id: (task, part) for task, part in zip(tasks, parts, strict=True)
        }

    def rank(self, request: Request, among: Rows | None = None) -> Answer:
        if not request.query:
            return NOTHING
        index, history = self._encoded.index, request.history
        task, parts = self._tasks[request.request_id]
        brought = liked_rows(task.neighbours, index.row_of, time=self._time, history=history)
        theta = self._thetas[request.request_id]
        found = self._encoded.search(request.query, theta, among, brought)
        asked = Asked(
            request.query,
            self._encoded.vector(request.query),
            task.profile,
            parts,
            liked_items(history, index.row_of),
        )
        values = expected_grade(self._scorer.score(ranking_case(found, asked, self._facts)))
        return answer_of([index.ids[row] for row in found.rows.tolist()], values)


@dataclass(frozen=True)
class ByChance:
    """Every item equally likely at every place; what a request gets depends on the seed alone.

    Only the first `KEPT` places are told.
    """

    ids: tuple[str, ...]
    seed: int

    def rank(self, request: Request, among: Rows | None = None) -> Answer:
        if not request.query:
            return NOTHING
        rows = np.arange(len(self.ids)) if among is None else among
        rng = np.random.default_rng([self.seed, *request.request_id.encode()])
        values = rng.uniform(size=len(rows))
        kept = np.argpartition(-values, KEPT)[:KEPT] if len(rows) > KEPT else slice(None)
        return answer_of([self.ids[row] for row in rows[kept].tolist()], values[kept])
