"""Theta = (alpha, K): how one request spends its recall budget, and the bins students predict.

Two ways to spend it (`Combine`). `split`, the paper's: alpha of K items come from the text branch,
the rest from the multimodal one. `fused`: the K items that lie highest by alpha z(text) +
(1 - alpha) z(multimodal), z over the catalogue. Fused recalls more on every shop that was measured
(EXPERIMENTS.md), and at alpha .5 it is what a shop without evidence should have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import ThetaError

Combine = Literal["split", "fused"]

ALPHAS: tuple[float, ...] = tuple(i / 10 for i in range(11))
BUDGETS: tuple[int, ...] = (20, 40, 80, 120, 200, 320, 560, 1000)


@dataclass(frozen=True, slots=True)
class Theta:
    """How one request divides its recall budget."""

    alpha: float  # share that text recall may fill, 0 to 1
    budget: int  # K, candidates handed to the reranker, 1 to tau

    def __post_init__(self) -> None:
        if not (0.0 <= self.alpha <= 1.0 and self.budget >= 1):  # NaN fails here too
            raise ThetaError(f"{self}: need 0 <= alpha <= 1 and budget >= 1")

    def split(self) -> tuple[int, int]:
        """(n_txt, n_mm), which sum to the budget; halves go to text (CONTRACTS: round half up)."""
        # The tiny term undoes binary fractions: .35 * 10 is 3.4999999999999996.
        n_text = math.floor(self.alpha * self.budget + 0.5 + 1e-9)
        return n_text, self.budget - n_text

    def weight(self, combine: Combine) -> float:
        """Alpha as it is spent: a split's is the share of whole candidates that text got."""
        return self.alpha if combine == "fused" else self.split()[0] / self.budget


def alpha_bin(alpha: float) -> int:
    """The bin nearest to an alpha, on or off the grid."""
    return int(np.argmin(np.abs(np.array(ALPHAS) - alpha)))


@dataclass(frozen=True)
class Bins:
    """The grid of thetas that labels and students speak of: alphas times the budgets <= tau."""

    tau: int  # largest budget, min(config tau, N)
    combine: Combine = "split"  # what an alpha means

    def __post_init__(self) -> None:
        if self.tau < 1:
            raise ThetaError(f"tau = {self.tau}: need at least 1")

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """K bins in rising order; a shop smaller than the first bin gets the one bin tau."""
        return tuple(k for k in BUDGETS if k <= self.tau) or (self.tau,)

    @property
    def shape(self) -> tuple[int, int]:
        """(alphas, budgets), the shape of every surface."""
        return len(ALPHAS), len(self.budgets)

    @cached_property
    def n_text(self) -> NDArray[np.int64]:
        """[A, K] text share of every bin."""
        return np.array([[Theta(a, k).split()[0] for k in self.budgets] for a in ALPHAS])

    @cached_property
    def n_mm(self) -> NDArray[np.int64]:
        """[A, K] multimodal share of every bin."""
        return np.array(self.budgets)[None, :] - self.n_text

    def theta(self, alpha_bin: int, budget_bin: int) -> Theta:
        """The theta at one bin of the grid."""
        return Theta(ALPHAS[alpha_bin], self.budgets[budget_bin])

    def best(self, surface: NDArray[np.float64]) -> tuple[int, int]:
        """Bin of the largest value of [A, K]; ties to the smallest K, then the alpha near .5."""
        if surface.shape != self.shape:
            raise ThetaError(f"surface {surface.shape}: the bins are {self.shape}")
        alpha_bins, budget_bins = np.nonzero(surface >= surface.max() - 1e-12)
        order = np.lexsort((alpha_bins, np.abs(alpha_bins - 5), budget_bins))
        return int(alpha_bins[order[0]]), int(budget_bins[order[0]])
