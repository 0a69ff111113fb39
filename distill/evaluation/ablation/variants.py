"""The method with one part taken out: what each ablation changes, and nothing else.

Ablations of the loop (start, pseudo-queries, memory) are switches of the config's teacher; labels,
constants and scorer stay those of the full method. Ablations of what follows exchange one part of
the served path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.config import Config
from adamroute.distill.evaluation.ablation.schema import AblationName
from adamroute.retrieval.dual import Candidates, DualRetriever, Origin
from adamroute.teacher.constants import BLIND_BUDGET
from adamroute.theta import Theta

SWITCHES: Mapping[AblationName, Mapping[str, JsonValue]] = {
    "full": {},
    "no_start": {"collaborative_start": False},
    "no_pseudo_queries": {"evidence": 0},
    "no_memory": {"memory": False},
}
FIXED_ALPHAS: Mapping[AblationName, float] = {"no_routing": 0.5, "text_only": 1.0, "mm_only": 0.0}


def switched(config: Config, name: AblationName) -> Config:
    """The config with the teacher's part switched off."""
    teacher = config.teacher.model_copy(update=dict(SWITCHES[name]))
    return config.model_copy(update={"teacher": teacher})


def fixed_theta(name: AblationName, tau: int) -> Theta:
    """Theta without adaptive routing, and of the single branches: K = min(800, tau)."""
    return Theta(FIXED_ALPHAS[name], min(BLIND_BUDGET, tau))


class LooksKept(DualRetriever):
    """Recall without attribute filtering: no candidate counts as found by text alone."""

    def search(
        self,
        text_query: NDArray[np.float32],
        mm_query: NDArray[np.float32],
        theta: Theta,
        extra_rows: Sequence[int] = (),
    ) -> Candidates:
        found = super().search(text_query, mm_query, theta, extra_rows)
        kept: tuple[Origin, ...] = tuple(
            "both" if origin == "text" else origin for origin in found.origin
        )
        return replace(found, origin=kept)
