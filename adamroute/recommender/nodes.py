"""The parts of the path that may live in another process: router, teacher, re-ranker.

The recommender knows them by these protocols. In one process they are the classes below; on a
cluster each is a replica behind a handle (serving/remote.py). A node does one thing at a time: its
work runs beside the event loop, which stays free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.reranking.features import Case
from adamroute.reranking.reranker import Grades, Reranker
from adamroute.routing.confidence import Calibration
from adamroute.routing.student import RoutingInput, Student
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.loop import Teacher
from adamroute.theta import Theta

T = TypeVar("T")


@dataclass(frozen=True)
class Routed:
    """The student's answer with P(regret <= epsilon)."""

    theta: Theta
    confidence: float
    alpha_probs: NDArray[np.float64]  # [A], sums to 1


@dataclass(frozen=True)
class Grading:
    """Grades of every candidate of a request."""

    grades: Grades  # [K, 5]
    counts: Mapping[str, float]  # of the re-ranker since it started; may be empty


class RouterNode(Protocol):
    """Student and confidence: one forward pass."""

    async def route(self, asked: RoutingInput) -> Routed: ...


class TeacherNode(Protocol):
    """The full loop. Nothing is written back."""

    async def decide(self, request: Request) -> TeacherAnswer: ...


class RerankerNode(Protocol):
    """Grades of all candidates of a request in one call."""

    async def grade(self, case: Case) -> Grading: ...

    async def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """What each feature adds to every candidate's fit."""
        ...


class _Node:
    """Work beside the event loop, one call at a time; one cancelled in time never begins."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, type(self).__name__)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)


class Router(_Node):
    """RouterNode in this process."""

    def __init__(self, student: Student, calibration: Calibration) -> None:
        super().__init__()
        self._student = student
        self._calibration = calibration

    def warm_up(self) -> None:
        """The first pass of a student of words costs more than the others."""
        if not self._student.reads_vectors:
            self._student.predict([RoutingInput("warm up", PreferenceProfile(), None)])

    async def route(self, asked: RoutingInput) -> Routed:
        return await self._run(lambda: self._routed(asked))

    def _routed(self, asked: RoutingInput) -> Routed:
        (said,) = self._student.predict([asked])
        sure = self._calibration.confidence(said.alpha_probs, said.theta.alpha)
        return Routed(said.theta, sure, said.alpha_probs)


class Teaching(_Node):
    """TeacherNode in this process."""

    def __init__(self, teacher: Teacher) -> None:
        super().__init__()
        self._teacher = teacher

    async def decide(self, request: Request) -> TeacherAnswer:
        return await self._run(lambda: self._teacher.decide(request))


class Reranking(_Node):
    """RerankerNode in this process."""

    def __init__(self, reranker: Reranker) -> None:
        super().__init__()
        self._reranker = reranker

    async def grade(self, case: Case) -> Grading:
        grades = await self._run(lambda: self._reranker.score(case))
        return Grading(grades, self._reranker.counts)

    async def contributions(self, case: Case) -> list[Mapping[str, float]]:
        return await self._run(lambda: self._reranker.contributions(case))


@dataclass(frozen=True)
class Nodes:
    """All of them."""

    router: RouterNode
    teacher: TeacherNode
    reranker: RerankerNode
