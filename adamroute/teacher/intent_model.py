"""Query composition: how visual, functional or mixed a query is, and what that means for theta.

Both halves are fitted on synthetic requests of the catalogue alone: a softmax regression from
e_txt(q) to P(kind | q), and each kind's mean belief. No query's stated kind is ever read
(CONTRACTS, "Who may see what").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS
from adamroute.errors import ArtifactError, LabelError
from adamroute.teacher.belief import Belief, mixture

ABSENT = -30.0  # logit of a kind that no synthetic request has
# sklearn's C. On the ikea queries P(kind) is calibrated at 10 and too unsure of itself at 1, but
# votes mixed by the unsure one choose better: +.030 against +.028 (EXPERIMENTS.md).
INVERSE_PENALTY = 1.0


@dataclass(frozen=True, eq=False)
class IntentModel:
    """P(kind | q) and the mean belief of each kind."""

    weights: NDArray[np.float64]  # [3, D], kinds in the order of INTENTS
    bias: NDArray[np.float64]  # [3]
    surfaces: NDArray[np.float64]  # [3, A, K], difficulty-matched
    votes: NDArray[np.float64]  # [3, A], for each alpha

    def kinds(self, text_vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """P(kind | q) of unit vectors [B, D], as [B, 3] rows that sum to 1."""
        # Row by row: a matrix product may round a row differently in another batch.
        logits = np.stack([self.weights @ v for v in text_vectors.astype(np.float64)]) + self.bias
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def prior(self, kinds: NDArray[np.float64]) -> Belief:
        """What to expect of a query with these P(kind), [3]."""
        return mixture(kinds, self.votes, self.surfaces)

    def save(self, path: Path) -> None:
        """Write as npz of plain arrays."""
        np.savez(
            path,
            weights=self.weights,
            bias=self.bias,
            surfaces=self.surfaces,
            votes=self.votes,
        )


def load_intent_model(path: Path) -> IntentModel:
    """Read what `save` wrote. ArtifactError where it is not there or not that."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names = ("weights", "bias", "surfaces", "votes")
            return IntentModel(*(arrays[name] for name in names))
    except (OSError, KeyError, ValueError) as error:
        raise ArtifactError(
            f"{path}: not a composition file ({error}). Run: adamroute label CONFIG"
        ) from error


def fit_intent_model(
    text_vectors: NDArray[np.float32],
    kinds: Sequence[str | None],
    surfaces: NDArray[np.float64],
    votes: NDArray[np.float64],
    fallback: Belief | None = None,
) -> IntentModel:
    """From synthetic requests: e_txt [R, D], kinds, matched surfaces [R, A, K] and votes [R, A].

    A kind that no request has gets probability 0 and the mean of all. Without any request all
    kinds are equally likely and share `fallback`; LabelError where that is missing too.
    """
    if not len(kinds):
        if fallback is None:
            raise LabelError(
                "no synthetic requests and no train queries: nothing to learn from. "
                "Set labels.synthetic_requests above 0 or give the shop queries"
            )
        return IntentModel(
            np.zeros((len(INTENTS), text_vectors.shape[1])),
            np.zeros(len(INTENTS)),
            np.stack([fallback.surface] * len(INTENTS)),
            np.stack([fallback.votes] * len(INTENTS)),
        )
    codes = np.array([INTENTS.index(kind) for kind in kinds])
    weights, bias = _softmax_regression(text_vectors, codes)
    return IntentModel(weights, bias, _kind_means(surfaces, codes), _kind_means(votes, codes))


def _kind_means(rows: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean row of every kind, of all rows where a kind has none."""
    has = [codes == kind for kind in range(len(INTENTS))]
    return np.stack([(rows[own] if own.any() else rows).mean(axis=0) for own in has])


def _softmax_regression(
    vectors: NDArray[np.float32], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from sklearn.linear_model import LogisticRegression

    weights = np.zeros((len(INTENTS), vectors.shape[1]))
    bias = np.full(len(INTENTS), ABSENT)
    present = np.unique(codes)
    if len(present) == 1:
        bias[present] = 0.0
        return weights, bias
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=500)
    model.fit(vectors.astype(np.float64), codes)
    if len(present) == 2:  # sklearn then keeps one row, the log-odds of the second class
        weights[present] = np.stack([-model.coef_[0] / 2, model.coef_[0] / 2])
        bias[present] = np.array([-0.5, 0.5]) * model.intercept_[0]
    else:
        weights, bias = model.coef_, model.intercept_
    return weights, bias
