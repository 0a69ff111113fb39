"""Difficulty matching: template queries find their targets too easily (DESIGN, section 4).

Per branch one factor on the ranks of template queries, so that their mean log-rank equals that of
the shop's real train queries. Without it, labels from such ranks gain nothing over a static split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import LabelError

_STEPS = 80  # of bisection: past float64's last digit


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What ranks of template queries are multiplied by; 1 where a shop has no real queries."""

    text: float = 1.0
    mm: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 < self.text < np.inf and 0.0 < self.mm < np.inf):
            raise LabelError(f"{self}: difficulty factors must be positive and finite")

    def matched(
        self, text_ranks: NDArray[np.int64], mm_ranks: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ranks as a real query would have had them: real numbers, at least 1."""
        return np.maximum(1.0, self.text * text_ranks), np.maximum(1.0, self.mm * mm_ranks)


def match_factor(template: NDArray[np.int64], real: NDArray[np.int64]) -> float:
    """f with mean ln max(1, f r) over template ranks equal to mean ln r over real ranks.

    1 where either is empty. The mean rises with f, so bisection finds it; where all real ranks
    are 1, any small enough f would do and the largest of them is taken.
    """
    if not len(template) or not len(real):
        return 1.0
    wanted = float(np.log(real).mean())
    logs = np.log(template)
    low, high = -float(logs.max()), wanted  # e^low sends all ranks to 1, e^high is too much
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        too_hard = float(np.maximum(0.0, middle + logs).mean()) > wanted
        low, high = (low, middle) if too_hard else (middle, high)
    return float(np.exp(low))
