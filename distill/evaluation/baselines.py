"""Routers that need no student and no teacher: fixed splits, fusion, kinds, chance, hindsight.

Each gives the alpha of every request at a given K (CONTRACTS, "At fixed K"); reciprocal-rank
fusion is no split and gives the target's place in the fused list instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.retrieval.ranks import QueryRanks, Ranks
from adamroute.theta import ALPHAS

RRF_OFFSET = 60
RANDOM_DRAWS = 20

Array = NDArray[np.float64]
Hits = NDArray[np.bool_]


def hits_at(alphas: Array, budgets: Array, text: Ranks, mm: Ranks) -> Hits:
    """Which targets are recalled: alphas and budgets [..., B] against ranks [B], to [..., B]."""
    n_text = np.floor(alphas * budgets + 0.5 + 1e-9)  # as Theta.split
    return np.asarray((text <= n_text) | (mm <= budgets - n_text))


def hits_by_alpha(budget: int, text: Ranks, mm: Ranks) -> Hits:
    """[A, B]: hits of every alpha bin at one K."""
    alphas = np.array(ALPHAS)[:, None]
    return hits_at(alphas, np.full((1, 1), float(budget)), text, mm)


def best_alpha(hits: Hits) -> float:
    """The alpha bin with most hits of [A, B]; ties to the one nearest .5, then the smaller."""
    counts = hits.sum(axis=1)
    order = np.lexsort((np.arange(len(ALPHAS)), np.abs(np.array(ALPHAS) - 0.5).round(9), -counts))
    return ALPHAS[int(order[0])]


def static_alpha(fit: QueryRanks, budget: int) -> float:
    """The one split that recalls most targets of the fitting requests at this K."""
    return best_alpha(hits_by_alpha(budget, fit.text, fit.mm))


def oracle_alphas(known: QueryRanks, budget: int) -> Array:
    """[B]: per request the alpha nearest .5 that recalls the target, .5 where none does."""
    hits = hits_by_alpha(budget, known.text, known.mm)
    return np.array([best_alpha(hits[:, [b]]) for b in range(len(known))])


def random_alphas(known: QueryRanks, rng: np.random.Generator) -> Array:
    """[20, B] alphas drawn uniformly from 0 to 1."""
    return rng.uniform(size=(RANDOM_DRAWS, len(known)))


@dataclass(frozen=True)
class Kinds:
    """The best alpha of each stated kind, and a guess of the kind from the query embedding."""

    fit: QueryRanks

    def alphas(self, kinds: Sequence[str | None], budget: int) -> Array:
        """[B]; a kind that the fitting requests never stated gets the static alpha."""
        by_kind = self._by_kind(budget)
        static = static_alpha(self.fit, budget)
        return np.array([by_kind.get(kind or "", static) for kind in kinds])

    def guess(self, vectors: NDArray[np.float32]) -> tuple[str | None, ...]:
        """Kinds of [B, D] query embeddings; None where fewer than two kinds were stated."""
        from sklearn.linear_model import LogisticRegression

        stated = np.array([bool(kind) for kind in self.fit.kinds])
        labels = [kind for kind in self.fit.kinds if kind]
        if len(set(labels)) < 2:
            return (None,) * len(vectors)
        # Unit vectors have small coordinates: the default C = 1 would shrink almost to a constant.
        model = LogisticRegression(C=10.0, max_iter=2000)
        model.fit(self.fit.text_vectors[stated], labels)
        return tuple(str(kind) for kind in model.predict(vectors))

    def _by_kind(self, budget: int) -> Mapping[str, float]:
        hits = hits_by_alpha(budget, self.fit.text, self.fit.mm)
        kinds = np.array([kind or "" for kind in self.fit.kinds])
        return {str(k): best_alpha(hits[:, kinds == k]) for k in set(kinds.tolist()) if k}


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
