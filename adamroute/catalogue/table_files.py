"""Tables of a shop folder as rows of text: CSV, JSONL, Parquet.

Every cell becomes text, so that an id such as `702.584.83` or `007` stays what it is. A table is
read whole into memory. CSV and JSONL go through the standard library, because polars fills a short
row with nulls and does not say on which line a file is broken; Parquet goes through polars. Only
the columns that someone names are looked at: what stands in others stops nothing.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from pydantic import JsonValue

from adamroute.catalogue.csv_dialect import read_csv
from adamroute.catalogue.decoding import decoded, unpacked
from adamroute.catalogue.ids import as_whole_numbers
from adamroute.catalogue.left_out import Sieve
from adamroute.catalogue.mojibake import check_letters
from adamroute.catalogue.table_form import Record, TableForm
from adamroute.errors import QUOTED, ShopError, shown
from adamroute.stages import content_hash, digest

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
    """A file, or a folder of parts, of at least one row."""

    path: Path
    columns: frozenset[str]  # all that the file has
    rows: tuple[Row, ...]  # with the cells of the columns that were asked for
    sieve: Sieve  # takes the rows that cannot be used
    decimal: str  # the sign of decimal numbers, "." or ","
    facts: Mapping[str, JsonValue]  # how it was read

    def require(self, columns: Iterable[str], asked_by: str) -> None:
        """ShopError where a column is absent; `asked_by` is who names it."""
        missing = sorted(set(columns) - self.columns)
        if missing:
            hint = "" if len(self.columns) > 1 else ", or say what parts the columns: delimiter"
            raise ShopError(
                f"{self.path}: no column {', '.join(map(repr, missing))}, which {asked_by} needs; "
                f"got {', '.join(map(_brief, sorted(self.columns)))}. "
                f"Add the column or correct the name{hint}"
            )

    def told(self) -> dict[str, JsonValue]:
        """How it was read, with the bad rows that were left out so far."""
        bad = {"bad_rows": self.sieve.bad.facts(self.path)} if self.sieve.bad.count else {}
        return {**self.facts, **bad}

    def with_ids(self, column: str) -> Iterator[tuple[str, Row]]:
        """Each row with its id; one without an id, or with that of a row above, is a bad row."""
        first: dict[str, str] = {}

        def named(row: Row) -> tuple[str, Row]:
            value = row.needed(column)
            if value in first:
                raise ShopError(
                    f"{row.where}: {column} {shown(value)} stands at {first[value]} already, "
                    "wanted once. Give each row its own id or drop one"
                )
            first[value] = row.where
            return value, row

        return self.sieve.through(self.rows, named)


@dataclass(frozen=True)
class _Part:
    """One file of a table."""

    columns: frozenset[str]
    records: tuple[Record, ...]
    facts: Mapping[str, JsonValue]

    def told(self, values: Mapping[str, str]) -> _Part:
        """With columns that the names of its folders hold."""
        if not values:
            return self
        records = (replace(r, values={**values, **r.values}) for r in self.records)
        return _Part(self.columns | set(values), tuple(records), self.facts)


class _Literal(float):
    """A decimal number of JSON that still knows how it was written."""

    written: str

    def __new__(cls, text: str) -> _Literal:
        number = super().__new__(cls, text)
        number.written = text
        return number


def inside(folder: Path, name: str, where: str) -> Path:
    """The absolute path of a file named by a shop; ShopError where it leaves the folder.

    `folder` is resolved already. A link is followed: what counts is where the file lies.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a NUL, a link to itself
        raise ShopError(f"{where}: {shown(name)} cannot be a path: {error}") from error
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise ShopError(
            f"{where}: {shown(name)} lies outside the shop folder; wanted a path relative to it. "
            "Copy the file into the folder"
        )
    return path


def read_table(
    path: Path,
    form: TableForm | None = None,
    *,
    columns: Collection[str] | None = None,
    ids: Collection[str] = (),
) -> Table:
    """Read a table; ShopError names the line that cannot be used.

    Of `columns` (all where it is None) cells are checked and made text; those of `ids` that are
    whole numbers throughout become integers. A row without a filled cell is no row.
    """
    form = form or TableForm()
    parts = [_part(file, form, columns).told(_named(file, path)) for file in table_files(path)]
    names = frozenset().union(*(part.columns for part in parts))
    used = names if columns is None else names & set(columns)
    records = [record for part in parts for record in part.records]
    sieve = Sieve(path, form.on_bad_row, total=len(records))
    made = list(sieve.through(records, _RowMaker(used, set(ids))))
    rows = [row for row in made if any(row.cells.values()) or not used]
    if not rows and not sieve.bad.count:
        raise ShopError(f"{path}: no rows, wanted at least one. Fill the table or leave it out")
    facts = dict(parts[0].facts)
    decimal = form.decimal or ("," if facts.get("delimiter") == ";" else ".")
    facts |= check_letters(path, ((row.where, row.cells) for row in rows))
    return Table(path, names, _with_integers(rows, ids, decimal), sieve, decimal, facts)


def table_hash(path: Path) -> str:
    """A hash of a table's bytes, part by part; ShopError where they can't be read."""
    files = table_files(path)
    with _legible(path):
        return digest([content_hash(file) for file in files])


def table_files(path: Path) -> tuple[Path, ...]:
    """The file of a table, or those of a folder of parts in the order of their names.

    Hidden files and those that begin with `_` (marks of success) are no parts. ShopError where
    there is none, or where a part is a link out of the folder.
    """
    if path.is_file():
        return (path,)
    if not path.is_dir():
        _kind(path)
        raise ShopError(f"{path}: no such file. Put the table there or correct its name")
    found = sorted(part for part in path.rglob("*") if part.is_file())
    inner = [(part, part.relative_to(path).parts) for part in found]
    parts = tuple(part for part, names in inner if not any(n[0] in "._" for n in names))
    if not parts:
        raise ShopError(f"{path}: a folder without a table in it, wanted at least one part")
    for part in parts:
        if not part.resolve().is_relative_to(path.resolve()):
            raise ShopError(f"{part}: leads out of {path.name}. Copy the file into the folder")
    return parts


def _named(file: Path, table: Path) -> dict[str, str]:
    """`colour=red` of `items.parquet/colour=red/part-0.parquet`, as Hive and Spark write it."""
    folders = file.relative_to(table).parts[:-1] if file != table else ()
    pairs = (name.partition("=") for name in folders if "=" in name)
    return {k: "" if v == "__HIVE_DEFAULT_PARTITION__" else unquote(v) for k, _, v in pairs}


@contextmanager
def _legible(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ShopError(f"{path}: cannot be read: {error.strerror}") from error


def _part(path: Path, form: TableForm, columns: Collection[str] | None) -> _Part:
    kind = _kind(path)
    with _legible(path):
        data = path.read_bytes()
    if kind == "csv":
        return _read_csv(path, unpacked(path, data), form, columns)
    if form.delimiter:
        raise ShopError(f"{path}: {form.key('delimiter')} is for CSV alone. Leave it out")
    if kind == "jsonl":
        return _read_jsonl(path, unpacked(path, data), form)
    if form.encoding:
        raise ShopError(f"{path}: {form.key('encoding')} is for text alone. Leave it out")
    return _read_parquet(path, data, columns)


def _kind(path: Path) -> Literal["csv", "jsonl", "parquet"]:
    """The kind of table by the end of its name; ShopError where it is none we read."""
    name = path.name.lower()
    if name.endswith(".parquet"):
        return "parquet"
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in (".csv", ".tsv"):
        return "csv"
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    wanted = ".csv, .tsv, .jsonl, .ndjson (each also with .gz) or .parquet"
    raise ShopError(f"{path}: unknown kind of table, wanted {wanted}")


def _read_csv(path: Path, data: bytes, form: TableForm, columns: Collection[str] | None) -> _Part:
    text, encoding = decoded(path, data, form)
    sheet = read_csv(path, text, form.delimiter, columns)
    facts = {"encoding": encoding, "delimiter": sheet.delimiter}
    return _Part(frozenset(sheet.columns), sheet.records, facts)


def _read_jsonl(path: Path, data: bytes, form: TableForm) -> _Part:
    text, encoding = decoded(path, data, form)
    # not splitlines(): U+2028 and its like may stand inside a JSON string
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    records = tuple(_json_record(f"{path}:{number}", line) for number, line in lines)
    columns = frozenset(column for record in records for column in record.values)
    return _Part(columns, records, {"encoding": encoding})


def _json_record(where: str, text: str) -> Record:
    try:
        record = json.loads(text, parse_float=_Literal)
    except (ValueError, RecursionError) as error:
        return Record(where, {}, f"not JSON: {error}. Wanted one object on each line")
    if not isinstance(record, dict):
        got = type(record).__name__
        return Record(where, {}, f"got {got}, wanted one JSON object on each line")
    return Record(where, record)


def _read_parquet(path: Path, data: bytes, columns: Collection[str] | None) -> _Part:
    import polars as pl

    try:
        names = list(pl.read_parquet_schema(io.BytesIO(data)))
        used = [name for name in names if columns is None or name in columns]
        # without one of its columns a table has no rows either
        frame = pl.read_parquet(io.BytesIO(data), columns=used or names[:1])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ShopError(f"{path}: not Parquet: {error}. Write the file anew") from error
    records = (
        Record(f"{path}, row {number}", record)
        for number, record in enumerate(frame.iter_rows(named=True), 1)
    )
    return _Part(frozenset(names), tuple(records), {})


@dataclass(frozen=True, slots=True)
class _RowMaker:
    """Makes the cells of a record text; ShopError says what is wrong with it."""

    used: Collection[str]
    ids: Collection[str]

    def __call__(self, record: Record) -> Row:
        if record.defect:
            raise ShopError(f"{record.where}: {record.defect}")
        cells: dict[str, str] = {}
        column = ""
        try:
            for column, value in record.values.items():
                if column in self.used:
                    cells[column] = _id_cell(value) if column in self.ids else _cell(value)
        except ValueError as error:
            raise ShopError(
                f"{record.where}: {_brief(column)!r} holds {error}. Correct the cell"
            ) from error
        return Row(record.where, cells)


def _with_integers(rows: list[Row], ids: Iterable[str], decimal: str) -> tuple[Row, ...]:
    numbers = {c: as_whole_numbers({row.cells.get(c, "") for row in rows}, decimal) for c in ids}
    changed = {c: told for c, told in numbers.items() if any(k != v for k, v in told.items())}
    if not changed:
        return tuple(rows)
    return tuple(
        replace(
            row,
            cells={**row.cells, **{c: told.get(row.text(c), "") for c, told in changed.items()}},
        )
        for row in rows
    )


def _id_cell(value: object) -> str:
    """Text of an id; ValueError where a number cannot be one."""
    if not isinstance(value, float | Decimal) or math.isnan(value):
        return _cell(value)
    if isinstance(value, _Literal) and "e" in value.written.lower():
        return value.written  # 1e5 is no 100000 that anyone wrote
    if math.isinf(value):
        raise ValueError(f"{value}, which is no id")
    if value != int(value):
        return _cell(value)
    if isinstance(value, float) and abs(value) > 2**53:
        raise ValueError(f"{value:.0f} as a float, which has lost digits; write ids as text")
    return str(int(value))


def _cell(value: object) -> str:
    """Text of a cell; ValueError says what is wrong with it."""
    if isinstance(value, str):
        if bad := _UNUSABLE.search(value):
            raise ValueError(f"the character U+{ord(bad.group()):04X}, wanted valid Unicode")
        return value.strip()
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
    raise ValueError(f"{type(value).__name__}, wanted text, a number or a list of these")


def _brief(name: str) -> str:
    """A column's name for a message."""
    return name if len(name) <= QUOTED else f"{name[:QUOTED]}..."
