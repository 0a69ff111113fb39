"""Admission control: who may enter, how long it may take, and what is written down of it.

Holds no model and knows no user. A request crosses to the recommender once and its answer comes
back once; the recommender calls router, teacher and a re-ranker of its own process or others.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from adamroute.config import ServeConfig
from adamroute.errors import AdamrouteError, BusyError, DeadlineError, RequestError
from adamroute.recommender import Recommendation, Routing
from adamroute.recommender.path import Asking, RecommenderNode
from adamroute.recommender.trip import Clock, Trip
from adamroute.serving.readiness import Readiness
from adamroute.serving.schemas import RecommendBody, RouteBody, asking
from adamroute.serving.telemetry import Log, Meter

Reply = TypeVar("Reply", bound=Routing)

LOGGED = (
    "request_id", "user", "timings_ms", "theta", "source", "confidence", "threshold", "fallback",
    "teacher_fallbacks", "llm_calls", "llm_tokens", "excluded", "reranker",
)  # fmt: skip


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


class Admission:
    """The served path as the HTTP interface calls it.

    `clock` and `new_id` enter so that a test can fix them.
    """

    def __init__(
        self,
        recommender: RecommenderNode,
        limits: ServeConfig,
        *,
        meter: Meter,
        log: Log,
        readiness: Readiness,
        clock: Clock = time.monotonic,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._recommender = recommender
        self._timeout_s = limits.timeout_s
        self._gate = Gate(limits.max_ongoing, limits.max_queued)
        self._meter, self._log, self._readiness = meter, log, readiness
        self._clock, self._new_id = clock, new_id

    async def route(self, body: RouteBody) -> Routing:
        """Theta alone. RequestError, BusyError or DeadlineError where there is none."""

        def work(asked: Asking, left_s: float) -> Awaitable[Routing]:
            return self._recommender.route(policy=body.policy, time_s=left_s, **asked)

        return await self._served("route", body, work)

    async def recommend(self, body: RecommendBody) -> Recommendation:
        """The n best items under the theta that was chosen; errors as `route`."""
        n = body.n if "n" in body.model_fields_set else None

        def work(asked: Asking, left_s: float) -> Awaitable[Recommendation]:
            return self._recommender.recommend(
                policy=body.policy, n=n, exclude=body.exclude, time_s=left_s, **asked
            )

        return await self._served("recommend", body, work)

    async def ready(self) -> dict[str, str]:
        """Name to "ready" or what is wrong, for each replica, as it was seen last."""
        return await self._readiness.states()

    async def _served(
        self, endpoint: str, body: RouteBody, work: Callable[[Asking, float], Awaitable[Reply]]
    ) -> Reply:
        trip, asked = Trip(self._clock, self._timeout_s), asking(body, self._new_id())
        try:
            async with asyncio.timeout(self._timeout_s), self._gate.enter():
                reply = await work(asked, trip.left_s or 0.0)
        except TimeoutError as error:
            late = DeadlineError(f"no answer within {self._timeout_s:g} s; try again later")
            self._refused(endpoint, asked, trip, late)
            raise late from error
        except AdamrouteError as error:
            self._refused(endpoint, asked, trip, error)
            raise
        reply = replace(reply, timings_ms={**reply.timings_ms, **trip.ms()})
        self._answered(endpoint, reply)
        return reply

    def _answered(self, endpoint: str, reply: Routing) -> None:
        """Counters and the log line: no query, no user id, no item."""
        self._meter.count("requests", endpoint=endpoint, status="200", source=reply.source)
        for name in (reply.fallback, *reply.teacher_fallbacks):
            if name is not None:
                self._meter.count("fallbacks", name=name)
        for stage, ms in reply.timings_ms.items():
            self._meter.latency(stage, ms)
        plain = reply.plain()
        items = len(plain.pop("items", ()))
        values = {name: plain[name] for name in LOGGED if name in plain}
        self._log.info("answered", endpoint=endpoint, items=items, **values)

    def _refused(self, endpoint: str, asked: Asking, trip: Trip, error: AdamrouteError) -> None:
        name = type(error).__name__
        self._meter.count("requests", endpoint=endpoint, status=name, source="none")
        self._log.info(
            "refused",
            endpoint=endpoint,
            request_id=asked["request_id"],
            error=name,
            field=error.field if isinstance(error, RequestError) else None,
            timings_ms=trip.ms(),
        )
