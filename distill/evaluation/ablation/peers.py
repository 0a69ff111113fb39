"""Peers that order the catalogue by one score: BM25, and weighted sums of both branches.

Scores are rounded to six places before they are compared, so that equal listings tie whatever the
matrix product left in the last digit; ties go to the lower row, or are all lost (`worst`).

Cost: a score for every item of the catalogue and request; fine for an evaluation, not for serving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.answering import Desk
from adamroute.distill.evaluation.outcomes import Outcomes, chosen, collected
from adamroute.distill.evaluation.schema import FIXED_BUDGETS
from adamroute.retrieval.dual import Origin
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.theta import ALPHAS

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
NEARLY_TOP = 4.5  # expected level that rounds to the top one


@dataclass(frozen=True, eq=False)
class Ranking:
    """B requests' ordered catalogues, as far as they are needed."""

    lists: Rows  # [B, L] first rows
    ranks: Rows  # [B] of the wanted item, 1-based
    worst: Rows  # [B], every tie lost
    origin: Origin | None  # what found the rows; None: whichever branch has them in reach


def ranking(
    scores: Iterable[Array], targets: Rows, length: int, origin: Origin | None = None
) -> Ranking:
    """Order the catalogue by each request's scores [N], best first."""
    lists, ranks, worst = [], [], []
    for own, target in zip(scores, targets.tolist(), strict=True):
        rounded = own.round(6)
        lists.append(np.argsort(-rounded, kind="stable")[:length])
        ranks.append(_rank(rounded, target))
        worst.append(int((rounded >= rounded[target]).sum()))
    return Ranking(np.stack(lists), np.array(ranks), np.array(worst), origin)


def ranking_outcomes(
    known: QueryRanks, found: Ranking, budget: int, desk: Desk, spent_ms: Array
) -> Outcomes:
    """The first K of each list as candidates; `spent_ms` is encoding and ranking, [B]."""
    n = len(known)
    served = [desk.serve_rows(b, found.lists[b, :budget], found.origin) for b in range(n)]
    at_k = [(found.ranks <= k).astype(np.float64) for k in FIXED_BUDGETS]
    paid = chosen(np.zeros(n), np.full(n, float(budget)))
    return collected(
        hits=(found.ranks <= budget)[None], worst=(found.worst <= budget)[None],
        at_k=np.stack(at_k, axis=1), ranks=np.array([[s.rank for s in served]]), desk=desk,
        budgets=paid.budgets, candidates=np.array([[s.candidates for s in served]]), choice=paid,
        ms=spent_ms + np.array([s.ms for s in served]),
    )  # fmt: skip


class Bm25:
    """BM25 (Lucene, k1 = 1.5, b = .75) over N texts; English stop words, no stemming."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Builds the index."""
        import bm25s

        self._retriever, self._items = bm25s.BM25(), len(texts)
        self._retriever.index(self._words(texts), show_progress=False)

    def scores(self, queries: Sequence[str]) -> Iterator[Array]:
        """[N] of each query."""
        for asked in self._words(queries):  # an empty one makes get_scores fail
            scores = self._retriever.get_scores(asked) if asked else np.zeros(self._items)
            yield np.asarray(scores, np.float64)

    @staticmethod
    def _words(many: Sequence[str]) -> list[list[str]]:
        import bm25s

        found: list[list[str]] = bm25s.tokenize(
            list(many), stopwords="english", return_ids=False, show_progress=False
        )
        return found


def fusion_scores(index: SearchIndex, known: QueryRanks, weights: Array) -> Iterator[Array]:
    """[N] w * text + (1 - w) * multimodal of each request, both scaled to 0..1 over the items."""
    for (text, mm), weight in zip(_scaled(index, known), weights.tolist(), strict=True):
        yield weight * text + (1.0 - weight) * mm


def fit_weight(index: SearchIndex, fit: QueryRanks) -> float:
    """The one weight of text that recalls most at K = 20, 40, 100 pooled; ties nearest .5."""
    hits = np.zeros(len(ALPHAS))
    for (text, mm), target in zip(_scaled(index, fit), fit.targets.tolist(), strict=True):
        for place, weight in enumerate(ALPHAS):
            rank = _rank((weight * text + (1.0 - weight) * mm).round(6), target)
            hits[place] += sum(rank <= k for k in FIXED_BUDGETS)
    return min(zip(-hits, np.abs(np.array(ALPHAS) - 0.5).round(9), ALPHAS, strict=True))[2]


def judged_weights(known: QueryRanks, judge: Callable[[int, Rows], Array]) -> Array:
    """[B] weight of text per request, from the expected levels of both branches' first items."""
    firsts = np.stack([known.text_lists[:, 0], known.mm_lists[:, 0]], axis=1)
    return np.array([judged_weight(*judge(b, rows)) for b, rows in enumerate(firsts)])


def judged_weight(text_level: float, mm_level: float) -> float:
    """Share of the text branch's first item in both levels, to one place (the idea of DAT).

    All of it where that item alone is of the top level, nothing where the other one alone is.
    """
    text_top, mm_top = (level >= NEARLY_TOP for level in (text_level, mm_level))
    if text_top != mm_top:
        return 1.0 if text_top else 0.0
    return round(float(text_level / (text_level + mm_level)), 1)


def _rank(rounded: Array, target: int) -> int:
    own = rounded[target]
    return 1 + int((rounded > own).sum() + (rounded[:target] == own).sum())


def _scaled(index: SearchIndex, known: QueryRanks) -> Iterator[tuple[Array, Array]]:
    text_items, mm_items = (
        vectors.astype(np.float64) for vectors in (index.text_vectors, index.mm_vectors)
    )
    for text, mm in zip(known.text_vectors, known.mm_vectors, strict=True):
        yield _unit(text_items @ text), _unit(mm_items @ mm)


def _unit(scores: Array) -> Array:
    spread = scores.max() - scores.min()
    return np.asarray((scores - scores.min()) / spread if spread > 0 else np.zeros(len(scores)))
