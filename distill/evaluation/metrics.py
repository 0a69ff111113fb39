"""Every metric of every table: one dictionary, from a name to a function of one router's answers.

A new metric is one entry here: it then stands in the rows of all reports, with its interval and
its paired difference, and as a column of their pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from adamroute.distill.evaluation.outcomes import Answers
from adamroute.distill.evaluation.splits import CURVE_BUDGETS, FIXED_BUDGETS, Array, Hits
from adamroute.retrieval.replay import regrets
from adamroute.theta import Theta


def hr_at(ranks: Array, k: int) -> Array:
    """hr@k of ranks [R], 1-based, infinite where the item is absent: 1 within the first k."""
    return (ranks <= k).astype(np.float64)


def ndcg_at(ranks: Array, k: int) -> Array:
    """ndcg@k with one relevant item: 1 / log2(1 + rank) within the first k, else 0."""
    return np.where(ranks <= k, 1.0 / np.log2(1.0 + ranks), 0.0)


def reciprocal(ranks: Array) -> Array:
    """1 / rank, 0 where the item is absent; its mean is MRR."""
    return 1.0 / ranks


@dataclass(frozen=True)
class Metric:
    """One number a request, [B], or one a draw of chance, [D, B], which is averaged over draws."""

    of: Callable[[Answers], Array | Hits]
    heading: str = ""  # of its column in the pages; "" where it has none
    compared: bool = False  # stands in every row, with its interval and its paired difference
    percent: bool = True  # shown as a share in per cent, else with three digits
    of_places: Callable[[Array], Array] | None = None  # the same from places [R] in an answer

    def values(self, answers: Answers) -> Array:
        """[B]"""
        found = self.of(answers)
        return np.asarray(found.mean(axis=0) if found.ndim == 2 else found, np.float64)


def of_place(heading: str, of_places: Callable[[Array], Array], *, percent: bool = True) -> Metric:
    """A metric of the wanted item's place in the ordered answer, by exact item id, ties lost."""
    return Metric(lambda a: of_places(a.places), heading, True, percent, of_places)


def _recall_at(k: int) -> Metric:
    return Metric(lambda a: a.hits_at(k).mean(axis=0))


METRICS: dict[str, Metric] = {
    "recall": Metric(lambda a: a.hits, "recall", compared=True),  # of routed candidates
    "recall_augmented": Metric(
        lambda a: a.hits | a.brought, "with neighbours' items", compared=True
    ),  # the paper's Recall
    "recall_pessimistic": Metric(lambda a: a.worst_hits, "ties lost", compared=True),
    **{f"hr@{k}": of_place(f"HR@{k}", partial(hr_at, k=k)) for k in (5, 10, 20, 40)},
    "mrr": of_place("MRR", reciprocal, percent=False),
    "ndcg@5": of_place("", partial(ndcg_at, k=5), percent=False),
    "ndcg@10": of_place("NDCG@10", partial(ndcg_at, k=10), percent=False),
    "ndcg@20": of_place("NDCG@20", partial(ndcg_at, k=20), percent=False),
    "ndcg@40": of_place("NDCG@40", partial(ndcg_at, k=40), percent=False),
    "recall_at_k_mean": Metric(
        lambda a: np.mean([a.hits_at(k).mean(axis=0) for k in FIXED_BUDGETS], axis=0),
        compared=True,
    ),
    **{f"recall@{k}": _recall_at(k) for k in sorted({*FIXED_BUDGETS, *CURVE_BUDGETS})},
    "regret": Metric(lambda a: _regrets(a)),
    "budget": Metric(lambda a: a.budgets),
    "candidates": Metric(lambda a: a.candidates),
    "fell_back": Metric(lambda a: a.cost("fell_back")),
    "llm_calls": Metric(lambda a: a.cost("llm_calls")),
    "tokens": Metric(lambda a: a.cost("tokens")),
    "ms": Metric(lambda a: a.ms),
}
AT_FIXED = tuple(f"recall@{k}" for k in FIXED_BUDGETS)
COSTS = ("budget", "candidates", "fell_back", "llm_calls", "tokens", "ms")


def compared() -> tuple[str, ...]:
    """The metrics that stand in every row, in order."""
    return tuple(name for name, metric in METRICS.items() if metric.compared)


def placed() -> Mapping[str, Callable[[Array], Array]]:
    """Those of them that need no more than the item's place in an ordered answer."""
    return {name: m.of_places for name, m in METRICS.items() if m.of_places is not None}


def auc(scores: Array, positive: Hits) -> float | None:
    """P(a positive scores higher than a negative), ties half; None where one class is absent."""
    from sklearn.metrics import roc_auc_score

    if positive.all() or not positive.any():
        return None
    return float(roc_auc_score(positive, scores))


def kl_divergence(truth: Array, guess: Array) -> Array:
    """KL(truth || guess) in nats of rows of probabilities [R, A]; guesses are floored at 1e-12."""
    floor = 1e-12
    ratio = np.log(np.maximum(truth, floor)) - np.log(np.maximum(guess, floor))
    return np.asarray(np.maximum((truth * ratio).sum(axis=1), 0.0))


def _regrets(answers: Answers) -> Array:
    """[B] routing regret of the first draw's thetas, in soft recall."""
    pairs = zip(answers.alphas[0].tolist(), answers.budgets[0].tolist(), strict=True)
    thetas = [Theta(alpha, int(budget)) for alpha, budget in pairs]
    return regrets(answers.known.ranks, thetas, answers.combine)
