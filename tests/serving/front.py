"""Admission control over the shop of six items, and what it counts and writes, to be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from adamroute.config import ServeConfig
from adamroute.recommender.path import RecommenderNode
from adamroute.serving.admission import Admission
from adamroute.serving.readiness import READY, Look, Readiness
from tests.recommender.small_shop import recommender


@dataclass
class Counted:
    """A meter that remembers."""

    counts: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)

    def count(self, counter: str, /, **tags: str) -> None:
        self.counts.append((counter, tags))

    def latency(self, stage: str, ms: float) -> None:
        assert ms >= 0.0
        self.stages.append(stage)


@dataclass
class Lines:
    """A log that remembers."""

    lines: list[dict[str, object]] = field(default_factory=list)

    def info(self, event: str, **values: object) -> None:
        self.lines.append({"event": event, **values})


async def all_ready() -> dict[str, str]:
    """What the ingress sees of replicas that are all there."""
    return dict.fromkeys(("recommender", "router", "teacher"), READY)


def admission(
    served: RecommenderNode | None = None,
    *,
    limits: ServeConfig | None = None,
    meter: Counted | None = None,
    log: Lines | None = None,
    look: Look = all_ready,
) -> Admission:
    return Admission(
        served or recommender(),
        limits or ServeConfig(),
        meter=meter or Counted(),
        log=log or Lines(),
        readiness=Readiness(look),
        new_id=lambda: "r1",
    )
