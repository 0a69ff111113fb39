"""Five levels of fit, and the order of candidates by expected level (paper, section 3.4).

`OrdinalReranker` has one linear predictor f = x . w. P(5), that a candidate is the one item asked
for, is a logistic of f; the others share the rest by proportional odds, P(grade <= l | not 5) =
sigmoid(threshold_l - f). Inference is numpy; training/reranker_fit.py fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from adamroute.errors import ArtifactError
from adamroute.reranking.features import FEATURES, READING, Case, with_theta
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


class Weights(BaseModel):
    """A linear order of candidates, and the thresholds between their grades."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]  # of every feature over all candidates
    weights: tuple[float, ...]
    top: tuple[float, float]  # bias and slope of the fit in the log-odds of grade 5
    thresholds: tuple[float, float, float]  # between grades 1 to 4

    @model_validator(mode="after")
    def _agree(self) -> Weights:
        sizes = {len(self.features), len(self.mean), len(self.scale), len(self.weights)}
        if len(sizes) != 1:
            raise ValueError(f"{len(self.features)} features, wanted as many means and weights")
        if any(np.diff(self.thresholds) < 0) or not all(s > 0 for s in self.scale):
            raise ValueError("thresholds must rise and scales be above 0")
        if self.top[1] < 0:
            raise ValueError("a better fit must not lower grade 5")
        return self

    def parts(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """[K, F]: what each feature adds to the fit of each candidate."""
        standard = (features - np.array(self.mean)) / np.array(self.scale)
        return np.asarray(standard * np.array(self.weights), np.float64)

    def grades(self, features: NDArray[np.float64]) -> Grades:
        """[K, 5] of candidates."""
        fits = self.parts(features).sum(axis=1)
        top = _sigmoid(self.top[0] + self.top[1] * fits)[:, None]
        below = _sigmoid(np.array(self.thresholds) - fits[:, None])
        others = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0.0, 1.0)), axis=1)
        return np.hstack([(1.0 - top) * others, top])


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1.0 + np.tanh(x / 2.0)), np.float64)  # stable at both ends


class RerankerFile(BaseModel):
    """reranker.json: one order that reads theta, and one for requests whose theta is fixed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[2] = 2
    reading: Weights  # of FEATURES, then those of READ times alpha
    blind: Weights  # of FEATURES

    @model_validator(mode="after")
    def _known(self) -> RerankerFile:
        wanted = {"reading": (*FEATURES, *READING), "blind": FEATURES}
        for name, features in wanted.items():
            if (found := getattr(self, name).features) != features:
                raise ValueError(f"{name} weighs {found}, this version reads {features}")
        return self


class OrdinalReranker:
    """A linear order of candidates by listwise loss, graded by proportional odds."""

    def __init__(self, file: RerankerFile) -> None:
        self._file = file

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
        return dict(zip(self._file.reading.features, self._file.reading.weights, strict=True))

    def score(self, case: Case) -> Grades:
        """Grades of all candidates."""
        weights, features = self._weighed(case)
        return weights.grades(features)

    def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """Weight times standardised feature: their sum orders the candidates."""
        weights, features = self._weighed(case)
        return [
            dict(zip(weights.features, row, strict=True))
            for row in weights.parts(features).tolist()
        ]

    def _weighed(self, case: Case) -> tuple[Weights, NDArray[np.float64]]:
        if case.alpha is None:
            return self._file.blind, case.features
        return self._file.reading, with_theta(case.features, case.alpha)

    def save(self, folder: Path) -> None:
        """Write reranker.json into the folder."""
        write_text(folder / RERANKER_FILE, self._file.model_dump_json(indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> OrdinalReranker:
        """Read reranker.json; ArtifactError where it is absent or of another form."""
        path = folder / RERANKER_FILE
        try:
            return cls(RerankerFile.model_validate_json(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise ArtifactError(f"{path}: not there. Fit it: adamroute train CONFIG") from error
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise ArtifactError(
                f"{path}: not a re-ranker of format 2 ({reason}). Fit it: adamroute train CONFIG"
            ) from error


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
