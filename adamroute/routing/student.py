"""The student's seam: one pass from query and profile to a distribution over theta's bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import PreferenceProfile
from adamroute.theta import Theta


@dataclass(frozen=True)
class Prediction:
    """What a student believes of one request."""

    alpha_probs: NDArray[np.float64]  # [A], sums to 1
    budget_probs: NDArray[np.float64]  # [K], given the alpha it chose, sums to 1
    theta: Theta
    bin_mass: float  # share of the model's probability on the bins, 1 where it knows only bins


@dataclass(frozen=True)
class RoutingInput:
    """What a student may read of one request."""

    query: str
    profile: PreferenceProfile
    text_vector: NDArray[np.float32] | None  # E_txt(query), [D]; None for one that reads words


class Student(Protocol):
    """Predicts theta in one pass."""

    @property
    def name(self) -> str: ...

    @property
    def reads_vectors(self) -> bool:
        """Whether inputs must hold E_txt(query); else the words alone are read."""
        ...

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:
        """One prediction an input, in order; RequestError where a vector is needed and absent."""
        ...
