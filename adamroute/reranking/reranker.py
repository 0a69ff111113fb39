"""Five levels of fit, and the order of candidates by expected level (paper, section 3.4).

`OrdinalReranker` is a proportional-odds model: one linear predictor and four rising thresholds,
P(level <= l) = sigmoid(threshold_l - x . w). Inference is numpy; training/reranker_fit.py fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from adamroute.errors import ArtifactError
from adamroute.reranking.features import FEATURES, Case
from adamroute.retrieval.dual import Candidates
from adamroute.stages import digest, write_text

GRADES = (1, 2, 3, 4, 5)
RERANKER_FILE = "reranker.json"
Grades = NDArray[np.float64]  # [K, 5], each row sums to 1


class Reranker(Protocol):
    """Says how well each candidate fits: from its features, or by reading its profile."""

    @property
    def hash(self) -> str: ...

    @property
    def counts(self) -> Mapping[str, float]:
        """What it counted since the start, for reports; empty where it has nothing to say."""
        ...

    def score(self, case: Case) -> Grades:
        """The probability of every grade for every candidate, [K, 5]."""
        ...

    def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """What each feature adds to every candidate's fit, [K]; empty where none is told apart."""
        ...


def expected_grade(levels: Grades) -> NDArray[np.float64]:
    """sum(l * p(l)), [K] in 1 to 5."""
    return np.asarray(levels @ np.array(GRADES, np.float64))


def best_first(levels: Grades, found: Candidates) -> NDArray[np.int64]:
    """Places of the candidates by falling expected level; ties by better rank, then row."""
    best = np.minimum(found.text_ranks, found.mm_ranks)
    return np.lexsort((found.rows, best, -expected_grade(levels)))


class _RerankerFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    thresholds: tuple[float, float, float, float]

    @model_validator(mode="after")
    def _agree(self) -> _RerankerFile:
        sizes = {len(self.features), len(self.mean), len(self.scale), len(self.weights)}
        if self.features != FEATURES or sizes != {len(FEATURES)}:
            raise ValueError(f"features {self.features}, this version reads {FEATURES}")
        if any(np.diff(self.thresholds) < 0) or not all(s > 0 for s in self.scale):
            raise ValueError("thresholds must rise and scales be above 0")
        return self


class OrdinalReranker:
    """Proportional odds over standardised features."""

    def __init__(
        self,
        *,
        mean: NDArray[np.float64],
        scale: NDArray[np.float64],
        weights: NDArray[np.float64],
        thresholds: NDArray[np.float64],
    ) -> None:
        """`mean`, `scale` and `weights` are [F], the four thresholds rise."""
        self._file = _RerankerFile(
            features=FEATURES,
            mean=tuple(mean.tolist()),
            scale=tuple(scale.tolist()),
            weights=tuple(weights.tolist()),
            thresholds=tuple(thresholds.tolist()),
        )
        self._mean, self._scale, self._weights = mean, scale, weights
        self._thresholds = thresholds

    @property
    def hash(self) -> str:
        """Name of these weights, 16 hex digits."""
        return digest(self._file.model_dump(mode="json"))

    @property
    def counts(self) -> Mapping[str, float]:
        return {}

    @property
    def weights(self) -> Mapping[str, float]:
        """Weight of every standardised feature, for a person to read."""
        return dict(zip(FEATURES, self._weights.tolist(), strict=True))

    def score(self, case: Case) -> Grades:
        """Level probabilities of all candidates."""
        return self.levels(case.features)

    def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """Weight times standardised feature: their sum orders the candidates."""
        parts = (case.features - self._mean) / self._scale * self._weights
        return [dict(zip(FEATURES, row, strict=True)) for row in parts.tolist()]

    def levels(self, features: NDArray[np.float64]) -> Grades:
        """Level probabilities [K, 5] of [K, F] features."""
        fit = ((features - self._mean) / self._scale) @ self._weights
        below = 0.5 * (1.0 + np.tanh((self._thresholds - fit[:, None]) / 2.0))  # a stable sigmoid
        edges = np.pad(below, ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
        return np.diff(edges, axis=1)

    def save(self, folder: Path) -> None:
        """Write reranker.json into the folder."""
        write_text(folder / RERANKER_FILE, self._file.model_dump_json(indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> OrdinalReranker:
        """Read reranker.json; ArtifactError where it is absent or of another form."""
        path = folder / RERANKER_FILE
        try:
            read = _RerankerFile.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ArtifactError(f"{path}: not there. Fit it: adamroute train CONFIG") from error
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ArtifactError(
                f"{path}: not a re-ranker of format 1 ({reason}). Fit it: adamroute train CONFIG"
            ) from error
        return cls(
            mean=np.array(read.mean),
            scale=np.array(read.scale),
            weights=np.array(read.weights),
            thresholds=np.array(read.thresholds),
        )


class RetrievalOrder:
    """Re-ranker without preferences: candidates stay in the order in which retrieval gave them.

    That is by the better of their two ranks; the neighbours' items come last.
    """

    hash = "retrieval-order"
    counts: Mapping[str, float] = {}

    def score(self, case: Case) -> Grades:
        """All mass on the first and the last grade, the last one's falling with the place."""
        grades = np.zeros((len(case.candidates), len(GRADES)))
        grades[:, -1] = 1.0 - np.arange(len(grades)) / max(len(grades), 1)
        grades[:, 0] = 1.0 - grades[:, -1]
        return grades

    def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """Nothing is weighed."""
        return [{}] * len(case.candidates)
