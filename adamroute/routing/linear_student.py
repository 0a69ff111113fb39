"""`linear_student`: ridge regression from the query embedding, the LoRA student's honest baseline.

It predicts the soft label itself, so like the LoRA student it averages the labels of like queries.
A linear output may leave [0, 1]; it is clipped and normalised. Inference is one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import read_arrays
from adamroute.errors import ArtifactError, RequestError
from adamroute.leaning import Leaning
from adamroute.routing.student import Prediction, RoutingInput
from adamroute.theta import Bins

LINEAR_FILE = "linear.npz"
FLOOR = 1e-6  # least weight of a bin before normalising: a log-probability must stay finite


@dataclass(frozen=True)
class LinearStudent:
    """`Student` of numpy alone; it reads the query's embedding and ignores the profile."""

    weights: NDArray[np.float64]  # [D, A * K]
    intercept: NDArray[np.float64]  # [A * K]
    bins: Bins
    leaning: Leaning
    name: str = "linear"
    reads_vectors: bool = True

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:
        """RequestError where an input has no vector."""
        if not inputs:
            return []
        vectors = [x.text_vector for x in inputs if x.text_vector is not None]
        if len(vectors) != len(inputs):
            raise RequestError("query", "the linear student reads E_txt of the query, got none")
        return [self._prediction(scores) for scores in self.scores(np.stack(vectors))]

    def scores(self, text_vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """[B, A, K], the regression's own output: near a distribution over the bins."""
        # einsum, not BLAS: the result of a row must not depend on how many come with it.
        found = np.einsum("bd,dx->bx", text_vectors.astype(np.float64), self.weights)
        return np.asarray((found + self.intercept).reshape(-1, *self.bins.shape), np.float64)

    def _prediction(self, scores: NDArray[np.float64]) -> Prediction:
        alphas = alpha_probs(scores)
        alpha = self.leaning.bin(alphas)
        budgets = _distribution(scores[alpha])
        theta = self.bins.theta(alpha, int(np.argmax(budgets)))
        return Prediction(alphas, budgets, theta, bin_mass=1.0)

    def save(self, folder: Path) -> None:
        """Write linear.npz, plain arrays."""
        np.savez(
            folder / LINEAR_FILE,
            weights=self.weights,
            intercept=self.intercept,
            tau=np.array(self.bins.tau),
            leaning=np.array([self.leaning.scale, self.leaning.reach]),
        )

    @classmethod
    def load(cls, folder: Path) -> LinearStudent:
        """The student of a train stage's folder; ArtifactError where it is absent or misshapen."""
        path = folder / LINEAR_FILE
        try:
            arrays = read_arrays(path)
            weights, intercept = arrays["weights"], arrays["intercept"]
            bins = Bins(int(arrays["tau"]))
            scale, reach = arrays["leaning"].tolist()
            leaning = Leaning(scale=scale, reach=reach)
        except (OSError, ValueError, KeyError) as error:
            raise ArtifactError(
                f"{path}: no linear student ({error}). Run: adamroute train CONFIG"
            ) from error
        outputs = bins.shape[0] * bins.shape[1]
        if weights.ndim != 2 or weights.shape[1] != outputs or intercept.shape != (outputs,):
            raise ArtifactError(
                f"{path}: weights {weights.shape}, intercept {intercept.shape}; tau {bins.tau} "
                f"wants {outputs} outputs. Run: adamroute train CONFIG"
            )
        return cls(weights, intercept, bins, leaning)


def alpha_probs(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """[A], sums to 1, from the regression's [A, K]."""
    return _distribution(scores.sum(axis=1))


def _distribution(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = np.maximum(scores, FLOOR)
    return np.asarray(kept / kept.sum(), dtype=np.float64)
