"""Rows of a table that are left out: how many, the first of them, and when it is too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import JsonValue

from adamroute.errors import ShopError

OnBadRow = Literal["stop", "skip"]
MOST = 0.05  # share of a table's rows that `on_bad_row: skip` may leave out
_NAMED = 10
S = TypeVar("S")
T = TypeVar("T")


@dataclass
class LeftOut:
    """Rows left out for one reason: all are counted, the first ten are named."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        self.count += 1
        if len(self.first) < _NAMED:
            self.first.append(message)

    def joined(self, other: LeftOut) -> LeftOut:
        """Both as one, these first."""
        return LeftOut(self.count + other.count, [*self.first, *other.first][:_NAMED])

    def facts(self, *paths: Path) -> JsonValue:
        """What a manifest records of them; the tables' paths go down to their names."""
        first = list(self.first)
        for path in paths:
            first = [text.replace(f"{path.parent}/", "") for text in first]
        return {"count": self.count, "first": [*first]}


@dataclass
class Sieve:
    """What becomes of a row of one table that cannot be used: all stops, or it is left out."""

    path: Path
    on_bad_row: OnBadRow = "stop"
    total: int = 0  # rows that were looked at, by the reader of the table
    bad: LeftOut = field(default_factory=LeftOut)

    def through(self, rows: Iterable[S], make: Callable[[S], T]) -> Iterator[T]:
        """What `make` returns of each row; a row of which it raises ShopError is a bad one."""
        for row in rows:
            try:
                made = make(row)
            except ShopError as error:
                if self.on_bad_row == "stop":
                    raise
                self.bad.add(str(error))
            else:
                yield made

    def settle(self) -> None:
        """ShopError where more than a twentieth of the rows were bad."""
        if self.bad.count > MOST * self.total:
            raise ShopError(
                f"{self.path}: {self.bad.count} of {self.total} rows cannot be used, more than "
                f"the {MOST:.0%} that 'on_bad_row: skip' may leave out. Correct them; the first: "
                + "; ".join(self.bad.first)
            )
