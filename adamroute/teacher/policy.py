"""The teacher's mind as a seam: what a policy is asked at each step of the loop, and may answer.

The loop (teacher.py) finds relevant history and neighbours, verifies pseudo-queries against the
index and keeps the memory; a policy only thinks. It is asked about many requests at a time, since
an engine is fast only on batches. A policy without a language model and one with it both fit:
answers carry what they cost and what they had to do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.llm.chat import Call
from adamroute.retrieval.replay import TargetRank
from adamroute.teacher.context import Context
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta


@dataclass(frozen=True, slots=True)
class Observation:
    """Exact 1-based ranks of the item that a pseudo-query asked for."""

    query: PseudoQuery
    rank: TargetRank


@dataclass(frozen=True, slots=True)
class Liking:
    """What a policy takes a user to want."""

    profile: PreferenceProfile
    fallbacks: tuple[str, ...] = ()  # names of what it had to do without
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Pseudo-queries of one request: at most one an evidence item, in the items' order."""

    queries: tuple[PseudoQuery, ...]
    fallbacks: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    dropped: tuple[str, ...] = ()  # evidence items judged irrelevant to the request: no fallback


@dataclass(frozen=True, slots=True)
class Thought:
    """A policy's answer at one step."""

    theta: Theta
    reason: str
    fallbacks: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """The loop so far: the start, then one observation and one thought a step."""

    start: Thought
    observations: tuple[Observation, ...] = ()
    thoughts: tuple[Thought, ...] = ()

    @property
    def theta(self) -> Theta:
        """Theta after the last step."""
        return self.thoughts[-1].theta if self.thoughts else self.start.theta

    def with_step(self, observation: Observation, thought: Thought) -> Memory:
        """The memory one step later."""
        return Memory(self.start, (*self.observations, observation), (*self.thoughts, thought))


@dataclass(frozen=True, slots=True)
class Turn:
    """One step to think about: the memory before it, and what was observed since."""

    task: Context
    memory: Memory
    observation: Observation


class TeacherPolicy(Protocol):
    """The teacher's mind: EvidencePolicy is closed-form, an LLM policy asks a model."""

    @property
    def name(self) -> str:
        """As in the config, for reports."""
        ...

    def preferences(
        self, requests: Sequence[Request], drafts: Sequence[PreferenceProfile]
    ) -> Sequence[Liking]:
        """p_u of each request's history; `drafts` holds the embedded profiler's."""
        ...

    def start(self, tasks: Sequence[Context]) -> Sequence[Thought]:
        """Theta0, the collaborative start."""
        ...

    def pseudo_queries(self, tasks: Sequence[Context]) -> Sequence[Rewriting]:
        """Queries for the evidence items, of the same kind and granularity as q."""
        ...

    def update(self, turns: Sequence[Turn]) -> Sequence[Thought]:
        """Theta after one more observation of each request."""
        ...
