"""Gate, deadline, counters and the log line, over a recommender in this process."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace

import pytest

from adamroute.config import ServeConfig
from adamroute.errors import BusyError, DeadlineError, RequestError
from adamroute.recommender import Recommendation, Recommender, Routing
from adamroute.recommender.path import RESERVE_S
from adamroute.recommender.trip import Trip
from adamroute.serving.admission import Admission
from adamroute.serving.readiness import Readiness
from adamroute.serving.schemas import RecommendBody, RouteBody
from adamroute.theta import Theta
from tests.recommender.small_shop import StuckTeacher, nodes, recommender
from tests.serving.front import Counted, Lines, admission, all_ready


def route(served: Admission, **body: object) -> Routing:
    asked = json.dumps({"user_id": "ann", "query": "red rug", **body})
    return asyncio.run(served.route(RouteBody.model_validate_json(asked)))


def recommend(served: Admission, **body: object) -> Recommendation:
    asked = json.dumps({"user_id": "ann", "query": "red rug", "n": 3, **body})
    return asyncio.run(served.recommend(RecommendBody.model_validate_json(asked)))


def stuck() -> Recommender:
    return recommender(replace(nodes(), teacher=StuckTeacher()))


def test_no_answer_within_the_deadline_is_a_deadline_error() -> None:
    served = admission(stuck(), limits=ServeConfig(timeout_s=0.05))
    with pytest.raises(DeadlineError, match=r"0\.05 s"):
        route(served, policy="teacher")


def test_the_recommender_is_told_how_much_time_is_left() -> None:
    late = StuckTeacher()
    served = recommender(replace(nodes(confidence=0.5), teacher=late))
    answer = route(admission(served, limits=ServeConfig(timeout_s=RESERVE_S + 1.0)))
    assert (answer.source, answer.fallback) == ("student", "fallback_skipped: budget")
    assert late.cancelled


def test_one_log_line_a_request_holds_no_query_user_or_item() -> None:
    log, meter = Lines(), Counted()
    recommend(admission(log=log, meter=meter), query="red rug of my grandmother")
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


def test_the_answer_and_its_line_bear_the_same_id_and_times() -> None:
    log = Lines()
    answer = recommend(admission(log=log))
    (line,) = log.lines
    assert answer.request_id == line["request_id"] == "r1"
    assert answer.timings_ms == line["timings_ms"]
    assert list(answer.timings_ms)[-1] == "total"


@dataclass
class Counting:
    """A clock that goes on by a second whenever it is looked at."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_the_total_is_the_time_from_admission_to_answer() -> None:
    clock = Counting()
    served = Admission(
        recommender(clock=Counting()),
        ServeConfig(),
        meter=Counted(),
        log=Lines(),
        readiness=Readiness(all_ready),
        clock=clock,
    )
    answer = route(served, policy="static@0.5,2")
    # Looked at on entry, for the time that is left, and at the end; not once by the recommender.
    assert answer.timings_ms == {"profile": 1000.0, "total": 2000.0}


def test_a_trip_knows_its_stages_and_the_time_left() -> None:
    trip = Trip(Counting(), time_s=10.0)  # begins at 1
    with trip.stage("one"):  # 2 to 3
        pass
    assert trip.left_s == 7.0  # at 4
    assert trip.ms() == {"one": 1000.0, "total": 4000.0}
    assert Trip(Counting()).left_s is None


def test_every_fallback_is_counted_under_its_name() -> None:
    meter = Counted()
    route(admission(recommender(nodes(confidence=0.5)), meter=meter))
    names = [tags["name"] for counter, tags in meter.counts if counter == "fallbacks"]
    assert names == ["low_confidence", "no_neighbours"]


def test_a_refused_request_is_counted_and_logged_with_its_id_and_field() -> None:
    log, meter = Lines(), Counted()
    with pytest.raises(RequestError):
        route(admission(log=log, meter=meter), query="   ")
    (line,) = log.lines
    assert (line["event"], line["request_id"], line["field"]) == ("refused", "r1", "query")
    assert meter.counts[0][1]["status"] == "RequestError"


def test_one_request_too_many_is_busy_at_once() -> None:
    served = admission(stuck(), limits=ServeConfig(timeout_s=0.2, max_ongoing=1, max_queued=1))
    body = RouteBody(user_id="ann", query="red rug", policy="teacher")

    async def three() -> list[object]:
        return list(
            await asyncio.gather(*(served.route(body) for _ in range(3)), return_exceptions=True)
        )

    kinds = [type(result) for result in asyncio.run(three())]
    assert kinds == [DeadlineError, DeadlineError, BusyError]


def test_a_place_is_free_again_after_an_error() -> None:
    served = admission(limits=ServeConfig(max_ongoing=1, max_queued=1))

    async def in_turn() -> Theta:
        for _ in range(3):
            with pytest.raises(RequestError):
                await served.route(RouteBody(query=" "))
        return (await served.route(RouteBody(query="rug"))).theta

    assert asyncio.run(in_turn()).budget == 4
