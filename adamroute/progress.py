"""What long work tells the person who waits: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]
PLAIN_EVERY_S = 10.0  # a line this often where there is no terminal


class Progress(Protocol):
    """Handed to every stage; only the command line decides what becomes of it."""

    def task(self, title: str, total: int) -> AbstractContextManager[Advance]:
        """A stretch of work of `total` units; call the result with the units just done."""
        ...

    def note(self, line: str) -> None:
        """One line worth keeping."""
        ...


class SilentProgress:
    """For tests and for callers that show nothing."""

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Advance]:  # noqa: ARG002 - the seam's
        yield lambda _: None

    def note(self, line: str) -> None: ...


class TerminalProgress:
    """rich bars on a terminal, a plain line every ten seconds and at the end otherwise."""

    def __init__(self, *, bars: bool | None = None) -> None:
        self._bars = sys.stderr.isatty() if bars is None else bars

    def task(self, title: str, total: int) -> AbstractContextManager[Advance]:
        return _bar(title, total) if self._bars else _lines(title, total)

    def note(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def _bar(title: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn())
    with RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        task = bars.add_task(title, total=total)
        yield lambda done: bars.advance(task, done)


@contextmanager
def _lines(title: str, total: int) -> Iterator[Advance]:
    start = last = time.monotonic()
    count = 0

    def advance(done: int) -> None:
        nonlocal count, last
        count += done
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            left = (last - start) / max(count, 1) * (total - count)
            ahead = f", about {_duration(left)} left" if 0 < count < total else ""
            print(f"{title}: {count}/{total}{ahead}", file=sys.stderr, flush=True)

    yield advance
    took = time.monotonic() - start
    print(f"{title}: {count}/{total} in {took:.1f} s", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """As a person says it: "25 s", "12 min", "3.5 h"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


SILENT = SilentProgress()
