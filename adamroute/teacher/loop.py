"""The teacher's loop over one request or many: five steps, one trace row each (DESIGN, section 1).

Start from the neighbours, write pseudo-queries for relevant history, observe their exact ranks,
update theta after each, finish with the last one. Write-back is the caller's (labels/rounds.py): a
served teacher reads its snapshot and changes nothing.

Cost: T_f encoded texts a request beside those of its context. `decide_many` encodes a chunk at a
time; measured by scripts/bench_teacher.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

import numpy as np

from adamroute.catalogue.request import Request
from adamroute.retrieval.branch_index import Rows
from adamroute.retrieval.replay import TargetRank, TargetRanks
from adamroute.teacher.answer import Part, TeacherAnswer, TraceStep
from adamroute.teacher.context import Context, Contexts
from adamroute.teacher.policy import (
    Liking,
    Memory,
    Observation,
    Rewriting,
    TeacherPolicy,
    Thought,
    Turn,
)
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta

CHUNK = 64  # requests whose texts are encoded together
NO_HISTORY = "no_history"  # nothing to verify against: the prior is the answer

Verified = Mapping[tuple[str, int], TargetRank]  # ranks known already, by query text and item row


class Ranker(Protocol):
    """Where known items rank: an index, or better one that has not seen them (cross_fit)."""

    def target_ranks(self, queries: Sequence[str], rows: Rows) -> TargetRanks:
        """Of item rows[b] for query b, [B]."""
        ...


@dataclass(frozen=True, eq=False)
class Teacher:
    """Decides theta by the full loop: the same request always gets the same theta."""

    contexts: Contexts
    policy: TeacherPolicy
    ranker: Ranker  # what pseudo-queries are verified against
    blind: Theta | None = None  # given: no collaborative start, this is theta0
    memory: bool = True  # whether an update sees the steps before it
    verified: Verified = field(default_factory=dict)  # ranks that need no second look

    def decide(self, request: Request) -> TeacherAnswer:
        """One request. RequestError where its history names an item the index doesn't know."""
        return self.decide_many([request])[0]

    def decide_many(self, requests: Sequence[Request]) -> list[TeacherAnswer]:
        """The same answers as one by one, in order, with texts encoded together."""
        return [
            answer
            for start in range(0, len(requests), CHUNK)
            for answer in self._chunk(requests[start : start + CHUNK])
        ]

    def _chunk(self, requests: Sequence[Request]) -> list[TeacherAnswer]:
        start = time.perf_counter()
        likings = self._likings(requests)
        contexts = self._seen(self.contexts.prepare(requests, [x.profile for x in likings]))
        starts = self._starts(contexts)
        rewritings = self.policy.pseudo_queries(contexts)
        observed = iter(self._observe([q for many in rewritings for q in many.queries]))
        observations = [tuple(islice(observed, len(many.queries))) for many in rewritings]
        memories = self._reason(contexts, starts, observations)
        ms = 1e3 * (time.perf_counter() - start) / max(len(requests), 1)
        return [
            _answer(Session(request.request_id, liking, rewriting, memory), ms)
            for request, liking, rewriting, memory in zip(
                requests, likings, rewritings, memories, strict=True
            )
        ]

    def _likings(self, requests: Sequence[Request]) -> list[Liking]:
        """p_u by the policy; what was told with a request is taken as it is."""
        drafts = self.contexts.profiles(requests)
        asked = [place for place, request in enumerate(requests) if request.preferences is None]
        said = self.policy.preferences([requests[p] for p in asked], [drafts[p] for p in asked])
        likings = [Liking(draft) for draft in drafts]
        for place, liking in zip(asked, said, strict=True):
            likings[place] = liking
        return likings

    def _seen(self, contexts: list[Context]) -> list[Context]:
        """What the policy may see of them: without a collaborative start, no neighbour."""
        if self.blind is None:
            return contexts
        return [replace(context, neighbours=()) for context in contexts]

    def _starts(self, contexts: Sequence[Context]) -> Sequence[Thought]:
        if self.blind is None:
            return self.policy.start(contexts)
        return [Thought(self.blind, "no collaborative start")] * len(contexts)

    def _reason(
        self,
        contexts: Sequence[Context],
        starts: Sequence[Thought],
        observations: Sequence[tuple[Observation, ...]],
    ) -> list[Memory]:
        """Steps 4 and 5: one update an observation, all requests of a chunk side by side."""
        memories = [Memory(start) for start in starts]
        for step in range(max(map(len, observations), default=0)):
            places = [p for p, seen in enumerate(observations) if step < len(seen)]
            turns = [
                Turn(contexts[p], self._recalled(memories[p]), observations[p][step])
                for p in places
            ]
            for place, turn, thought in zip(places, turns, self.policy.update(turns), strict=True):
                memories[place] = memories[place].with_step(turn.observation, thought)
        return memories

    def _observe(self, queries: Sequence[PseudoQuery]) -> list[Observation]:
        """Exact ranks of the item that each query asks for."""
        new = [q for q in queries if (q.text, q.row) not in self.verified]
        ranks: dict[tuple[str, int], TargetRank] = {}
        if new:
            rows = np.array([q.row for q in new], dtype=np.int64)
            found = self.ranker.target_ranks([q.text for q in new], rows).each()
            ranks = {(q.text, q.row): rank for q, rank in zip(new, found, strict=True)}
        return [
            Observation(q, ranks.get((q.text, q.row)) or self.verified[q.text, q.row])
            for q in queries
        ]

    def _recalled(self, memory: Memory) -> Memory:
        return memory if self.memory else Memory(memory.start)


@dataclass(frozen=True, slots=True)
class Session:
    """All that the policy said of one request."""

    request_id: str
    liking: Liking
    rewriting: Rewriting
    memory: Memory


def _answer(session: Session, ms: float) -> TeacherAnswer:
    memory, observations = session.memory, session.memory.observations
    steps = tuple(_steps(session))
    fallbacks = [name for step in steps for name in step.fallbacks]
    return TeacherAnswer(
        request_id=session.request_id,
        theta=memory.theta,
        theta0=memory.start.theta,
        source="teacher" if observations else "teacher:no_evidence",
        item_ids=tuple(o.query.item_id for o in observations),
        text_ranks=tuple(o.rank.text for o in observations),
        mm_ranks=tuple(o.rank.mm for o in observations),
        fused_ranks=tuple(o.rank.fused for o in observations),
        steps=steps,
        fallbacks=tuple(fallbacks if observations else [*fallbacks, NO_HISTORY]),
        ms=ms,
    )


def _steps(session: Session) -> Iterator[TraceStep]:
    """Rows of the trace in the order of thinking; those without cost or lack are left out."""
    request_id, memory = session.request_id, session.memory
    rewriting = session.rewriting
    yield from _aside(request_id, "preferences", session.liking)
    yield _step(request_id, 0, None, memory.start)
    yield from _aside(request_id, "pseudo_queries", rewriting, rewriting.dropped)
    pairs = zip(memory.observations, memory.thoughts, strict=True)
    for number, (observation, thought) in enumerate(pairs, start=1):
        yield _step(request_id, number, observation, thought)


def _aside(
    request_id: str, part: Part, said: Liking | Rewriting, dropped: tuple[str, ...] = ()
) -> Iterator[TraceStep]:
    if said.calls or said.fallbacks or dropped:
        yield TraceStep(
            request_id=request_id,
            step=0,
            part=part,
            fallbacks=said.fallbacks,
            calls=said.calls,
            dropped=dropped,
        )


def _step(request_id: str, number: int, seen: Observation | None, thought: Thought) -> TraceStep:
    reworded = (seen.query.fallback,) if seen and seen.query.fallback else ()
    return TraceStep(
        request_id=request_id,
        step=number,
        part="update" if seen else "start",
        item_id=seen.query.item_id if seen else None,
        pseudo_query=seen.query.text if seen else None,
        text_rank=seen.rank.text if seen else None,
        mm_rank=seen.rank.mm if seen else None,
        alpha=thought.theta.alpha,
        budget=thought.theta.budget,
        reason=thought.reason,
        fallbacks=(*reworded, *thought.fallbacks),
        calls=thought.calls,
    )
