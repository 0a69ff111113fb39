"""Re-rankers whose weights are said."""

from __future__ import annotations

from collections.abc import Mapping

from adamroute.reranking.features import FEATURES, READING
from adamroute.reranking.reranker import OrdinalReranker, RerankerFile, Weights

THRESHOLDS = (-4.0, -3.0, -2.0)


def weights(
    said: Mapping[str, float],
    *,
    reads: bool = False,
    top: tuple[float, float] = (1.0, 1.0),
    thresholds: tuple[float, float, float] = THRESHOLDS,
) -> Weights:
    """Features as they are, each with what is said of it, else 0."""
    features = (*FEATURES, *READING) if reads else FEATURES
    return Weights(
        features=features,
        mean=(0.0,) * len(features),
        scale=(1.0,) * len(features),
        weights=tuple(said.get(name, 0.0) for name in features),
        top=top,
        thresholds=thresholds,
    )


def weighing(
    said: Mapping[str, float],
    blind: Mapping[str, float] | None = None,
    *,
    top: tuple[float, float] = (1.0, 1.0),
) -> OrdinalReranker:
    """An order by these weights, and by others where theta is fixed."""
    reading = weights(said, reads=True, top=top)
    fixed = weights(said if blind is None else blind, top=top)
    return OrdinalReranker(RerankerFile(reading=reading, blind=fixed))
