"""The teacher's loop over one request or many: five steps, one trace row each (DESIGN, section 1).

Start from the neighbours, write pseudo-queries for relevant history, observe their exact ranks,
update theta after each, finish with the last one. Write-back is the caller's (distill/label.py):
a served teacher reads its snapshot and changes nothing.

Cost: T_f + 1 encoded texts a request, and one more where the user's wishes are not the stored
ones. `decide_many` encodes a chunk at a time; measured by scripts/bench_teacher.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import ItemWords, catalogue_words
from adamroute.catalogue.preferences import (
    PreferenceProfile,
    Traits,
    preference_text,
    profile_of,
    traits_by_id,
)
from adamroute.catalogue.shop import Interaction, Request
from adamroute.reranking.features import liked_items
from adamroute.retrieval.search_index import SearchIndex
from adamroute.store import Snapshot
from adamroute.teacher.answer import Part, TeacherAnswer, TraceStep
from adamroute.teacher.neighbours import Neighbour, Neighbourhood, Preferences
from adamroute.teacher.policy import (
    Evidence,
    Liking,
    Memory,
    Observation,
    Rewriting,
    Task,
    TeacherPolicy,
    Thought,
    Turn,
)
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta

CHUNK = 64  # requests whose texts are encoded together
NO_HISTORY = "no_history"  # nothing to verify against: the prior is the answer

RankPair = tuple[int, int]  # text, multimodal
Verified = Mapping[tuple[str, int], RankPair]  # ranks already known, by query text and item row


@dataclass(frozen=True, eq=False)
class Teacher:
    """Decides theta by the full loop. Frozen: the same request always gets the same theta."""

    index: SearchIndex
    snapshot: Snapshot
    policy: TeacherPolicy
    evidence: int  # T_f, the most pseudo-queries a request
    neighbours: int  # K_c
    blind: Theta | None = None  # given: no collaborative start, this is theta0
    memory: bool = True  # whether an update sees the steps before it
    verified: Verified = field(default_factory=dict)  # ranks that need no second look
    preferences: Preferences = field(default_factory=Preferences)  # kept from round to round

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

    def tasks(
        self, requests: Sequence[Request], likings: Sequence[Liking] | None = None
    ) -> list[Task]:
        """Each request with p_u of `likings`, or as a server sees it, which asks no policy."""
        profiles = self._drafts(requests) if likings is None else [x.profile for x in likings]
        vectors, e_prefs = self._encode(requests, [preference_text(p) for p in profiles])
        return [
            Task(
                request=request,
                text_vector=vector,
                profile=profile,
                neighbours=self._neighbours(e_pref, request.user_id),
                evidence=self._relevant(request.history, vector),
            )
            for request, vector, profile, e_pref in zip(
                requests, vectors, profiles, e_prefs, strict=True
            )
        ]

    def _chunk(self, requests: Sequence[Request]) -> list[TeacherAnswer]:
        start = time.perf_counter()
        likings = self.policy.preferences(requests, self._drafts(requests))
        tasks = self.tasks(requests, likings)
        starts = self._starts(tasks)
        rewritings = self.policy.pseudo_queries(tasks)
        observed = iter(self._observe([q for many in rewritings for q in many.queries]))
        observations = [tuple(islice(observed, len(many.queries))) for many in rewritings]
        memories = self._reason(tasks, starts, observations)
        ms = 1e3 * (time.perf_counter() - start) / max(len(requests), 1)
        return [
            _answer(Session(request.request_id, liking, rewriting, memory), ms)
            for request, liking, rewriting, memory in zip(
                requests, likings, rewritings, memories, strict=True
            )
        ]

    def _drafts(self, requests: Sequence[Request]) -> list[PreferenceProfile]:
        """p_u by the embedded profiler."""
        return [profile_of(request.history, self._traits) for request in requests]

    def _starts(self, tasks: Sequence[Task]) -> Sequence[Thought]:
        if self.blind is None:
            return self.policy.start(tasks)
        return [Thought(self.blind, "no collaborative start")] * len(tasks)

    def _reason(
        self,
        tasks: Sequence[Task],
        starts: Sequence[Thought],
        observations: Sequence[tuple[Observation, ...]],
    ) -> list[Memory]:
        """Steps 4 and 5: one update an observation, all requests of a chunk side by side."""
        memories = [Memory(start) for start in starts]
        for step in range(max(map(len, observations), default=0)):
            places = [p for p, seen in enumerate(observations) if step < len(seen)]
            turns = [
                Turn(tasks[p], self._recalled(memories[p]), observations[p][step]) for p in places
            ]
            for place, turn, thought in zip(places, turns, self.policy.update(turns), strict=True):
                memories[place] = memories[place].with_step(turn.observation, thought)
        return memories

    def _encode(
        self, requests: Sequence[Request], wishes: Sequence[str]
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """E_txt of the queries, and each e_pref, the stored one where the wishes are as stored."""
        known = [self._stored(r, wish) for r, wish in zip(requests, wishes, strict=True)]
        unknown = [wish for wish, e_pref in zip(wishes, known, strict=True) if e_pref is None]
        vectors = self.index.text_encoder.encode([*(r.query for r in requests), *unknown])
        fresh = iter(vectors[len(requests) :])
        e_prefs = [next(fresh) if e_pref is None else e_pref for e_pref in known]
        return vectors[: len(requests)], e_prefs

    def _stored(self, request: Request, wish: str) -> NDArray[np.float32] | None:
        """e_pref without encoding, empty where no wish is known; None where it must be encoded."""
        if not wish:
            return np.empty(0, dtype=np.float32)
        record = self.snapshot.by_id.get(request.user_id or "")
        return record.e_pref if record is not None and record.preference == wish else None

    def _relevant(
        self, history: Sequence[Interaction], query: NDArray[np.float32]
    ) -> tuple[Evidence, ...]:
        """The T_f positives most similar to q in text; the latest label of an item counts."""
        rows = liked_items(history, self.index.row_of)
        similarity = self.index.text_vectors[rows].astype(np.float64) @ query.astype(np.float64)
        order = np.lexsort((rows, -similarity))[: self.evidence]
        return tuple(
            Evidence(self.index.ids[row], row, self._words[row]) for row in rows[order].tolist()
        )

    def _observe(self, queries: Sequence[PseudoQuery]) -> list[Observation]:
        """Exact ranks of the item that each query asks for."""
        new = [q for q in queries if (q.text, q.row) not in self.verified]
        ranks: dict[tuple[str, int], RankPair] = {}
        if new:
            encoded = self.index.encode([q.text for q in new])
            rows = np.array([q.row for q in new], dtype=np.int64)
            text, mm = self.index.recall.ranks(encoded.text, encoded.mm, rows)
            pairs = zip(text.tolist(), mm.tolist(), strict=True)
            ranks = {(q.text, q.row): pair for q, pair in zip(new, pairs, strict=True)}
        return [
            Observation(q, *(ranks.get((q.text, q.row)) or self.verified[q.text, q.row]))
            for q in queries
        ]

    def _neighbours(
        self, e_pref: NDArray[np.float32], user_id: str | None
    ) -> tuple[Neighbour, ...]:
        return () if self.blind else self._neighbourhood.nearest(e_pref, user_id)

    def _recalled(self, memory: Memory) -> Memory:
        return memory if self.memory else Memory(memory.start)

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(self.snapshot, self.neighbours, self.preferences)

    @cached_property
    def _traits(self) -> Mapping[str, Traits]:
        return traits_by_id(self.index.ids, self.index.categories, self.index.visual)

    @cached_property
    def _words(self) -> tuple[ItemWords, ...]:
        index = self.index
        return catalogue_words(index.titles, index.texts, index.categories, index.visual)


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
        text_ranks=tuple(o.text_rank for o in observations),
        mm_ranks=tuple(o.mm_rank for o in observations),
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
        text_rank=seen.text_rank if seen else None,
        mm_rank=seen.mm_rank if seen else None,
        alpha=thought.theta.alpha,
        budget=thought.theta.budget,
        reason=thought.reason,
        fallbacks=(*reworded, *thought.fallbacks),
        calls=thought.calls,
    )
