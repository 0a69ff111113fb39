"""The one served path: request, profile, query vectors, theta, candidates, order, answer.

Server, `ask` and the library all call it. What is computed on the index stays beside the index:
only words and profile leave for the router, a request for the teacher, and candidates for a
re-ranker that lives elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict, Unpack

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.errors import BusyError, RequestError
from adamroute.recommender.answers import (
    Choice,
    Explanation,
    ItemReason,
    Recommendation,
    RecommendedItem,
    Routing,
)
from adamroute.recommender.exclusion import EXCLUDED, check_exclude
from adamroute.recommender.nodes import Nodes, Routed
from adamroute.recommender.steps import Facts, History, Prepared, Ranked, Steps, ranked
from adamroute.recommender.trip import Clock, Trip
from adamroute.reranking.features import Case
from adamroute.routing.policy_string import Auto, Forced, RoutingPolicy, Static, parse_policy
from adamroute.routing.student import RoutingInput
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.context import Contexts
from adamroute.theta import ALPHAS

RESERVE_S = 0.25  # kept for retrieval and order where the teacher is given the rest of the time
RECENT = 32  # calls of the teacher whose slowest says how long the next may take
SHOWN = 20  # items of an answer where nobody says how many


class Asking(TypedDict, total=False):
    """What a request may say; each may be left out or None."""

    request_id: str | None  # absent: one is made up
    query: str | None  # absent: the preference text takes its place
    user_id: str | None
    history: History | None  # wins over what is stored; earliest first
    preferences: PreferenceProfile | None  # wins over what the history says


class RecommenderNode(Protocol):
    """The path as the HTTP interface knows it, in this process or another."""

    async def recommend(
        self,
        *,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
        time_s: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recommendation: ...

    async def route(
        self, *, policy: str = "auto", time_s: float | None = None, **asking: Unpack[Asking]
    ) -> Routing: ...


@dataclass(frozen=True)
class Decision:
    """Theta, and what those said who were asked for it."""

    choice: Choice
    routed: Routed | None = None
    taught: TeacherAnswer | None = None


@dataclass(frozen=True, eq=False)
class Answered:
    """A recommendation and what led to it."""

    shown: Recommendation
    chosen: Decision
    prepared: Prepared
    case: Case
    ranked: Ranked


class Recommender(Steps):
    """RecommenderNode over one index, one snapshot of the users, and the nodes."""

    def __init__(
        self, contexts: Contexts, facts: Facts, nodes: Nodes, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(contexts, facts)
        self._nodes = nodes
        self._clock = clock
        self._teacher_s: deque[float] = deque(maxlen=RECENT)

    async def recommend(
        self,
        *,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
        time_s: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recommendation:
        """The `n` best items under the theta that the policy chooses.

        `exclude` holds "liked", "disliked" and item ids; absent: disliked items alone leave.
        `time_s` is what the request may take: the teacher is not asked where it would be late.
        RequestError names the argument that cannot be used.
        """
        trip = Trip(self._clock, time_s)
        answered = await self._answered(asking, trip, policy=policy, n=n, exclude=exclude)
        return answered.shown

    async def route(
        self, *, policy: str = "auto", time_s: float | None = None, **asking: Unpack[Asking]
    ) -> Routing:
        """Theta alone; arguments and errors as `recommend`."""
        trip = Trip(self._clock, time_s)
        parsed, request = self._admitted(policy, asking, trip)
        prepared = self._encoded(request, trip) if self.facts.reads_vectors else None
        chosen = await self._choose(parsed, request, prepared, trip)
        return self._routing(request, chosen.choice, trip)

    async def explain(
        self,
        *,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
        **asking: Unpack[Asking],
    ) -> Explanation:
        """A recommendation with the numbers behind it; arguments and errors as `recommend`."""
        trip = Trip(self._clock)
        answered = await self._answered(asking, trip, policy=policy, n=n, exclude=exclude)
        context, chosen = answered.prepared.context, answered.chosen
        routed = chosen.routed or await self._nodes.router.route(context.routing)
        return Explanation(
            recommendation=answered.shown,
            query=context.request.query,
            profile=context.profile,
            neighbours={n.user_id: n.similarity for n in context.neighbours},
            alpha_probs=dict(zip(ALPHAS, routed.alpha_probs.tolist(), strict=True)),
            teacher_steps=chosen.taught.steps if chosen.taught else (),
            reasons=await self._reasons(answered),
        )

    async def _answered(
        self,
        asking: Asking,
        trip: Trip,
        *,
        policy: str,
        n: int | None,
        exclude: Sequence[str] | None,
    ) -> Answered:
        if n is not None and not 1 <= n <= self.facts.tau:  # the default may exceed it
            raise RequestError("n", f"n: 1 to tau = {self.facts.tau} items, got {n}")
        exclude = EXCLUDED if exclude is None else exclude
        check_exclude(exclude)
        parsed, request = self._admitted(policy, asking, trip)
        chosen, prepared = await self._choose_and_prepare(parsed, request, trip)
        with trip.stage("recall"):
            retrieved = self.retrieve(prepared, chosen.choice.theta)
            found, left = self.keep(prepared, retrieved, exclude)
            theta, source = chosen.choice.theta, chosen.choice.source
            case = self.case(prepared, found, theta, decided=source != "static")
        graded = await trip.time("score", self._nodes.reranker.grade(case))
        best = ranked(found, graded.grades)
        items = self._items(best, SHOWN if n is None else n)
        head = vars(self._routing(request, chosen.choice, trip))
        shown = Recommendation(**head, items=items, excluded=left, reranker=dict(graded.counts))
        return Answered(shown, chosen, prepared, case, best)

    def _admitted(self, policy: str, asking: Asking, trip: Trip) -> tuple[RoutingPolicy, Request]:
        parsed = parse_policy(policy, self.facts.tau)
        with trip.stage("profile"):
            return parsed, self.admit(**asking)

    def _encoded(self, request: Request, trip: Trip) -> Prepared:
        with trip.stage("encode"):
            return self.prepare([request])[0]

    async def _choose_and_prepare(
        self, policy: RoutingPolicy, request: Request, trip: Trip
    ) -> tuple[Decision, Prepared]:
        """Encoding and routing at the same time, unless the router reads the vectors."""
        if self.facts.reads_vectors:
            prepared = self._encoded(request, trip)
            return await self._choose(policy, request, prepared, trip), prepared
        choosing = asyncio.create_task(self._choose(policy, request, None, trip))
        try:
            await asyncio.sleep(0)  # the router's call leaves before this process is busy
            prepared = self._encoded(request, trip)
            return await choosing, prepared
        finally:
            choosing.cancel()
            choosing.add_done_callback(_seen)

    async def _choose(
        self, policy: RoutingPolicy, request: Request, prepared: Prepared | None, trip: Trip
    ) -> Decision:
        match policy:
            case Static(theta):
                return Decision(Choice(theta=theta, source="static"))
            case Forced("teacher"):
                return await self._taught(request, trip)
            case Forced():
                return await self._routed(request, prepared, trip)
            case Auto():
                return await self._cascade(policy, request, prepared, trip)

    async def _routed(self, request: Request, prepared: Prepared | None, trip: Trip) -> Decision:
        if prepared is None:
            (profile,) = self.contexts.profiles([request])
            asked = RoutingInput(request.query, profile, None)
        else:
            asked = prepared.context.routing
        routed = await trip.time("route", self._nodes.router.route(asked))
        choice = Choice(theta=routed.theta, source="student", confidence=routed.confidence)
        return Decision(choice, routed)

    async def _taught(self, request: Request, trip: Trip) -> Decision:
        answer = await trip.time("teacher", self._nodes.teacher.decide(request))
        self._teacher_s.append(answer.ms / 1000.0)
        choice = Choice(
            theta=answer.theta,
            source=answer.source,
            teacher_fallbacks=answer.fallbacks,
            llm_calls=answer.llm_calls,
            llm_tokens=answer.tokens,
        )
        return Decision(choice, taught=answer)

    async def _cascade(
        self, policy: Auto, request: Request, prepared: Prepared | None, trip: Trip
    ) -> Decision:
        """The student, or the teacher where it is better and there is time for it."""
        student = await self._routed(request, prepared, trip)
        confidence = student.choice.confidence
        assert confidence is not None  # the student always has one
        limit = self.facts.threshold if policy.threshold is None else policy.threshold
        left_s = None if trip.left_s is None else trip.left_s - RESERVE_S
        time_left = left_s is None or left_s > max(self._teacher_s, default=0.0)
        verdict = self.verdict(policy, confidence, request, time_left=time_left)

        def known(chosen: Decision, fallback: str | None) -> Decision:
            why = replace(chosen.choice, confidence=confidence, threshold=limit, fallback=fallback)
            return Decision(why, student.routed, chosen.taught)

        if not verdict.ask_teacher:
            return known(student, skipped(verdict.skipped))
        try:
            async with asyncio.timeout(left_s):
                return known(await self._taught(request, trip), verdict.fallback)
        except (TimeoutError, BusyError):  # too slow, its queue full, or its replica restarting
            return known(student, skipped("budget"))

    def _items(self, answer: Ranked, n: int) -> tuple[RecommendedItem, ...]:
        found, index = answer.candidates, self.contexts.index
        return tuple(
            RecommendedItem(
                item_id=index.ids[row],
                title=index.titles[row],
                image=index.images[row],
                score=float(answer.expected[k]),
                levels=tuple(answer.grades[k].tolist()),
                text_rank=int(found.text_ranks[k]),
                mm_rank=int(found.mm_ranks[k]),
                origin=found.origin[k],
            )
            for k, row in zip(answer.order[:n], found.rows[answer.order[:n]].tolist(), strict=True)
        )

    async def _reasons(self, answered: Answered) -> tuple[ItemReason, ...]:
        """Scores and contributions of the items that were shown."""
        found, items = answered.ranked.candidates, answered.shown.items
        added = await self._nodes.reranker.contributions(answered.case)
        places = answered.ranked.order[: len(items)].tolist()
        return tuple(
            ItemReason(item, float(found.text_scores[k]), float(found.mm_scores[k]), added[k])
            for item, k in zip(items, places, strict=True)
        )

    def _routing(self, request: Request, choice: Choice, trip: Trip) -> Routing:
        return Routing(
            **vars(choice),
            request_id=request.request_id,
            user=request.user,
            calibrated_on=self.facts.calibrated_on,
            certified=self.facts.standing.certified,
            combine=self.facts.combine,
            timings_ms=trip.ms(),
            versions=self.facts.versions,
            lacks=self.facts.lacks,
        )


def skipped(reason: str | None) -> str | None:
    """The one stable form of a fallback that did not happen."""
    return None if reason is None else f"fallback_skipped: {reason}"


def _seen(task: asyncio.Task[Decision]) -> None:
    """An error that comes after the request already failed has nobody left to tell."""
    if not task.cancelled():
        task.exception()
