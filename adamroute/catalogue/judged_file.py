"""The judgements of a run's own folder: one JSON object a line, added to, never into the shop's.

A shop folder may be read-only, so what `adamroute judge` hears lies in `judged.jsonl` beside the
run's stages. The file is written whole under a temporary name, then renamed. A row says where it
came from: an act on the page (`page:7`, so that it can be undone) or a file by its sha256
(`file:1f0c...`, so that its clicks count once however often it is imported).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adamroute.catalogue.judgements import (
    MOST_GRADE,
    Judgement,
    ReadJudgements,
    normalised,
    read_judgements,
)
from adamroute.catalogue.left_out import LeftOut
from adamroute.catalogue.qrels import is_qrels, topics_beside
from adamroute.catalogue.shop import Catalogue
from adamroute.errors import ShopError, shown
from adamroute.stages import content_hash, write_text

Text = Annotated[str, Field(min_length=1)]


class JudgedRow(BaseModel):
    """One line: a grade, or the sum of what clicks count."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Text
    item_id: Text
    grade: Annotated[float, Field(ge=0, le=MOST_GRADE)] | None = None
    clicks: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    user_id: str = ""
    source: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Rows of one key say the same."""
        said = self.source if self.grade is None else (self.grade, self.user_id)
        return normalised(self.query), self.item_id, said


@dataclass(frozen=True)
class Taken:
    """What an import added, and what it left out by the name of the reason."""

    path: Path
    rows: tuple[JudgedRow, ...]
    notes: dict[str, LeftOut]

    def told(self) -> Iterator[str]:
        """Lines for the person who imported."""
        queries = len({normalised(row.query) for row in self.rows})
        yield f"{self.path.name}: {len(self.rows)} judgements of {queries} queries taken"
        for name, left in self.notes.items():
            if left.count:
                yield f"not taken: {left.count} {name.replace('_', ' ')}"
                yield from (f"  {text}" for text in left.first)


def kept_rows(path: Path) -> tuple[JudgedRow, ...]:
    """All rows of the file, none where it is not there; ShopError names a broken line."""
    if not path.is_file():
        return ()
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ShopError(f"{path}: not UTF-8 ({error.reason}). Delete it or mend it") from error
    return tuple(_row(f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip())


def keep_rows(path: Path, rows: Sequence[JudgedRow]) -> None:
    """Write the file whole or not at all; without rows it goes."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    lines = [row.model_dump_json(exclude_defaults=True) for row in rows]
    write_text(path, "\n".join(lines) + "\n")


def take_judgements(
    source: Path, catalogue: Catalogue, target: Path, topics: Path | None = None
) -> Taken:
    """Check a file of any of the three forms and add what is new to `target`.

    Topics of qrels that nobody names are looked for beside them. ShopError as `read_judgements`.
    """
    if topics is None and is_qrels(source):
        topics = topics_beside(source)
    read = read_judgements(source, catalogue, topics=topics)
    name = f"file:{content_hash(source)[:12]}"
    old = kept_rows(target)
    known = {row.key for row in old}
    twice = LeftOut()
    new: dict[tuple[object, ...], JudgedRow] = {}
    for where, row in _rows(read, name):
        if row.key in known or row.key in new:
            twice.add(f"{where}: item {shown(row.item_id)} for {shown(row.query)}")
        else:
            new[row.key] = row
    if new:
        keep_rows(target, (*old, *new.values()))
    return Taken(source, tuple(new.values()), {**read.notes, "judgements_known_already": twice})


def _rows(read: ReadJudgements, source: str) -> Iterator[tuple[str, JudgedRow]]:
    """Grades as they are, and clicks summed by query and item."""
    clicks: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for row in read.rows:
        if row.by_click:
            clicks[normalised(row.query), row.item_id].append(row)
            continue
        yield (
            row.where,
            JudgedRow(
                query=row.query, item_id=row.item_id, grade=row.value, user_id=row.user_id,
                source=source,
            ),
        )  # fmt: skip
    for first, *more in clicks.values():
        total = math.fsum(row.value for row in (first, *more))
        yield (
            first.where,
            JudgedRow(query=first.query, item_id=first.item_id, clicks=total, source=source),
        )


def _row(where: str, line: str) -> JudgedRow:
    try:
        return JudgedRow.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "line"
        raise ShopError(
            f"{where}: {place}: {first['msg']}. Correct the line or drop it"
        ) from error
