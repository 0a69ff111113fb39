"""Alphas by replay alone: the best fixed one, the best of each kind, and hindsight.

Each gives the alpha of every request at a given K (CONTRACTS, "At fixed K").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import TargetRanks, text_share
from adamroute.theta import ALPHAS, Combine

Array = NDArray[np.float64]
Hits = NDArray[np.bool_]
FIXED_BUDGETS = (20, 40, 100)  # at which every router keeps its split and pays the same
CURVE_BUDGETS = (10, 20, 40, 60, 100, 200)
NEIGHBOURS = 20  # past requests that row `knn` asks


def hits_at(alphas: Array, budgets: Array, ranks: TargetRanks, combine: Combine) -> Hits:
    """Which targets are recalled: alphas and budgets [..., B] of B targets, to [..., B].

    Fused ranks are known at the alpha bins; another alpha is taken for the nearest of them.
    """
    if combine == "fused":
        bins = np.floor(alphas * (len(ALPHAS) - 1) + 0.5).astype(np.int64)
        return np.asarray(ranks.fused[np.arange(len(ranks)), bins] <= budgets)
    n_text = text_share(alphas, budgets)
    return np.asarray((ranks.text <= n_text) | (ranks.mm <= budgets - n_text))


def hits_by_alpha(budget: int, ranks: TargetRanks, combine: Combine) -> Hits:
    """[A, B]: hits of every alpha bin at one K."""
    alphas = np.repeat(np.array(ALPHAS)[:, None], len(ranks), axis=1)
    return hits_at(alphas, np.full((1, 1), float(budget)), ranks, combine)


def best_alpha(hits: Hits) -> float:
    """The alpha bin with most hits of [A, B]; ties to the one nearest .5, then the smaller."""
    counts = hits.sum(axis=1)
    order = np.lexsort((np.arange(len(ALPHAS)), np.abs(np.array(ALPHAS) - 0.5).round(9), -counts))
    return ALPHAS[int(order[0])]


def static_alpha(fit: QueryRanks, budget: int, combine: Combine) -> float:
    """The one alpha that recalls most targets of the fitting requests at this K."""
    return best_alpha(hits_by_alpha(budget, fit.ranks, combine))


def oracle_alphas(known: QueryRanks, budget: int, combine: Combine) -> Array:
    """[B]: per request the alpha nearest .5 that recalls the target, .5 where none does."""
    hits = hits_by_alpha(budget, known.ranks, combine)
    return np.array([best_alpha(hits[:, [b]]) for b in range(len(known))])


def nearest_alphas(
    fit: QueryRanks, vectors: NDArray[np.float32], budget: int, combine: Combine
) -> Array:
    """[B]: the alpha that recalls most among the nearest past requests, by E_txt [B, D]."""
    hits = hits_by_alpha(budget, fit.ranks, combine)
    near = np.argsort(-(vectors @ fit.text_vectors.T), axis=1, kind="stable")[:, :NEIGHBOURS]
    return np.array([best_alpha(hits[:, rows]) for rows in near])


@dataclass(frozen=True)
class Kinds:
    """The best alpha of each stated kind, and a guess of the kind from the query embedding."""

    fit: QueryRanks
    combine: Combine

    def alphas(self, kinds: Sequence[str | None], budget: int) -> Array:
        """[B]; a kind that the fitting requests never stated gets the static alpha."""
        by_kind = self._by_kind(budget)
        static = static_alpha(self.fit, budget, self.combine)
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

    def _by_kind(self, budget: int) -> dict[str, float]:
        hits = hits_by_alpha(budget, self.fit.ranks, self.combine)
        kinds = np.array([kind or "" for kind in self.fit.kinds])
        return {str(k): best_alpha(hits[:, kinds == k]) for k in set(kinds.tolist()) if k}
