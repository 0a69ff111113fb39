"""Telemetry: what a request leaves behind, as counters, latencies and one log line."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Protocol

import structlog

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
