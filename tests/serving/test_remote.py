"""What crosses to replicas and back, and Ray's errors at that seam; handles are made up."""

from __future__ import annotations

import asyncio
import pickle
import warnings
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.errors import BusyError, RequestError
from adamroute.recommender.nodes import Nodes, Routed
from adamroute.recommender.steps import Facts
from adamroute.routing.student import RoutingInput
from adamroute.serving.admission import Admission
from adamroute.serving.schemas import RecommendBody, RouteBody
from adamroute.theta import Theta
from tests.recommender.small_shop import FACTS, WordEncoder, nodes, recommender
from tests.serving.front import admission

with warnings.catch_warnings():  # Ray's own use of pydantic
    warnings.simplefilter("ignore")
    from ray.exceptions import RayActorError, RayTaskError
    from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

    from adamroute.serving.remote import RemoteRecommender, RemoteRouter, RemoteTeacher


class Response:
    """What a handle's call returns: awaitable, cancellable."""

    def __init__(self, work: Callable[[], Awaitable[object]]) -> None:
        self._work = work
        self.cancelled = False

    def __await__(self) -> Generator[Any, None, object]:
        return self._work().__await__()

    def cancel(self) -> None:
        self.cancelled = True


class Handle:
    """Each attribute is a method whose `remote` gives the response."""

    def __init__(self, work: Callable[[], Awaitable[object]]) -> None:
        self.response = Response(work)
        self.called: list[tuple[str, tuple[object, ...], dict[str, object]]] = []

    def __getattr__(self, name: str) -> Handle:
        self.called.append((name, (), {}))
        return self

    def remote(self, *args: object, **kwargs: object) -> Response:
        self.called[-1] = (self.called[-1][0], args, kwargs)
        return self.response


def raises(error: BaseException) -> Handle:
    async def work() -> object:
        raise error

    return Handle(work)


REQUEST = Request("r1", "ann", "red rug", ())
ROUTED = Routed(Theta(0.5, 20), 0.9, np.full(11, 1 / 11))


def says(value: object) -> Handle:
    async def work() -> object:
        return value

    return Handle(work)


def test_a_call_reaches_the_method_with_its_arguments() -> None:
    handle, asked = says(ROUTED), RoutingInput("red rug", PreferenceProfile(), None)
    assert asyncio.run(RemoteRouter("router", handle).route(asked)) is ROUTED
    assert handle.called == [("route", (asked,), {})]


def test_a_request_reaches_the_recommender_with_all_it_says() -> None:
    handle = says(None)
    remote = RemoteRecommender("recommender", handle)
    asyncio.run(remote.recommend(policy="student", n=3, time_s=1.0, query="rug", user_id="ann"))
    asyncio.run(remote.route(query="rug"))
    said = {"query": "rug", "user_id": "ann", "policy": "student", "n": 3, "time_s": 1.0}
    assert handle.called == [
        ("recommend", (), {**said, "exclude": None}),
        ("route", (), {"policy": "auto", "time_s": None, "query": "rug"}),
    ]


@pytest.mark.parametrize(
    "error",
    [
        BackPressureError(num_queued_requests=5, max_queued_requests=5),
        DeploymentUnavailableError("teacher"),
        RayActorError(),
    ],
)
def test_a_full_queue_and_a_lost_replica_are_busy(error: Exception) -> None:
    with pytest.raises(BusyError, match=r"teacher: .*try again"):
        asyncio.run(RemoteTeacher("teacher", raises(error)).decide(REQUEST))


def test_an_error_of_ours_arrives_as_it_was_raised() -> None:
    cause = RequestError("query", "query: needed")
    wrapped = RayTaskError("recommend", "traceback", cause)
    with pytest.raises(RequestError, match="query: needed") as caught:
        asyncio.run(RemoteRecommender("recommender", raises(wrapped)).recommend())
    assert caught.value.field == "query"


def test_a_foreign_error_stays_foreign() -> None:
    wrapped = RayTaskError("recommend", "traceback", ZeroDivisionError("x"))
    with pytest.raises(RayTaskError):
        asyncio.run(RemoteRecommender("recommender", raises(wrapped)).recommend())


def test_a_caller_that_gives_up_cancels_the_call() -> None:
    async def never() -> object:
        return await asyncio.Event().wait()

    handle = Handle(never)

    async def impatient() -> None:
        async with asyncio.timeout(0.01):
            await RemoteTeacher("teacher", handle).decide(REQUEST)

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    assert handle.response.cancelled


class Border:
    """A handle whose calls really cross: arguments and results are pickled on the way."""

    def __init__(self, target: object) -> None:
        self._target = target
        self.crossed: list[tuple[str, object]] = []  # method, and what it was given
        self._method = ""

    def __getattr__(self, name: str) -> Border:
        self._method = name
        return self

    def remote(self, *args: object, **kwargs: object) -> Response:
        name = self._method
        given, said = pickle.loads(pickle.dumps((args, kwargs)))
        self.crossed.append((name, said or given[0]))

        async def work() -> object:
            return pickle.loads(pickle.dumps(await getattr(self._target, name)(*given, **said)))

        return Response(work)


def cluster(parts: Nodes, facts: Facts = FACTS) -> tuple[Admission, dict[str, Border]]:
    """As serving/graph.py binds it where the re-ranker is no language model."""
    router, teacher = Border(parts.router), Border(parts.teacher)
    nodes_ = Nodes(
        RemoteRouter("router", router), RemoteTeacher("teacher", teacher), parts.reranker
    )
    path = Border(recommender(nodes_, facts=facts))
    front = admission(RemoteRecommender("recommender", path))
    return front, {"recommender": path, "router": router, "teacher": teacher}


BODY = RecommendBody(user_id="ann", query="red rug", n=3)


def test_a_request_crosses_each_border_once_and_carries_no_vector() -> None:
    front, borders = cluster(nodes(confidence=0.5))
    answer = asyncio.run(front.recommend(BODY))
    assert answer == replace(
        asyncio.run(admission(recommender(nodes(confidence=0.5))).recommend(BODY)),
        timings_ms=answer.timings_ms,
    )
    names = {name: [method for method, _ in border.crossed] for name, border in borders.items()}
    assert names == {"recommender": ["recommend"], "router": ["route"], "teacher": ["decide"]}
    (_, routed), (_, taught) = borders["router"].crossed[0], borders["teacher"].crossed[0]
    assert routed == RoutingInput("red rug", PreferenceProfile(("red",), ("lamp", "rug")), None)
    assert isinstance(taught, Request)
    assert (taught.request_id, taught.query) == ("r1", "red rug")


def test_routing_alone_is_one_call_of_each_too() -> None:
    front, borders = cluster(nodes())
    asyncio.run(front.route(RouteBody(user_id="ann", query="red rug")))
    assert [len(border.crossed) for border in borders.values()] == [1, 1, 0]


def test_a_static_theta_leaves_the_recommender_for_nobody() -> None:
    front, borders = cluster(nodes())
    asyncio.run(front.recommend(BODY.model_copy(update={"policy": "static@0.5,4"})))
    assert [len(border.crossed) for border in borders.values()] == [1, 0, 0]


def test_a_router_of_vectors_is_sent_the_querys() -> None:
    front, borders = cluster(nodes(), replace(FACTS, reads_vectors=True))
    asyncio.run(front.recommend(BODY))
    ((_, asked),) = borders["router"].crossed
    assert isinstance(asked, RoutingInput)
    assert asked.text_vector is not None
    assert np.array_equal(asked.text_vector, WordEncoder().encode(["red rug"])[0])
