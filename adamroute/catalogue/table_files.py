"""Tables of a shop folder as rows of text: CSV, JSONL, Parquet.

Every cell becomes text, so that an id such as `702.584.83` or `007` stays what it is. A table is
read whole into memory. CSV and JSONL go through the standard library, because polars fills a short
row with nulls and does not say on which line a file is broken; Parquet goes through polars.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path

from adamroute.errors import ShopError
from adamroute.stages import content_hash

_UNUSABLE = re.compile("[\x00\ud800-\udfff]")  # neither UTF-8 nor every database takes them


@dataclass(frozen=True, slots=True)
class Row:
    """One record; `where` names file and line for messages."""

    where: str
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """The cell without outer whitespace; `""` where it is empty, null, NaN or absent."""
        return self.cells.get(column, "")

    def needed(self, column: str) -> str:
        """The cell; ShopError where it is empty."""
        if not (value := self.text(column)):
            raise ShopError(f"{self.where}: '{column}' is empty. Fill it in or drop the row")
        return value


@dataclass(frozen=True)
class Table:
    """A file of at least one row."""

    path: Path
    columns: frozenset[str]
    rows: tuple[Row, ...]

    def require(self, columns: Iterable[str], asked_by: str) -> None:
        """ShopError where a column is absent; `asked_by` is who names it."""
        missing = sorted(set(columns) - self.columns)
        if missing:
            raise ShopError(
                f"{self.path}: no column {', '.join(map(repr, missing))}, which {asked_by} needs; "
                f"got {', '.join(sorted(self.columns))}. Add the column or correct the name"
            )

    def ids(self, column: str) -> tuple[str, ...]:
        """The column of an id; ShopError where one is empty or stands twice."""
        first: dict[str, str] = {}
        for row in self.rows:
            value = row.needed(column)
            if value in first:
                raise ShopError(
                    f"{row.where}: {column} {value!r} stands at {first[value]} already, "
                    "wanted once. Give each row its own id or drop one"
                )
            first[value] = row.where
        return tuple(first)


def inside(folder: Path, name: str, where: str) -> Path:
    """The absolute path of a file named by a shop; ShopError where it leaves the folder.

    `folder` is resolved already. A link is followed: what counts is where the file lies.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a NUL, a link to itself
        raise ShopError(f"{where}: {name!r} cannot be a path: {error}") from error
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise ShopError(
            f"{where}: {name!r} lies outside the shop folder; wanted a path relative to it. "
            "Copy the file into the folder"
        )
    return path


def read_table(path: Path) -> Table:
    """Read a .csv, .jsonl or .parquet file; ShopError names the line that cannot be used."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ShopError(f"{path}: unknown kind of table, wanted {', '.join(readers)}")
    with _legible(path):
        data = path.read_bytes()
    rows = tuple(reader(path, data))
    if not rows:
        raise ShopError(f"{path}: no rows, wanted at least one. Fill the table or leave it out")
    columns = frozenset(column for row in rows for column in row.cells)
    return Table(path, columns, rows)


def table_hash(path: Path) -> str:
    """sha256 of a table's bytes; ShopError where it can't be read."""
    with _legible(path):
        return content_hash(path)


@contextmanager
def _legible(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise ShopError(f"{path}: no such file. Put the table there or correct its name")
    try:
        yield
    except OSError as error:
        raise ShopError(f"{path}: cannot be read: {error.strerror}") from error


def _read_csv(path: Path, data: bytes) -> Iterator[Row]:
    records = _csv_records(path, _decoded(path, data))
    _, names = next(records, (1, []))
    header = [name.strip() for name in names]
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise ShopError(f"{path}:1: column {twice[0]!r} stands twice. Rename or drop one")
    for line, cells in records:
        if len(cells) != len(header):
            raise ShopError(
                f"{path}:{line}: {len(cells)} cells, wanted {len(header)} as in the header. "
                "Put double quotes around a cell that holds a comma or a line break"
            )
        yield _row(f"{path}:{line}", zip(header, cells, strict=True))


def _csv_records(path: Path, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Records that are not blank, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ShopError(
                f"{path}:{line}: not CSV: {error}. Write a double quote inside a quoted cell twice"
            ) from error
        if cells is None:
            return
        if cells:
            yield line, cells


def _read_jsonl(path: Path, data: bytes) -> Iterator[Row]:
    # not splitlines(): U+2028 and its like may stand inside a JSON string
    for line, text in enumerate(_decoded(path, data).split("\n"), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ShopError(
                f"{path}:{line}: not JSON: {error}. Wanted one object on each line"
            ) from error
        if not isinstance(record, dict):
            got = type(record).__name__
            raise ShopError(f"{path}:{line}: got {got}, wanted one JSON object on each line")
        yield _row(f"{path}:{line}", record.items())


def _read_parquet(path: Path, data: bytes) -> Iterator[Row]:
    import polars as pl

    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ShopError(f"{path}: not Parquet: {error}. Write the file anew") from error
    for number, record in enumerate(frame.iter_rows(named=True), 1):
        yield _row(f"{path}, row {number}", record.items())


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ShopError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8. "
            f"Convert the file: iconv -f ISO-8859-1 -t UTF-8 {path.name}"
        ) from error


def _row(where: str, pairs: Iterable[tuple[str, object]]) -> Row:
    cells = {}
    for column, value in pairs:
        try:
            cells[column] = _cell(value)
        except ValueError as error:
            raise ShopError(f"{where}: '{column}' holds {error}. Correct the cell") from error
    return Row(where, cells)


def _cell(value: object) -> str:
    """Text of a cell; ValueError says what is wrong with it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    if isinstance(value, list):
        return ", ".join(text for text in map(_cell, value) if text)
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__}, wanted text, a number or a list of these")
    if bad := _UNUSABLE.search(value):
        raise ValueError(f"the character U+{ord(bad.group()):04X}, wanted valid Unicode")
    return value.strip()
