"""Ray's errors at the seam, from a handle that raises them; a cluster raises the same ones."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from adamroute.errors import BusyError, RequestError

with warnings.catch_warnings():  # Ray's own use of pydantic
    warnings.simplefilter("ignore")
    from ray.exceptions import RayActorError, RayTaskError
    from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

    from adamroute.serving.remote import Remote


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
        self.called: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> Handle:
        self.called.append((name, ()))
        return self

    def remote(self, *args: object) -> Response:
        self.called[-1] = (self.called[-1][0], args)
        return self.response


def raises(error: BaseException) -> Handle:
    async def work() -> object:
        raise error

    return Handle(work)


def test_a_call_reaches_the_method_with_its_arguments() -> None:
    async def work() -> object:
        return 7

    handle = Handle(work)
    assert asyncio.run(Remote("recall", handle).search("q", 3)) == 7  # type: ignore[arg-type]
    assert handle.called == [("search", ("q", 3))]


@pytest.mark.parametrize(
    "error",
    [
        BackPressureError(num_queued_requests=5, max_queued_requests=5),
        DeploymentUnavailableError("scorer"),
        RayActorError(),
    ],
)
def test_a_full_queue_and_a_lost_replica_are_busy(error: Exception) -> None:
    with pytest.raises(BusyError, match=r"scorer: .*try again"):
        asyncio.run(Remote("scorer", raises(error)).score())  # type: ignore[arg-type]


def test_an_error_of_ours_arrives_as_it_was_raised() -> None:
    cause = RequestError("query", "query: needed")
    wrapped = RayTaskError("look_up", "traceback", cause)
    with pytest.raises(RequestError, match="query: needed") as caught:
        asyncio.run(Remote("recall", raises(wrapped)).look_up())  # type: ignore[arg-type]
    assert caught.value.field == "query"


def test_a_foreign_error_stays_foreign() -> None:
    wrapped = RayTaskError("look_up", "traceback", ZeroDivisionError("x"))
    with pytest.raises(RayTaskError):
        asyncio.run(Remote("recall", raises(wrapped)).look_up())  # type: ignore[arg-type]


def test_a_caller_that_gives_up_cancels_the_call() -> None:
    async def never() -> object:
        return await asyncio.Event().wait()

    handle = Handle(never)

    async def impatient() -> None:
        async with asyncio.timeout(0.01):
            await Remote("teacher", handle).decide()

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    assert handle.response.cancelled
