"""The teacher's mind as a seam: what a policy is asked at each step of the loop, and may answer.

The loop (teacher.py) finds relevant history and neighbours, verifies pseudo-queries against the
index and keeps the memory; a policy only thinks. A policy without a language model and one with
it both fit: thoughts carry what they cost and what they had to do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adamroute.routing.neighbours import Neighbour
from adamroute.routing.pseudo import PseudoQuery
from adamroute.routing.theta import Theta
from adamroute.routing.words import ItemWords
from adamroute.scoring.profiles import PreferenceProfile
from adamroute.shop.catalogue import Request


@dataclass(frozen=True, slots=True)
class Evidence:
    """A history item that is relevant to the request: its rank can be verified."""

    item_id: str
    row: int
    words: ItemWords


@dataclass(frozen=True, eq=False)
class Task:
    """All that a policy may know of one request."""

    request: Request
    text_vector: NDArray[np.float32]  # E_txt(q), [D]
    profile: PreferenceProfile
    neighbours: tuple[Neighbour, ...]
    evidence: tuple[Evidence, ...]  # T_f items, most similar to q first


@dataclass(frozen=True, slots=True)
class Observation:
    """Exact 1-based ranks of the item that a pseudo-query asked for."""

    query: PseudoQuery
    text_rank: int
    mm_rank: int


@dataclass(frozen=True, slots=True)
class Thought:
    """A policy's answer at one step."""

    theta: Theta
    reason: str
    fallbacks: tuple[str, ...] = ()  # names of what it had to do without
    llm_calls: int = 0
    tokens: int = 0


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


class Policy(Protocol):
    """The teacher's mind: EvidencePolicy is closed-form, an LLM policy asks a model."""

    @property
    def name(self) -> str:
        """As in the config, for reports."""
        ...

    def start(self, task: Task) -> Thought:
        """Theta0, the collaborative start."""
        ...

    def pseudo_queries(self, task: Task) -> Sequence[PseudoQuery]:
        """One query an evidence item, in order, of the same kind and granularity as q."""
        ...

    def update(self, task: Task, memory: Memory, observation: Observation) -> Thought:
        """Theta after one more observation; `memory` holds the steps before it."""
        ...
