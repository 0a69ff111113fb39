"""Nodes of one process: one piece of work at a time, beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.recommender.nodes import Reranking, Router, Teaching
from adamroute.reranking.reranker import RetrievalOrder
from adamroute.routing.student import RoutingInput
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.context import Context
from adamroute.teacher.policy import Thought
from tests.recommender.small_shop import STUDENT, OneMind, SaidStudent, calibration, teacher
from tests.reranking.cases import case_of


@dataclass
class SlowMind(OneMind):
    """Begins, and goes on once it is told to."""

    begun: list[str] = field(default_factory=list)
    entered: threading.Event = field(default_factory=threading.Event)
    leave: threading.Event = field(default_factory=threading.Event)

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        self.begun += [task.request.request_id for task in tasks]
        self.entered.set()
        assert self.leave.wait(10)
        return super().start(tasks)


def test_the_teacher_takes_one_request_at_a_time_and_leaves_the_event_loop_free() -> None:
    mind = SlowMind()
    teaching = Teaching(teacher(mind))

    async def busy() -> tuple[list[str], TeacherAnswer]:
        first = asyncio.ensure_future(teaching.decide(Request("r1", "ann", "rug", ())))
        second = asyncio.ensure_future(teaching.decide(Request("r2", "ann", "rug", ())))
        await asyncio.to_thread(mind.entered.wait, 10)
        waiting = list(mind.begun)
        second.cancel()
        await asyncio.wait([second])
        mind.leave.set()
        return waiting, await first

    waiting, answer = asyncio.run(busy())
    assert (waiting, answer.request_id) == (["r1"], "r1")
    assert mind.begun == ["r1"]  # the second was given up before its turn


def test_the_router_tells_theta_and_how_sure_it_is() -> None:
    student = SaidStudent()
    router = Router(student, calibration(0.8))
    router.warm_up()
    asked = RoutingInput("red rug", PreferenceProfile(), None)
    routed = asyncio.run(router.route(asked))
    assert routed.theta == STUDENT
    assert routed.confidence == pytest.approx(0.8)
    assert student.asked[1:] == [asked]


def test_the_re_ranker_tells_grades_and_shares() -> None:
    node, case = Reranking(RetrievalOrder()), case_of("a rug", "a lamp")
    graded = asyncio.run(node.grade(case))
    assert np.allclose(graded.grades.sum(axis=1), 1.0)
    assert graded.counts == {}
    assert asyncio.run(node.contributions(case)) == [{}, {}]
