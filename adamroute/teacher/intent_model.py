"""Query composition: how visual, functional or mixed a query is, and what that means for theta.

Both halves are fitted on written requests alone: a softmax regression from e_txt(q) to
P(kind | q), which other shops' phrases help to fit, and each kind's mean belief. No query's stated
kind is ever read (CONTRACTS, "Who may see what").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import read_arrays
from adamroute.catalogue.item_words import INTENTS
from adamroute.errors import ArtifactError
from adamroute.teacher.belief import Belief, mixture, undecided

FEWEST = 30  # written requests of a kind that tell what serves it
WORTH = 50.0  # logged requests of a kind that all its written ones count as
# sklearn's C. On the ikea queries P(kind) is calibrated at 10 and too unsure of itself at 1, but
# votes mixed by the unsure one choose better: +.030 against +.028 (EXPERIMENTS.md).
INVERSE_PENALTY = 1.0


@dataclass(frozen=True, eq=False)
class IntentModel:
    """P(kind | q) and the mean belief of each kind."""

    weights: NDArray[np.float64]  # [3, D], kinds in the order of INTENTS
    bias: NDArray[np.float64]  # [3]
    surfaces: NDArray[np.float64]  # [3, A, K]
    votes: NDArray[np.float64]  # [3, A], for each alpha

    def kinds(self, text_vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """P(kind | q) of unit vectors [B, D], as [B, 3] rows that sum to 1."""
        # vecdot: a matrix product may round a row differently in another batch.
        logits = np.vecdot(self.weights, text_vectors.astype(np.float64)[:, None]) + self.bias
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
        arrays = read_arrays(path)
        names = ("weights", "bias", "surfaces", "votes")
        return IntentModel(*(arrays[name] for name in names))
    except (OSError, KeyError, ValueError) as error:
        raise ArtifactError(
            f"{path}: not a composition file ({error}). Run: adamroute label CONFIG"
        ) from error


@dataclass(frozen=True, eq=False)
class KnownIntents:
    """Requests whose intent is known: E_txt [R, D] and kinds."""

    vectors: NDArray[np.float32]
    kinds: Sequence[str | None]


@dataclass(frozen=True, eq=False)
class KnownOutcomes:
    """Requests of which is known what would have served them: E_txt [R, D] and beliefs."""

    vectors: NDArray[np.float32]
    votes: NDArray[np.float64]  # [R, A]
    surfaces: NDArray[np.float64]  # [R, A, K]

    def mean(self, weights: NDArray[np.float64], before: Belief, worth: float) -> Belief:
        """Weighted mean belief, `before` counting as `worth` requests; weights are [R]."""
        total = worth + weights.sum()
        return Belief(
            (worth * before.votes + weights @ self.votes) / total,
            (worth * before.surface + np.tensordot(weights, self.surfaces, axes=1)) / total,
        )


def fit_intent_model(
    written: KnownOutcomes,
    kinds: Sequence[str | None],
    *,
    anywhere: KnownIntents,
    logged: KnownOutcomes,
) -> IntentModel:
    """From the shop's written requests, whose kinds are known, and its logged ones.

    `anywhere` are requests of other shops, which tell kinds apart as well. What serves a kind is
    the mean of its written requests, which count as `WORTH` logged ones of it; of a kind with
    fewer than `FEWEST` nothing is known but what logged ones say.
    """
    weights, bias = _softmax_regression(
        np.concatenate([written.vectors, anywhere.vectors]),
        np.array([INTENTS.index(kind) for kind in (*kinds, *anywhere.kinds)]),
    )
    shown = written if len(written.votes) else logged
    nothing = undecided(shown.surfaces.mean(axis=0))
    known = IntentModel(weights, bias, np.empty(0), np.empty(0)).kinds(logged.vectors)
    beliefs = []
    for kind, likely in zip(INTENTS, known.T, strict=True):
        own = np.array([k == kind for k in kinds], np.float64)
        before = written.mean(own, nothing, 0.0) if own.sum() >= FEWEST else nothing
        beliefs.append(logged.mean(likely, before, WORTH))
    surfaces, votes = [b.surface for b in beliefs], [b.votes for b in beliefs]
    return IntentModel(weights, bias, np.stack(surfaces), np.stack(votes))


def _softmax_regression(
    vectors: NDArray[np.float32], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [3, D] and bias [3]; every kind is among the codes, phrases hold them all."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=500)
    model.fit(vectors.astype(np.float64), codes)
    return model.coef_, model.intercept_
