"""Lines of the Amazon files as records: gzip or plain, JSON or Python literals.

The files have millions of lines, so they are read as a stream. The metadata of 2014 is written as
Python literals, which `ast.literal_eval` reads without running anything.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import warnings
import zlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from adamroute.errors import ShopError
from adamroute.progress import Advance

MAX_LINE = 32 * 2**20  # bytes; the longest real lines have some 100 kB
_GZIP = b"\x1f\x8b"
_ID = re.compile(rb"""["'](?:parent_)?asin["']\s*:\s*["']([^"']*)["']""")
_EVERY = 2000  # lines between two steps of the progress bar
_AGAIN = "Download the file again, or mend that line"


@dataclass(frozen=True, slots=True)
class ListedLine:
    """One line; `where` names file and line for messages."""

    where: str
    fields: Mapping[str, object]

    def needed(self, *names: str) -> object:
        """The first of the named fields that is there; ShopError where none is."""
        for name in names:
            if (value := self.fields.get(name)) not in (None, ""):
                return value
        raise ShopError(
            f"{self.where}: no {' or '.join(map(repr, names))}, got "
            f"{', '.join(map(str, list(self.fields)[:12]))}. {_AGAIN}"
        )


def read_lines(
    path: Path, advance: Advance, only: Container[str] | None = None
) -> Iterator[ListedLine]:
    """Records in file order; ShopError names the line that cannot be read.

    With `only`, lines whose item id is not in it are passed over unparsed. `advance` is told the
    kB of the file (compressed, where it is) as they are read.
    """
    with _opened(path) as raw:
        told = 0
        for number, line in enumerate(_lines(path, raw), 1):
            if number % _EVERY == 0:
                advance(raw.tell() // 1024 - told)
                told = raw.tell() // 1024
            if line.strip() and not _unwanted(line, only):
                where = f"{path}:{number}"
                yield ListedLine(where, _parsed(where, line))
        advance(kilobytes(path) - told)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise ShopError(f"{path}: cannot be read: {error.strerror}") from error


def kilobytes(path: Path) -> int:
    """What `advance` will have been told at the end."""
    return path.stat().st_size // 1024


def _lines(path: Path, raw: IO[bytes]) -> Iterator[bytes]:
    packed = raw.read(2) == _GZIP
    raw.seek(0)
    stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(MAX_LINE)
        except (EOFError, OSError, zlib.error) as error:
            raise ShopError(
                f"{path}:{number}: the file breaks off or is damaged here: {error}. "
                "Download it again"
            ) from error
        if len(line) == MAX_LINE:
            raise ShopError(f"{path}:{number}: longer than {MAX_LINE:,} bytes. {_AGAIN}")
        if not line:
            return
        yield line


def _unwanted(line: bytes, only: Container[str] | None) -> bool:
    """Whether the line names an id, and none that is wanted; in doubt it is parsed."""
    if only is None:
        return False
    ids = _ID.findall(line)
    return bool(ids) and not any(found.decode("utf-8", "replace") in only for found in ids)


def _parsed(where: str, line: bytes) -> Mapping[str, object]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ShopError(f"{where}: not UTF-8: {error.reason}. {_AGAIN}") from error
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        record = _literal(where, text)
    if not isinstance(record, dict):
        raise ShopError(f"{where}: got {type(record).__name__}, wanted one object. {_AGAIN}")
    return record


def _literal(where: str, text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string literal
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ShopError(
            f"{where}: neither JSON nor a Python literal: {text.strip()[:60]!r}. {_AGAIN}"
        ) from error
