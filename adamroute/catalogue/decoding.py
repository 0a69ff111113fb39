"""The bytes of a table as text: what kind of file it is, and in which encoding it was written.

A mark at the beginning tells (UTF-8, UTF-16, UTF-32), or the zeros of UTF-16 without a mark, or
`encoding:` in shop.yaml; all else is UTF-8. What is none of these is refused with a guess, never
read as that guess: half the single-byte encodings decode anything, into wrong letters.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path

from adamroute.catalogue.table_form import TableForm
from adamroute.errors import ShopError, shown

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_EXPORT = "Export the table as CSV in UTF-8"
_KINDS = (  # first bytes, what it is, what to do
    (b"\x1f\x8b", "a gzip file", "Name it with .gz at the end, or unpack it"),
    (b"PK\x03\x04", "a zip file", "Unpack it"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook of the old kind (.xls)", _EXPORT),
    (b"PAR1", "a Parquet file", "Name it with .parquet at the end"),
    (b"BZh", "a bzip2 file", "Unpack it"),
    (b"\xfd7zXZ", "an xz file", "Unpack it"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "Unpack it"),
    (b"%PDF", "a PDF file", _EXPORT),
    (b"\x89PNG", "a PNG photo", _EXPORT),
    (b"SQLite format 3\x00", "an SQLite database", _EXPORT),
)
_PAGE = (b"<!doctype html", b"<html")
_WESTERN = {"cp1252": "Windows-1252", "mac_roman": "Mac Roman", "cp850": "DOS code page 850"}
_SIGNS = "€£¥°©®™«»“”„‘’‚–—…•§¿¡½¼¾²³×±µ\xa0"
_OTHERS = ("cp1251", "gb18030", "big5", "cp932", "cp949", "cp1253", "cp1255", "cp1256")


def unpacked(path: Path, data: bytes) -> bytes:
    """The bytes of a .gz file, others as they are; ShopError where it is not gzip or broken."""
    if path.suffix.lower() != ".gz":
        return data
    if not data.startswith(b"\x1f\x8b"):
        raise ShopError(f"{path}: not a gzip file. Take .gz off its name, or pack it")
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ShopError(f"{path}: gzip that cannot be unpacked: {error}. Copy it anew") from error


def decoded(path: Path, data: bytes, form: TableForm) -> tuple[str, str]:
    """The text without a byte order mark, and the encoding; ShopError names the line."""
    _check_kind(path, data)
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if form.encoding:
        _check_named(path, data, form, marked)
    encoding = form.encoding or marked or _unmarked(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if form.encoding or encoding != "utf-8":
            raise _no_such(path, data, encoding, form, error) from error
        raise ShopError(_guessed(path, data, form, error)) from error
    return text.removeprefix("\ufeff"), encoding


def _check_kind(path: Path, data: bytes) -> None:
    found = next(((kind, advice) for head, kind, advice in _KINDS if data.startswith(head)), None)
    if found and found[0] == "a zip file" and (b"xl/workbook" in data or b"spreadsheet" in data):
        found = ("a spreadsheet (.xlsx or .ods)", _EXPORT)
    if data[:200].lstrip().lower().startswith(_PAGE):
        found = ("an HTML page", "Download the table anew, or export it as CSV")
    if found:
        raise ShopError(f"{path}: is {found[0]}, whatever its name says. {found[1]}")


def _unmarked(data: bytes) -> str:
    """UTF-16 or UTF-32 by the zeros beside the letters of a header, else UTF-8."""
    head = data[:64]
    if head[1:4] == b"\0\0\0":
        return "utf-32-le"
    if head[:3] == b"\0\0\0":
        return "utf-32-be"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd >= max(len(head) / 8, 3 * even, 2):
        return "utf-16-le"
    return "utf-16-be" if even >= max(len(head) / 8, 3 * odd, 2) else "utf-8"


def _check_named(path: Path, data: bytes, form: TableForm, marked: str | None) -> None:
    """ShopError where the file shows that the encoding in shop.yaml is another one's."""
    named = codecs.lookup(form.encoding or "").name
    if marked and not named.startswith(marked[:6].rstrip("-")):
        raise ShopError(
            f"{path}: begins with the mark of {marked.upper()}, but {form.key('encoding')} is "
            f"{form.encoding}. Leave encoding out"
        )
    if not named.startswith("utf") and _single_byte(named) and _is_utf8(data):
        raise ShopError(
            f"{path}: is UTF-8, but {form.key('encoding')} is {form.encoding}, which would turn "
            "its accents into wrong letters. Leave encoding out"
        )


def _single_byte(encoding: str) -> bool:
    return len(bytes(range(256)).decode(encoding, "replace")) == 256


def _is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 that ASCII would not do for."""
    try:
        return not data.isascii() and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _no_such(
    path: Path, data: bytes, encoding: str, form: TableForm, error: UnicodeDecodeError
) -> ShopError:
    line = data[: error.start].decode(encoding, "ignore").count("\n") + 1
    return ShopError(
        f"{path}:{line}: byte 0x{data[error.start]:02x} is not {encoding} ({error.reason}). "
        f"Correct {form.key('encoding')}, or copy the file anew where it was cut off"
    )


def _guessed(path: Path, data: bytes, form: TableForm, error: UnicodeDecodeError) -> str:
    """What to say of bytes that are no UTF-8."""
    lines = data.split(b"\n")
    broken = [n for n, line in enumerate(lines) if not (line.isascii() or _is_utf8(line))]
    sound = [n for n, line in enumerate(lines) if _is_utf8(line)]
    number = data[: error.start].count(b"\n")
    start = f"{path}:{number + 1}: byte 0x{data[error.start]:02x} is not UTF-8"
    if sound and error.end == len(data) and error.reason == "unexpected end of data":
        return f"{start}: the file ends within a character. Copy it anew, it was cut off"
    guess = _western(b"\n".join(lines[n] for n in broken))
    if guess is None:
        return f"{start}; {_told_apart(lines[number])}. {_advice(path, form, 'the right one')}"
    column = error.start - sum(len(line) + 1 for line in lines[:number])
    sample = lines[number][max(column - 15, 0) : column + 15].decode(guess, "replace").strip()
    looks = f"looks like {_WESTERN[guess]} ({shown(sample)})"
    if sound:
        listed = "line" + "s" * (len(broken) > 1) + " "
        listed += ", ".join(str(n + 1) for n in broken[:10]) + " and more" * (len(broken) > 10)
        return (
            f"{start} and {looks}, while line {sound[0] + 1} is UTF-8: the file mixes encodings. "
            f"Write {listed} in UTF-8"
        )
    return f"{start}; it {looks}: {_advice(path, form, guess)}"


def _advice(path: Path, form: TableForm, encoding: str) -> str:
    if form.section:
        return f"set encoding: {encoding} under {form.section} in shop.yaml"
    return f"convert the file: iconv -f {encoding} -t UTF-8 {path.name}"


def _western(data: bytes) -> str | None:
    """The encoding in which accents stand best between letters; None where no one's do.

    Western words hold an accent here and there. Where most such bytes stand in long runs, the
    script is another one.
    """
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]
    if sum(run for run in runs if run > 3) > sum(runs) / 2:
        return None
    return max(_WESTERN, key=lambda name: _fit(data.decode(name, "replace")))


def _fit(text: str) -> int:
    """How well its accents stand in words, and its signs beside them."""
    neighbours = zip(" " + text, text, text[1:] + " ", strict=False)
    return sum(_fits(*signs) for signs in neighbours if not signs[1].isascii())


def _fits(before: str, sign: str, after: str) -> int:
    if not sign.isalpha():
        return 1 if sign in _SIGNS else -1
    alone = not (before.isalpha() or after.isalpha())
    mixed = (before.islower() and sign.isupper()) or (sign.islower() and after.isupper())
    return -1 if alone or mixed else 1


def _told_apart(line: bytes) -> str:
    """How a line reads in each of the encodings of other scripts that decode it."""
    read = []
    for name in _OTHERS:
        try:
            runs = re.findall(r"[^\x00-\x7f]+", line.decode(name))
        except UnicodeDecodeError:
            continue
        read.append(f"{name} {shown(max(runs, key=len)[:8])}")
    return (
        f"it is not Western and reads {', '.join(read)}" if read else "it is no encoding we know"
    )
