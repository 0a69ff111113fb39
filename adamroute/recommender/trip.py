"""One request under way: how long each stage took, and how much time is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Clock = Callable[[], float]  # seconds that only grow
T = TypeVar("T")


class Trip:
    """Milliseconds each stage of a request took, as its caller waited."""

    def __init__(self, clock: Clock, time_s: float | None = None) -> None:
        """`time_s` is what the request may take; None: as long as it needs."""
        self._clock, self._time_s = clock, time_s
        self._start = clock()
        self._ms: dict[str, float] = {}

    @property
    def left_s(self) -> float | None:
        """Seconds until the request's time is over; None where it has no end."""
        return None if self._time_s is None else self._time_s - (self._clock() - self._start)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A block whose time counts as stage `name`."""
        start = self._clock()
        try:
            yield
        finally:
            self._ms[name] = 1000.0 * (self._clock() - start)

    async def time(self, name: str, work: Awaitable[T]) -> T:
        """The same of something that is awaited."""
        with self.stage(name):
            return await work

    def ms(self) -> dict[str, float]:
        """Stages in the order they ended, then the total; to a hundredth."""
        whole = {**self._ms, "total": 1000.0 * (self._clock() - self._start)}
        return {stage: round(value, 2) for stage, value in whole.items()}
