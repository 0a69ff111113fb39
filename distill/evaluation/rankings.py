"""Routers that order items by one score (rank fusion, BM25), and weights judged per query.

Scores are rounded to six places before they are compared, so that equal listings tie whatever the
matrix product left in the last digit; ties go to the lower row, or are all lost (`worst`).

Cost: a score for every item of the catalogue and request; fine for an evaluation, not for serving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.splits import Array, Hits
from adamroute.retrieval.dual import Origin
from adamroute.retrieval.ranks import QueryRanks, Ranks

Rows = NDArray[np.int64]
RRF_OFFSET = 60
NEARLY_TOP = 4.5  # expected grade that rounds to the top one


@dataclass(frozen=True, eq=False)
class Ranking:
    """B requests' ordered items, as far as they are needed."""

    lists: Rows  # [B, K] the first K
    within: Callable[[int], Hits]  # K to [B]: whether the wanted item is among the first K
    worst: Hits  # [B], at its own K with every tie lost
    origin: Origin | None = None  # what found the rows; None: whichever branch has them in reach


def ordered(
    scores: Iterable[Array], targets: Rows, budget: int, origin: Origin | None = None
) -> Ranking:
    """Order the catalogue by each request's scores [N], best first, and keep the first K."""
    lists, ranks, worst = [], [], []
    for own, target in zip(scores, targets.tolist(), strict=True):
        rounded = own.round(6)
        lists.append(np.argsort(-rounded, kind="stable")[:budget])
        ranks.append(_rank(rounded, target))
        worst.append(int((rounded >= rounded[target]).sum()))
    found = np.array(ranks)
    return Ranking(np.stack(lists), lambda k: found <= k, np.array(worst) <= budget, origin)


def rank_fusion(known: QueryRanks, budget: int) -> Ranking:
    """Reciprocal-rank fusion: the first K of the fusion of the first K of both lists."""
    lists = np.stack([fused_rows(known, place, budget) for place in range(len(known))])
    return Ranking(lists, partial(fused_hits, known), fused_hits(known, budget, worst=True))


def fused(text_rows: Ranks, mm_rows: Ranks) -> tuple[Ranks, Array]:
    """Rows and scores of two ranked lists fused by 1 / (60 + rank), ties to the lower row."""
    scores: dict[int, float] = {}
    for rows in (text_rows, mm_rows):
        for rank, row in enumerate(rows.tolist(), start=1):
            scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_OFFSET + rank)
    order = sorted(scores, key=lambda row: (-scores[row], row))
    return np.array(order, np.int64), np.array([scores[row] for row in order])


def fused_rows(known: QueryRanks, place: int, budget: int) -> Ranks:
    """The first K rows of the fusion of the first K of both lists, for one request."""
    lists = known.text_lists[place, :budget], known.mm_lists[place, :budget]
    return fused(*lists)[0][:budget]


def fused_hits(known: QueryRanks, budget: int, *, worst: bool = False) -> Hits:
    """[B]: whether fusion at K recalls the target; `worst` lets every tie be lost."""
    return np.array([_fused_hit(known, place, budget, worst) for place in range(len(known))])


def _fused_hit(known: QueryRanks, place: int, budget: int, worst: bool) -> bool:
    target = int(known.targets[place])
    rows, scores = fused(known.text_lists[place, :budget], known.mm_lists[place, :budget])
    if not worst:
        return target in rows[:budget]
    ranks = (known.text_worst[place], known.mm_worst[place])
    own = sum(1.0 / (RRF_OFFSET + int(r)) for r in ranks if r <= budget)
    rivals = int(((scores >= own - 1e-12) & (rows != target)).sum())
    return own > 0.0 and rivals < budget


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


def judged_weights(known: QueryRanks, judge: Callable[[int, Rows], Array]) -> Array:
    """[B] weight of text per request, from the expected grades of both branches' first items."""
    firsts = np.stack([known.text_lists[:, 0], known.mm_lists[:, 0]], axis=1)
    return np.array([judged_weight(*judge(b, rows)) for b, rows in enumerate(firsts)])


def judged_weight(text_grade: float, mm_grade: float) -> float:
    """Share of the text branch's first item in both grades, to one place (the idea of DAT).

    All of it where that item alone is of the top grade, nothing where the other one alone is.
    """
    text_top, mm_top = (grade >= NEARLY_TOP for grade in (text_grade, mm_grade))
    if text_top != mm_top:
        return 1.0 if text_top else 0.0
    return round(float(text_grade / (text_grade + mm_grade)), 1)


def _rank(rounded: Array, target: int) -> int:
    own = rounded[target]
    return 1 + int((rounded > own).sum() + (rounded[:target] == own).sum())
