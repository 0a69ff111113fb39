"""Readiness is what was seen last: it waits for no work, and knows soon that a replica is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace

import httpx
import pytest

from adamroute.config import ServeConfig
from adamroute.errors import BusyError
from adamroute.serving.api import create_api
from adamroute.serving.readiness import KEPT_S, READY, Readiness
from tests.recommender.small_shop import StuckTeacher, nodes, recommender
from tests.serving.front import admission

ALL = {"recommender": READY, "router": READY}
GONE = {"recommender": READY, "router": "not ready: its process is gone"}
SILENT = {"recommender": "not ready: no answer"}


@dataclass
class Time:
    """Seconds that pass when the test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        due = self.now + seconds
        while self.now < due:
            await asyncio.sleep(0)

    async def go_on(self, seconds: float) -> None:
        """Time passes, and whoever waited for it has its turn."""
        self.now += seconds
        for _ in range(20):
            await asyncio.sleep(0)


@dataclass
class Replicas:
    """What a look sees; without `answers` it never comes back."""

    states: dict[str, str] = field(default_factory=lambda: dict(ALL))
    answers: bool = True
    error: Exception | None = None
    looks: int = 0

    async def look(self) -> dict[str, str]:
        self.looks += 1
        if not self.answers:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return self.states


Story = Callable[[Readiness, Replicas, Time], Coroutine[None, None, None]]


def told(story: Story, replicas: Replicas | None = None) -> None:
    replicas, time = replicas or Replicas(), Time()
    asyncio.run(story(Readiness(replicas.look, time, time.pause), replicas, time))


def test_many_questions_cost_one_look_a_second() -> None:
    async def story(readiness: Readiness, replicas: Replicas, time: Time) -> None:
        for second in range(3):
            for _ in range(50):
                assert await readiness.states() == ALL
            assert replicas.looks == second + 1
            await time.go_on(1.0)

    told(story)


def test_a_replica_that_is_gone_is_known_within_five_seconds() -> None:
    async def story(readiness: Readiness, replicas: Replicas, time: Time) -> None:
        assert await readiness.states() == ALL
        replicas.states = GONE
        for _ in range(4):  # Serve's controller needs some of the five to see it
            await time.go_on(0.3)
        assert await readiness.states() == GONE
        replicas.states = ALL
        await time.go_on(0.3)  # what is missing is looked for more often
        assert await readiness.states() == ALL

    told(story)


def test_what_was_seen_counts_for_some_seconds_where_the_next_look_is_late() -> None:
    async def story(readiness: Readiness, replicas: Replicas, time: Time) -> None:
        assert await readiness.states() == ALL
        replicas.answers = False
        await time.go_on(KEPT_S)
        assert await readiness.states() == ALL
        await time.go_on(0.1)
        assert await readiness.states() == SILENT
        assert KEPT_S < 5.0

    told(story)


def test_the_first_question_waits_a_little_for_the_first_look() -> None:
    async def story(readiness: Readiness, _: Replicas, __: Time) -> None:
        assert await readiness.states() == SILENT

    told(story, Replicas(answers=False))


def test_a_look_that_fails_says_why() -> None:
    async def story(readiness: Readiness, replicas: Replicas, time: Time) -> None:
        assert await readiness.states() == {"recommender": "not ready: the controller is away"}
        replicas.error = None
        await time.go_on(1.0)
        assert await readiness.states() == ALL

    told(story, Replicas(error=BusyError("the controller is away")))


def test_it_watches_anew_in_another_event_loop() -> None:
    replicas = Replicas()
    readiness = Readiness(replicas.look)
    assert asyncio.run(readiness.states()) == ALL
    replicas.states = GONE

    async def soon() -> dict[str, str]:
        await readiness.states()
        await asyncio.sleep(0)
        return await readiness.states()

    assert asyncio.run(soon()) == GONE


@pytest.mark.parametrize("path", ["/readyz", "/healthz"])
def test_a_server_full_of_slow_work_is_healthy_and_ready(path: str) -> None:
    slow = recommender(replace(nodes(), teacher=StuckTeacher()))
    limits = ServeConfig(max_ongoing=2, max_queued=2, timeout_s=60.0)
    transport = httpx.ASGITransport(create_api(admission(slow, limits=limits)))

    async def busy() -> tuple[int, int, bool]:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            body = {"query": "red rug", "policy": "teacher"}
            asked = [asyncio.create_task(client.post("/v1/route", json=body)) for _ in range(4)]
            await asyncio.sleep(0.05)
            full = await client.post("/v1/route", json=body)
            state = await client.get(path)
            waiting = not any(task.done() for task in asked)
            for task in asked:
                task.cancel()
            return full.status_code, state.status_code, waiting

    assert asyncio.run(busy()) == (503, 200, True)
