"""Whether the server can answer, known beforehand: `/readyz` waits for no request's work.

A task of the ingress looks at the replicas every second, on a way that does not lead through their
queues, and `/readyz` tells what it saw. Where a look is late, since the machine is busy, the last
one counts for KEPT_S seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from adamroute.errors import AdamrouteError
from adamroute.recommender.trip import Clock

READY = "ready"
EVERY_S = 1.0  # between two looks
SOON_S = 0.2  # the same while something is missing
KEPT_S = 4.0  # that what was seen counts
FIRST_S = 0.4  # that the first question waits for the first look

Look = Callable[[], Awaitable[Mapping[str, str]]]  # name to "ready" or what is wrong, by replica


class Readiness:
    """What was seen of the replicas last; a test may bring its own `clock` and `pause`."""

    def __init__(
        self,
        look: Look,
        clock: Clock = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._look, self._clock, self._pause = look, clock, pause
        self._seen: Mapping[str, str] = {}
        self._when: float | None = None
        self._watch: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()

    async def states(self) -> dict[str, str]:
        """Name to "ready" or what is wrong, by replica. The first call begins to watch."""
        if self._watch is None or self._watch.done():  # or of an event loop that is over
            self._watch, self._looked = asyncio.create_task(self._watching()), asyncio.Event()
        if self._when is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._looked.wait(), FIRST_S)
        if self._when is None or self._clock() - self._when > KEPT_S:
            return {"recommender": "not ready: no answer"}
        return dict(self._seen)

    async def _watching(self) -> None:
        while True:
            try:
                seen = await self._look()
            except AdamrouteError as error:
                seen = {"recommender": f"not ready: {error}"}
            self._seen, self._when = seen, self._clock()
            self._looked.set()
            whole = all(state == READY for state in seen.values())
            await self._pause(EVERY_S if whole else SOON_S)
