"""One request through the graph: who asks, which theta, which candidates, in what order.

Holds no model and knows no user: everything is asked of the nodes, which are plain objects in a
test and replicas behind handles on a cluster. A request costs four calls (five with the teacher);
the encoder and the router work at the same time.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from adamroute.catalogue.preferences import PreferenceProfile
from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS
from adamroute.catalogue.shop import Interaction, Request
from adamroute.config import ServeConfig
from adamroute.errors import AdamrouteError, BusyError, DeadlineError, RequestError
from adamroute.routing.policy_string import (
    Auto,
    Forced,
    RoutingPolicy,
    Standing,
    Static,
    judge,
    parse_policy,
)
from adamroute.serving.accounting import Clock, Gate, Log, Meter, Pace, Stages
from adamroute.serving.nodes import (
    Ask,
    Encoded,
    Found,
    Recall,
    Router,
    Score,
    Scored,
    Shopper,
    Teach,
)
from adamroute.serving.schemas import (
    ItemOut,
    RecommendAnswer,
    RecommendBody,
    RouteAnswer,
    RouteBody,
    ThetaOut,
    Versions,
)
from adamroute.theta import Theta

Source = Literal["student", "teacher", "teacher:no_evidence", "static"]
Body = TypeVar("Body", bound=RouteBody)
Reply = TypeVar("Reply", bound=RouteAnswer)

RESERVE_S = 0.25  # kept for recall and scoring where the teacher is given the rest of the time
LOGGED = {
    "request_id", "user", "timings_ms", "theta", "source", "confidence", "threshold", "fallback",
    "teacher_fallbacks", "llm_calls", "llm_tokens", "scorer",
}  # fmt: skip
READY_S = 5.0  # a replica that does not answer a ping within this is not ready


@dataclass(frozen=True)
class Nodes:
    """The parts that hold models or data."""

    router: Router
    recall: Recall
    scorer: Score
    teacher: Teach


@dataclass(frozen=True)
class Facts:
    """What the ingress knows beside the request: a limit and what calibration found."""

    tau: int
    threshold: float
    standing: Standing
    calibrated_on: str
    versions: Versions


@dataclass(frozen=True)
class Choice:
    """Theta with its reasons, as the answer shows them."""

    theta: Theta
    source: Source
    confidence: float | None = None
    threshold: float | None = None
    fallback: str | None = None
    teacher_fallbacks: tuple[str, ...] = ()
    llm_calls: int = 0  # of the teacher
    llm_tokens: int = 0


@dataclass(frozen=True)
class Trip:
    """One request under way."""

    request_id: str
    stages: Stages


class Flow:
    """The served logic; `clock` and `new_id` enter so that a test can fix them."""

    def __init__(
        self,
        nodes: Nodes,
        facts: Facts,
        limits: ServeConfig,
        *,
        meter: Meter,
        log: Log,
        clock: Clock = time.monotonic,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._nodes = nodes
        self._facts = facts
        self._timeout_s = limits.timeout_s
        self._gate = Gate(limits.max_ongoing, limits.max_queued)
        self._meter = meter
        self._log = log
        self._clock = clock
        self._new_id = new_id
        self._pace = Pace()

    async def route(self, body: RouteBody) -> RouteAnswer:
        """Theta alone. RequestError, BusyError or DeadlineError where there is none."""
        return await self._served("route", body, self._route)

    async def recommend(self, body: RecommendBody) -> RecommendAnswer:
        """The n best items under the theta that was chosen; errors as `route`."""
        return await self._served("recommend", body, self._recommend)

    async def ready(self) -> dict[str, str]:
        """Name to "ready" or what is wrong, for each replica; they are asked at the same time."""
        pings = {
            "router": self._nodes.router.ping(),
            "recall": self._nodes.recall.ping(),
            "scorer": self._nodes.scorer.ping(),
            "teacher": self._nodes.teacher.ping(),
        }
        states = await asyncio.gather(*(_state(ping) for ping in pings.values()))
        return dict(zip(pings, states, strict=True))

    async def _served(
        self, endpoint: str, body: Body, work: Callable[[Body, Trip], Awaitable[Reply]]
    ) -> Reply:
        trip = Trip(self._new_id(), Stages(self._clock))
        try:
            async with asyncio.timeout(self._timeout_s), self._gate.enter():
                reply = await work(body, trip)
        except TimeoutError as error:
            late = DeadlineError(f"no answer within {self._timeout_s:g} s; try again later")
            self._refused(endpoint, trip, late)
            raise late from error
        except AdamrouteError as error:
            self._refused(endpoint, trip, error)
            raise
        self._answered(endpoint, reply)
        return reply

    async def _route(self, body: RouteBody, trip: Trip) -> RouteAnswer:
        policy, shopper = await self._admit(body, trip)
        return self._head(trip, shopper, await self._choose(policy, shopper, trip))

    async def _recommend(self, body: RecommendBody, trip: Trip) -> RecommendAnswer:
        if "n" in body.model_fields_set and body.n > self._facts.tau:  # the default may exceed it
            raise RequestError("n", f"n: at most tau = {self._facts.tau} items, got {body.n}")
        policy, shopper = await self._admit(body, trip)
        encoding = asyncio.create_task(
            trip.stages.time("encode", self._nodes.recall.encode(shopper))
        )
        try:
            choice = await self._choose(policy, shopper, trip)
            encoded: Encoded = await encoding
        finally:
            encoding.cancel()
            encoding.add_done_callback(_seen)
        found = await trip.stages.time(
            "recall", self._nodes.recall.search(encoded, choice.theta, shopper)
        )
        scored = await trip.stages.time("score", self._nodes.scorer.score(found.case))
        head = self._head(trip, shopper, choice)
        items = best_items(found, scored, body.n)
        return RecommendAnswer(**head.model_dump(), items=items, scorer=dict(scored.counts))

    async def _admit(self, body: RouteBody, trip: Trip) -> tuple[RoutingPolicy, Shopper]:
        policy = parse_policy(body.policy, self._facts.tau)
        shopper = await trip.stages.time("profile", self._nodes.recall.look_up(asked(body)))
        return policy, shopper

    async def _choose(self, policy: RoutingPolicy, shopper: Shopper, trip: Trip) -> Choice:
        match policy:
            case Static(theta):
                return Choice(theta, "static")
            case Forced("teacher"):
                return await self._teach(shopper, trip)
            case Forced():
                return await self._student(shopper, trip)
            case Auto():
                return await self._cascade(policy, shopper, trip)

    async def _student(self, shopper: Shopper, trip: Trip) -> Choice:
        routing = self._nodes.router.route(shopper.query, shopper.profile)
        routed = await trip.stages.time("route", routing)
        return Choice(routed.theta, "student", routed.confidence)

    async def _teach(self, shopper: Shopper, trip: Trip) -> Choice:
        request = Request(trip.request_id, shopper.user_id, shopper.query, shopper.history)
        answer = await trip.stages.time("teacher", self._nodes.teacher.decide(request))
        self._pace.add(answer.ms)
        return Choice(
            answer.theta,
            answer.source,
            teacher_fallbacks=answer.fallbacks,
            llm_calls=answer.llm_calls,
            llm_tokens=answer.tokens,
        )

    async def _cascade(self, policy: Auto, shopper: Shopper, trip: Trip) -> Choice:
        student = await self._student(shopper, trip)
        confidence = student.confidence
        assert confidence is not None  # the student always has one
        limit = self._facts.threshold if policy.threshold is None else policy.threshold
        student = replace(student, threshold=limit)
        left_s = self._timeout_s - RESERVE_S - trip.stages.elapsed_s
        verdict = judge(
            policy,
            confidence=confidence,
            threshold=self._facts.threshold,
            standing=self._facts.standing,
            has_history=shopper.has_positives,
            time_left=left_s > self._pace.slowest_s,
        )
        if not verdict.ask_teacher:
            return replace(student, fallback=skipped(verdict.skipped))
        try:
            async with asyncio.timeout(left_s):
                teacher = await self._teach(shopper, trip)
        except (TimeoutError, BusyError):  # too slow, its queue full, or its replica restarting
            return replace(student, fallback=skipped("budget"))
        return replace(teacher, confidence=confidence, threshold=limit, fallback=verdict.fallback)

    def _head(self, trip: Trip, shopper: Shopper, choice: Choice) -> RouteAnswer:
        return RouteAnswer(
            request_id=trip.request_id,
            theta=ThetaOut(alpha=choice.theta.alpha, budget=choice.theta.budget),
            source=choice.source,
            confidence=choice.confidence,
            threshold=choice.threshold,
            fallback=choice.fallback,
            teacher_fallbacks=choice.teacher_fallbacks,
            llm_calls=choice.llm_calls,
            llm_tokens=choice.llm_tokens,
            user=shopper.status,
            calibrated_on=self._facts.calibrated_on,
            certified=self._facts.standing.certified,
            timings_ms=trip.stages.ms(),
            versions=self._facts.versions,
        )

    def _answered(self, endpoint: str, reply: RouteAnswer) -> None:
        """Counters and the log line: no query, no user id, no item."""
        self._meter.count("requests", endpoint=endpoint, status="200", source=reply.source)
        for name in (reply.fallback, *reply.teacher_fallbacks):
            if name is not None:
                self._meter.count("fallbacks", name=name)
        for stage, ms in reply.timings_ms.items():
            self._meter.latency(stage, ms)
        values = reply.model_dump(include=LOGGED)
        items = len(reply.items) if isinstance(reply, RecommendAnswer) else 0
        self._log.info("answered", endpoint=endpoint, items=items, **values)

    def _refused(self, endpoint: str, trip: Trip, error: AdamrouteError) -> None:
        name = type(error).__name__
        field = error.field if isinstance(error, RequestError) else None
        self._meter.count("requests", endpoint=endpoint, status=name, source="none")
        self._log.info(
            "refused",
            endpoint=endpoint,
            request_id=trip.request_id,
            error=name,
            field=field,
            timings_ms=trip.stages.ms(),
        )


def asked(body: RouteBody) -> Ask:
    """The body as values of the core. RequestError for an empty or overlong query."""
    query = body.query
    if query is not None and not query.strip():
        raise RequestError("query", "query: empty; leave it out to ask by preferences alone")
    if query is not None and len(query) > MAX_QUERY_CHARACTERS:
        most = f"at most {MAX_QUERY_CHARACTERS:,} characters"
        raise RequestError("query", f"query: {most}, got {len(query):,}")
    history = preferences = None
    if body.history is not None:
        history = tuple(
            Interaction(entry.item_id, entry.label == "pos", float(place))
            for place, entry in enumerate(body.history)
        )
    if body.preferences is not None:
        given = body.preferences
        preferences = PreferenceProfile(given.strong_pref, given.nice_to_have, given.dislike)
    return Ask(body.user_id, query, history, preferences)


def best_items(found: Found, scored: Scored, n: int) -> tuple[ItemOut, ...]:
    """The first n in the scorer's order."""
    candidates = found.case.candidates
    return tuple(
        ItemOut(
            item_id=found.ids[k],
            title=found.titles[k],
            image=found.images[k],
            score=float(scored.expected[k]),
            levels=tuple(scored.levels[k].tolist()),
            text_rank=int(candidates.text_ranks[k]),
            mm_rank=int(candidates.mm_ranks[k]),
            origin=candidates.origin[k],
        )
        for k in scored.order[:n].tolist()
    )


def skipped(reason: str | None) -> str | None:
    """The one stable form of a fallback that did not happen."""
    return None if reason is None else f"fallback_skipped: {reason}"


def _seen(task: asyncio.Task[Encoded]) -> None:
    """An error that comes after the request already failed has nobody left to tell."""
    if not task.cancelled():
        task.exception()


async def _state(ping: Awaitable[str]) -> str:
    try:
        return await asyncio.wait_for(ping, READY_S)
    except (TimeoutError, AdamrouteError) as error:
        return f"not ready: {error}" if str(error) else "not ready: no answer"
