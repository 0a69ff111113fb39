"""Held-out users with known outcomes, and what a student's answers are worth on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.preferences import profile_of
from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import Shop
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.replay import recall_surfaces
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.student import RoutingInput, Student
from adamroute.theta import ALPHAS, Bins


@dataclass(frozen=True)
class HeldOut:
    """H requests of calibration users; their targets' ranks tell the worth of every theta."""

    queries: tuple[str, ...]
    profiles: tuple[PreferenceProfile, ...]
    vectors: NDArray[np.float32]  # [H, D], E_txt of the queries
    surfaces: NDArray[np.float64]  # [H, A, K], P of every bin
    bins: Bins

    def __len__(self) -> int:
        return len(self.queries)


def known_outcomes(shop: Shop, ranks: Path, index: SearchIndex, bins: Bins) -> HeldOut:
    """Calibration requests as a server would see them, each with its outcome beside it.

    `ranks` is the folder of that stage.
    """
    known = known_queries(shop, ranks, "calibration")
    requests = [shop.request(query) for query in known]
    found = load_ranks(ranks, known)
    return HeldOut(
        tuple(request.query for request in requests),
        tuple(profile_of(request.history, index.traits) for request in requests),
        found.text_vectors,
        recall_surfaces(found.ranks, bins),
        bins,
    )


def measure(student: Student, held: HeldOut, epsilon: float) -> Mapping[str, float]:
    """Means over held-out rows: routing regret, share within epsilon, best-alpha hits, bin mass.

    `alpha_hit`: no alpha does better than the chosen one at the chosen K, to 1e-9.
    """
    if not len(held):
        return {}
    asked = zip(held.queries, held.profiles, held.vectors, strict=True)
    answers = student.predict([RoutingInput(*one) for one in asked])
    row = np.arange(len(held))
    alpha = np.array([ALPHAS.index(answer.theta.alpha) for answer in answers])
    budget = np.array([held.bins.budgets.index(answer.theta.budget) for answer in answers])
    reached = held.surfaces[row, alpha, budget]
    regret = held.surfaces[row, :, budget].max(axis=1) - reached
    return {
        "regret": float(regret.mean()),
        "within_epsilon": float((regret <= epsilon).mean()),
        "alpha_hit": float((regret <= 1e-9).mean()),
        "utility": float(reached.mean()),
        "mean_budget": float(np.mean([answer.theta.budget for answer in answers])),
        "bin_mass": float(np.mean([answer.bin_mass for answer in answers])),
    }
