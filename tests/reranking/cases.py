"""A request with candidates for re-rankers that read."""

from __future__ import annotations

import numpy as np

from adamroute.catalogue.request import PreferenceProfile
from adamroute.reranking.features import FEATURES, Case
from adamroute.retrieval.dual import Candidates, Origin

WISHES = PreferenceProfile(("wool", "round"), ("low pile",), ("glossy",))


def case_of(*profiles: str, query: str = "round red rug") -> Case:
    """Candidates in the order of these profiles."""
    count = len(profiles)
    ranks = np.arange(1, count + 1)
    both: Origin = "both"
    found = Candidates(
        rows=np.arange(count),
        text_ranks=ranks,
        mm_ranks=ranks,
        text_scores=np.zeros(count, np.float32),
        mm_scores=np.zeros(count, np.float32),
        origin=(both,) * count,
    )
    return Case(query, WISHES, found, np.zeros((count, len(FEATURES))), profiles, None)
