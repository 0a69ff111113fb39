"""The student's seam: one pass from query and profile to a distribution over theta's bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adamroute.routing.theta import Theta
from adamroute.scoring.profiles import PreferenceProfile


@dataclass(frozen=True)
class Prediction:
    """What a student believes of one request."""

    alpha_probs: NDArray[np.float64]  # [A], sums to 1
    budget_probs: NDArray[np.float64]  # [K], given the alpha it chose, sums to 1
    theta: Theta
    bin_mass: float  # share of the model's probability on the bins, 1 where it knows only bins


class Student(Protocol):
    """Predicts theta in one pass; `linear_student` is the honest baseline of the LoRA student."""

    @property
    def name(self) -> str: ...

    def predict(
        self, query: str, profile: PreferenceProfile, text_vector: NDArray[np.float32]
    ) -> Prediction:
        """`text_vector` is E_txt(query), [D]; a student that reads the words may ignore it."""
        ...
