"""Timestamps of a table: one clock for the whole column, and no date whose day is a guess.

A clock is ISO 8601, seconds since 1970 (small whole numbers too, which order a history), or
milli-, micro- or nanoseconds by their magnitude; all else needs `timestamp_format:`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from adamroute.catalogue.table_files import Row
from adamroute.errors import ShopError, shown

_ISO = "ISO 8601"
_FORMAT = "timestamp_format"
_ANY = "1970"  # 0 in any unit
_SECONDS = "seconds since 1970 or a plain order"
_UNITS = (  # from, below, units in a second
    (1e11, 1e13, 1e3, "milliseconds since 1970"),
    (1e14, 1e16, 1e6, "microseconds since 1970"),
    (1e17, 1e19, 1e9, "nanoseconds since 1970"),
)
_IN_YAML = "under interactions in shop.yaml"
_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}(?!\d)")
_PACKED = re.compile(
    r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d){1,2}"
)
_SPACE_BEFORE_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")


@dataclass(frozen=True, slots=True)
class Moment:
    """One timestamp in seconds, where it stands, and by which clock it was told."""

    where: str
    seconds: float
    clock: str
    text: str


def read_moment(row: Row, form: str | None) -> Moment:
    """The cell `timestamp`; ShopError where it is none, or asks for a `timestamp_format`."""
    text = row.needed("timestamp")
    if form is not None:
        return Moment(row.where, _by_format(row.where, text, form), _FORMAT, text)
    if not text.isdigit():  # 20240105 would be a date to fromisoformat
        try:
            moment = datetime.fromisoformat(_zoned(text))
        except ValueError:
            pass
        else:
            return Moment(row.where, _seconds(moment), _ISO, text)
    if _DATE.match(text) or _PACKED.fullmatch(text):
        raise ShopError(
            f"{row.where}: timestamp {shown(text)} is not ISO 8601, and which part of it is the "
            f"day is not guessed. Set timestamp_format: {_examples(text)} {_IN_YAML}"
        )
    return _by_magnitude(row.where, text)


def one_clock(moments: Sequence[Moment]) -> str:
    """The clock of them all, `""` where there is none; ShopError where there are two."""
    first = {m.clock: m for m in reversed(moments) if m.clock != _ANY}
    if len(first) > 1:
        one, other = sorted(first.values(), key=moments.index)[:2]
        raise ShopError(
            f"{other.where}: timestamp {shown(other.text)} is {other.clock}, but "
            f"{shown(one.text)} at {one.where} is {one.clock}: the column mixes clocks. "
            "Write all of it by one"
        )
    return next(iter(first), "")


def check_format(form: str) -> None:
    """ValueError where a `timestamp_format` cannot tell the day of a moment."""
    moment = datetime(2023, 11, 25, 22, 47, tzinfo=UTC)
    try:
        read = datetime.strptime(moment.strftime(form), form)
    except ValueError as error:
        raise ValueError(f"{form!r} is no format of strptime: {error}") from error
    if read.date() != moment.date():
        raise ValueError(f"{form!r} does not tell the day, wanted a format such as '%d/%m/%Y'")


def _by_format(where: str, text: str, form: str) -> float:
    try:
        return _seconds(datetime.strptime(text, form))
    except (ValueError, OverflowError) as error:
        raise ShopError(
            f"{where}: timestamp {shown(text)}, wanted {form!r} as timestamp_format in shop.yaml "
            "says. Correct one of them"
        ) from error


def _by_magnitude(where: str, text: str) -> Moment:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    size = abs(number)
    if size < 1e11:
        return Moment(where, number, _SECONDS if number else _ANY, text)
    for least, below, divisor, clock in _UNITS:
        if least <= size < below:
            return Moment(where, number / divisor, clock, text)
    raise ShopError(
        f"{where}: timestamp {shown(text)}, wanted ISO 8601, or seconds or milliseconds since "
        f"1970. Correct it, or set timestamp_format: {_IN_YAML}"
    )


def _seconds(moment: datetime) -> float:
    """UTC unless the moment says otherwise."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _zoned(text: str) -> str:
    """`2024-05-01 10:00 UTC` and `... +0200` as ISO 8601 has them."""
    return _SPACE_BEFORE_ZONE.sub("", re.sub(r"\s*(UTC|GMT)$", "+00:00", text))


def _examples(text: str) -> str:
    """Formats that the date may be in."""
    if _PACKED.fullmatch(text):
        return "'%Y%m%d%H%M" + ("%S'" if len(text) > 12 else "'")
    time = ("", " %H:%M", " %H:%M:%S")[min(text.count(":"), 2)]
    sign = next(sign for sign in text if not sign.isdigit())
    first, second, year = re.split(r"[^0-9]", text)[:3]
    if len(first) == 4:
        return f"'%Y{sign}%m{sign}%d{time}'"
    y = "%Y" if len(year) == 4 else "%y"
    orders = [("%d", "%m")] * (int(second) <= 12) + [("%m", "%d")] * (int(first) <= 12)
    return " or ".join(f"'{a}{sign}{b}{sign}{y}{time}'" for a, b in orders)
