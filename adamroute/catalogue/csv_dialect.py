"""Comma-separated values as they come: any delimiter, Excel's `sep=` line, cells of any length."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adamroute.catalogue.table_form import Record
from adamroute.errors import ShopError, shown

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_SEP_LINE = re.compile(r'"?sep=([^"\r\n])"?[^\S\r\n\t]*(?:\r\n|\r|\n|$)', re.I)


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file, split into cells."""

    columns: tuple[str, ...]
    delimiter: str
    records: tuple[Record, ...]


def read_csv(
    path: Path, text: str, delimiter: str | None, wanted: Collection[str] | None
) -> CsvSheet:
    """All records that are not empty; ShopError where quotes or header are broken.

    Without a delimiter a `sep=` line tells it, else the header: the one that finds most of the
    wanted columns there, then the one that finds most columns.
    """
    told = _SEP_LINE.match(text)
    body = text[told.end() :] if told else text
    with _cells_of_any_length(text):
        mark = delimiter or (told and told[1]) or _sniffed(body, wanted)
        records = list(_records(path, body, mark, 1 if told else 0))
    line, header = records[0] if records else (1, [])
    names = [name.strip() for name in header]
    while names and not names[-1]:  # columns that a spreadsheet adds
        names.pop()
    looked_at = set(names if wanted is None else wanted) - {""}
    twice = sorted(name for name in looked_at if names.count(name) > 1)
    if twice:
        raise ShopError(
            f"{path}:{line}: column {shown(twice[0])} stands twice. Rename or drop one"
        )
    record = _RecordMaker(
        width=len(names), sign=_DELIMITERS.get(mark, repr(mark)),
        kept=tuple((place, name) for place, name in enumerate(names) if name in looked_at),
    )  # fmt: skip
    made = tuple(record(f"{path}:{line}", cells) for line, cells in records[1:])
    return CsvSheet(tuple(filter(None, names)), mark, made)


@dataclass(frozen=True, slots=True)
class _RecordMaker:
    """Takes the cells of the columns that are looked at."""

    width: int  # of the header
    sign: str  # the name of the delimiter
    kept: tuple[tuple[int, str], ...]  # place and name of a column

    def __call__(self, where: str, cells: Sequence[str]) -> Record:
        extra = cells[self.width :]
        if len(cells) < self.width or (extra and "".join(extra).strip()):
            return Record(
                where, {}, f"{len(cells)} cells, wanted {self.width} as in the header. Put double "
                f"quotes around a cell that holds a {self.sign} or a line break",
            )  # fmt: skip
        return Record(where, {name: cells[place] for place, name in self.kept})


def _records(path: Path, text: str, mark: str, before: int) -> Iterator[tuple[int, list[str]]]:
    """Records with at least one cell filled; `before` lines stand above the text."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    while True:
        line = reader.line_num + 1 + before
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ShopError(
                f"{path}:{line}: not CSV: {error}. Write a double quote inside a quoted cell twice"
            ) from error
        if cells is None:
            return
        if "".join(cells).strip():
            yield line, cells


def _sniffed(text: str, wanted: Collection[str] | None) -> str:
    def score(mark: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        names = next((row for row in reader if any(cell.strip() for cell in row)), [])
        return len({name.strip() for name in names} & set(wanted or ())), len(names)

    return max(_DELIMITERS, key=score)  # the first of equals


@contextmanager
def _cells_of_any_length(text: str) -> Iterator[None]:
    """The limit of 131,072 characters belongs to the whole process, so it is put back."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, len(text)))
    try:
        yield
    finally:
        csv.field_size_limit(before)
