"""What a request gets under each policy, from plain nodes and without a cluster."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import cast

import pytest

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.config import ServeConfig
from adamroute.errors import BusyError, DeadlineError, PolicyError, RequestError
from adamroute.routing.policy_string import Standing
from adamroute.serving.flow import Flow
from adamroute.serving.nodes import READY, Routed, Router, Teach
from adamroute.serving.schemas import RecommendAnswer, RecommendBody, RouteAnswer, RouteBody
from adamroute.teacher.answer import TeacherAnswer
from tests.serving.house import (
    STORED,
    STUDENT,
    TEACHER,
    Counted,
    Lines,
    SaidStudent,
    flow,
    nodes,
)


class StuckTeacher(Teach):
    """Never answers."""

    def __init__(self) -> None:
        self.cancelled = False

    async def decide(self, request: Request) -> TeacherAnswer:  # noqa: ARG002
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


class FullTeacher(Teach):
    """Its queue is always full."""

    def __init__(self) -> None: ...

    async def ping(self) -> str:
        raise BusyError("teacher: restarting")

    async def decide(self, request: Request) -> TeacherAnswer:  # noqa: ARG002
        raise BusyError("teacher: its queue is full")


def route(served: Flow, **body: object) -> RouteAnswer:
    asked = json.dumps({"user_id": "ann", "query": "red rug", **body})
    return asyncio.run(served.route(RouteBody.model_validate_json(asked)))


def recommend(served: Flow, **body: object) -> RecommendAnswer:
    asked = json.dumps({"user_id": "ann", "query": "red rug", "n": 3, **body})
    return asyncio.run(served.recommend(RecommendBody.model_validate_json(asked)))


def theta(answer: RouteAnswer) -> tuple[float, int]:
    return answer.theta.alpha, answer.theta.budget


def test_a_confident_student_answers_alone() -> None:
    answer = route(flow(nodes(confidence=0.9)))
    assert answer.source == "student"
    assert theta(answer) == (STUDENT.alpha, STUDENT.budget)
    assert answer.confidence == pytest.approx(0.9)
    assert (answer.threshold, answer.fallback) == (0.7, None)
    assert set(answer.timings_ms) == {"profile", "route", "total"}


def test_an_unsure_student_hands_over_to_the_teacher_where_calibration_found_a_gain() -> None:
    answer = route(flow(nodes(confidence=0.5)))
    assert (answer.source, answer.fallback) == ("teacher", "low_confidence")
    assert theta(answer) == (TEACHER.alpha, TEACHER.budget)
    assert answer.confidence == pytest.approx(0.5)
    assert answer.teacher_fallbacks == ("no_neighbours",)
    assert "teacher" in answer.timings_ms


@pytest.mark.parametrize(
    ("standing", "body", "name"),
    [
        (Standing(True, False, "student"), {}, "no_gain"),
        (Standing(False, False, "student"), {}, "uncertified"),
        (Standing(True, True, "student"), {"user_id": "nobody"}, "no_history"),
        (Standing(True, True, "student"), {"history": []}, "no_history"),
    ],
)
def test_a_fallback_that_does_not_happen_has_a_name(
    standing: Standing, body: dict[str, object], name: str
) -> None:
    answer = route(flow(nodes(confidence=0.5), standing=standing), **body)
    assert (answer.source, answer.fallback) == ("student", f"fallback_skipped: {name}")


def test_an_uncertified_calibration_is_flagged_and_may_send_to_the_teacher() -> None:
    standing = Standing(certified=False, gain=False, on_uncertified="teacher")
    answer = route(flow(nodes(confidence=0.5), standing=standing))
    assert (answer.source, answer.fallback) == ("teacher", "low_confidence")
    assert answer.certified is False


@pytest.mark.parametrize(("threshold", "source"), [("0.4", "student"), ("0.95", "teacher")])
def test_a_policy_may_bring_its_own_threshold(threshold: str, source: str) -> None:
    answer = route(flow(nodes(confidence=0.5)), policy=f"auto@{threshold}")
    assert (answer.source, answer.threshold) == (source, float(threshold))


def test_the_student_can_be_forced_however_unsure_it_is() -> None:
    answer = route(flow(nodes(confidence=0.01)), policy="student")
    assert (answer.source, answer.fallback, answer.threshold) == ("student", None, None)


def test_the_teacher_can_be_forced_and_the_student_is_not_asked() -> None:
    student = SaidStudent()
    parts = nodes(student=student)
    student.asked.clear()
    answer = route(flow(parts), policy="teacher")
    assert (answer.source, answer.confidence, student.asked) == ("teacher", None, [])


def test_a_teacher_without_evidence_says_so() -> None:
    answer = route(flow(), policy="teacher", user_id="nobody")
    assert answer.source == "teacher:no_evidence"
    assert theta(answer) == (STORED.alpha, STORED.budget)
    assert answer.teacher_fallbacks == ("no_neighbours", "no_history")


def test_a_static_theta_asks_nobody() -> None:
    answer = recommend(flow(), policy="static@0.25,4")
    assert (answer.source, theta(answer)) == ("static", (0.25, 4))
    assert not {"route", "teacher"} & set(answer.timings_ms)


def test_a_static_budget_beyond_tau_is_refused() -> None:
    with pytest.raises(PolicyError, match="tau = 6"):
        route(flow(), policy="static@0.5,7")


def test_a_teacher_that_takes_too_long_leaves_the_answer_to_the_student() -> None:
    stuck = StuckTeacher()
    parts = replace(nodes(confidence=0.5), teacher=stuck)
    answer = route(flow(parts, limits=ServeConfig(timeout_s=0.3)))
    assert (answer.source, answer.fallback) == ("student", "fallback_skipped: budget")
    assert stuck.cancelled


def test_a_busy_teacher_leaves_the_answer_to_the_student() -> None:
    parts = replace(nodes(confidence=0.5), teacher=FullTeacher())
    assert route(flow(parts)).fallback == "fallback_skipped: budget"


def test_a_teacher_known_to_be_slower_than_the_time_left_is_not_asked() -> None:
    class Slow(Teach):
        def __init__(self, like: Teach) -> None:
            self.like = like
            self.asked = 0

        async def decide(self, request: Request) -> TeacherAnswer:
            self.asked += 1
            return replace(await self.like.decide(request), ms=60_000.0)

    parts = nodes(confidence=0.5)
    slow = Slow(parts.teacher)
    served = flow(replace(parts, teacher=slow))
    body = RouteBody(user_id="ann", query="red rug")

    async def twice() -> tuple[RouteAnswer, RouteAnswer]:
        return await served.route(body), await served.route(body)

    first, second = asyncio.run(twice())
    assert (first.source, second.fallback) == ("teacher", "fallback_skipped: budget")
    assert slow.asked == 1


def test_no_answer_within_the_deadline_is_a_deadline_error() -> None:
    parts = replace(nodes(), teacher=StuckTeacher())
    with pytest.raises(DeadlineError, match=r"0\.05 s"):
        route(flow(parts, limits=ServeConfig(timeout_s=0.05)), policy="teacher")


def test_items_come_best_first_with_ranks_levels_and_origin() -> None:
    answer = recommend(flow(), policy="static@0.5,2", n=6)
    # One place each: both branches put the red rug first. bob, ann's neighbour, adds his two.
    assert [item.item_id for item in answer.items] == ["red-rug", "red-lamp", "cable"]
    first = answer.items[0]
    assert (first.title, first.image) == ("red rug", "a.png")
    assert (first.text_rank, first.mm_rank, first.origin) == (1, 1, "both")
    assert [item.origin for item in answer.items[1:]] == ["collaborative", "collaborative"]
    assert sum(first.levels) == pytest.approx(1.0)
    assert first.score == pytest.approx(
        sum(level * p for level, p in enumerate(first.levels, start=1))
    )
    assert first.score > answer.items[2].score
    assert set(answer.timings_ms) == {"profile", "encode", "recall", "score", "total"}


def test_n_cuts_the_answer_and_may_not_exceed_tau() -> None:
    assert len(recommend(flow(), policy="static@0.5,6", n=2).items) == 2
    with pytest.raises(RequestError, match="tau = 6") as caught:
        recommend(flow(), n=7)
    assert caught.value.field == "n"


def test_encoder_and_router_work_at_the_same_time() -> None:
    parts = nodes()
    encoding = asyncio.Event()

    class Waits(Router):
        def __init__(self) -> None: ...

        async def route(self, query: str, profile: PreferenceProfile) -> Routed:  # noqa: ARG002
            await encoding.wait()  # would never come if the router were asked first
            return Routed(STUDENT, 0.9)

    encode = parts.recall.encode

    async def tells(shopper: object) -> object:
        encoding.set()
        return await encode(shopper)  # type: ignore[arg-type]

    parts.recall.encode = tells  # type: ignore[method-assign,assignment]
    served = flow(replace(parts, router=Waits()), limits=ServeConfig(timeout_s=2.0))
    assert recommend(served).source == "student"


def test_one_log_line_a_request_holds_no_query_user_or_item() -> None:
    log, meter = Lines(), Counted()
    recommend(flow(log=log, meter=meter), query="red rug of my grandmother")
    (line,) = log.lines
    assert (line["event"], line["endpoint"], line["request_id"]) == ("answered", "recommend", "r1")
    assert line["theta"] == {"alpha": 0.5, "budget": 4}
    assert line["items"] == 3
    assert "timings_ms" in line
    assert not any(word in str(line) for word in ("grandmother", "ann", "red-rug"))
    assert meter.counts == [
        ("requests", {"endpoint": "recommend", "status": "200", "source": "student"})
    ]
    assert {"profile", "encode", "route", "recall", "score", "total"} == set(meter.stages)


def test_every_fallback_is_counted_under_its_name() -> None:
    meter = Counted()
    route(flow(nodes(confidence=0.5), meter=meter))
    names = [tags["name"] for counter, tags in meter.counts if counter == "fallbacks"]
    assert names == ["low_confidence", "no_neighbours"]


def test_a_refused_request_is_counted_and_logged_with_its_field() -> None:
    log, meter = Lines(), Counted()
    with pytest.raises(RequestError):
        route(flow(log=log, meter=meter), query="   ")
    assert (log.lines[0]["event"], log.lines[0]["field"]) == ("refused", "query")
    assert meter.counts[0][1]["status"] == "RequestError"


def test_one_request_too_many_is_busy_at_once() -> None:
    parts = replace(nodes(), teacher=StuckTeacher())
    served = flow(parts, limits=ServeConfig(timeout_s=0.2, max_ongoing=1, max_queued=1))
    body = RouteBody(user_id="ann", query="red rug", policy="teacher")

    async def three() -> list[object]:
        return list(
            await asyncio.gather(*(served.route(body) for _ in range(3)), return_exceptions=True)
        )

    kinds = [type(result) for result in asyncio.run(three())]
    assert kinds == [DeadlineError, DeadlineError, BusyError]


def test_ready_names_the_replica_that_does_not_answer() -> None:
    whole = asyncio.run(flow().ready())
    assert whole == dict.fromkeys(("router", "recall", "scorer", "teacher"), READY)
    parts = replace(nodes(), teacher=cast(Teach, FullTeacher()))
    states = asyncio.run(flow(parts).ready())
    assert states["teacher"] == "not ready: teacher: restarting"
    assert states["router"] == READY
