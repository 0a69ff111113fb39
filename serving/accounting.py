"""What a request leaves behind: milliseconds per stage, counters, and one log line."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from adamroute.errors import BusyError

T = TypeVar("T")
Clock = Callable[[], float]  # seconds that only grow
LOG_FILE = "serve/requests.jsonl"  # below config.out
LOG_BYTES, LOG_FILES = 10_000_000, 3
_TAGS = {"requests": ("endpoint", "status", "source"), "fallbacks": ("name",)}
_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]


class Meter(Protocol):
    """Where counters and latencies go: Ray's metrics on a cluster, a list in a test."""

    def count(self, counter: str, /, **tags: str) -> None: ...

    def latency(self, stage: str, ms: float) -> None: ...


class Log(Protocol):
    """Takes the one line a request leaves; structlog's loggers fit."""

    def info(self, event: str, **values: object) -> object: ...


class Stages:
    """Milliseconds each stage of one request took, as the caller waited for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock()
        self._ms: dict[str, float] = {}

    async def time(self, stage: str, work: Awaitable[T]) -> T:
        start = self._clock()
        try:
            return await work
        finally:
            self._ms[stage] = 1000.0 * (self._clock() - start)

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._start

    def ms(self) -> dict[str, float]:
        """Stages in the order they ended, then the total; to a hundredth."""
        whole = {**self._ms, "total": 1000.0 * self.elapsed_s}
        return {stage: round(value, 2) for stage, value in whole.items()}


class Pace:
    """How long the teacher takes: the slowest of its recent calls, 0 before the first."""

    def __init__(self, recent: int = 32) -> None:
        self._ms: deque[float] = deque(maxlen=recent)

    def add(self, ms: float) -> None:
        self._ms.append(ms)

    @property
    def slowest_s(self) -> float:
        return max(self._ms, default=0.0) / 1000.0


class Gate:
    """At most `ongoing` requests at work and `queued` waiting; BusyError for the next one."""

    def __init__(self, ongoing: int, queued: int) -> None:
        self._places = asyncio.Semaphore(ongoing)
        self._limit = ongoing + queued
        self._inside = 0

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        if self._inside >= self._limit:
            raise BusyError(f"{self._limit} requests are under way or waiting; try again shortly")
        self._inside += 1
        try:
            async with self._places:
                yield
        finally:
            self._inside -= 1


class RayMeter:
    """Counters and histograms of ray.serve.metrics; only inside a replica."""

    def __init__(self) -> None:
        from ray.serve import metrics

        self._counters = {
            name: metrics.Counter(f"adamroute_{name}", name, tag_keys=tags)
            for name, tags in _TAGS.items()
        }
        self._latency = metrics.Histogram(
            "adamroute_stage_ms", "latency by stage", _BOUNDS_MS, tag_keys=("stage",)
        )

    def count(self, counter: str, /, **tags: str) -> None:
        self._counters[counter].inc(tags=tags)

    def latency(self, stage: str, ms: float) -> None:
        self._latency.observe(ms, tags={"stage": stage})


def file_log(path: Path) -> Log:
    """JSON lines into a file of bounded size; no other handler sees them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    sink = logging.Logger("adamroute.requests", logging.INFO)  # unregistered: nothing inherits it
    sink.addHandler(handler)
    log: Log = structlog.wrap_logger(
        sink,
        processors=[
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(sort_keys=False),
        ],
    )
    return log
