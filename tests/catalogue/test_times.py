"""Timestamps: one clock a column, and no day that is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from tests.catalogue.feeds import NUMBERED, refusal, told, write_feed

MAY = 1714557600.0  # 2024-05-01 10:00 in UTC


def feed(folder: Path, *texts: str, more: str = "") -> Path:
    rows = "".join(f'u1,{1000 + n},pos,"{text}"\n' for n, text in enumerate(texts))
    files = {"items.csv": NUMBERED, "log.csv": f"user_id,item_id,label,timestamp\n{rows}"}
    return write_feed(folder, files, rest=f"interactions: {{file: log.csv, time: order{more}}}")


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("2024-05-01T10:00:00Z", "ISO 8601"),
        ("2024-05-01 10:00", "ISO 8601"),
        ("2024-05-01T12:00+02:00", "ISO 8601"),
        ("2024-05-01 12:00:00 +0200", "ISO 8601"),
        ("2024-05-01 10:00:00 UTC", "ISO 8601"),
        ("2024-05-01 10:00:00.000000", "ISO 8601"),
        ("20240501T100000", "ISO 8601"),
        ("1714557600", "seconds since 1970 or a plain order"),
        ("1714557600.0", "seconds since 1970 or a plain order"),
        ("1714557600000", "milliseconds since 1970"),
        ("1714557600000000", "microseconds since 1970"),
        ("1714557600000000000", "nanoseconds since 1970"),
    ],
)
def test_a_moment_is_the_same_by_every_clock(tmp_path: Path, text: str, clock: str) -> None:
    shop = read_shop(feed(tmp_path / "s", text))
    assert shop.histories["u1"][0].timestamp == MAY
    assert told(shop, "interactions")["clock"] == clock


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("05/01/2024 10:00", "%m/%d/%Y %H:%M"),
        ("01.05.2024 10:00", "%d.%m.%Y %H:%M"),
        ("20240501100000", "%Y%m%d%H%M%S"),
        ("2024-05-01 12:00 +0200", "%Y-%m-%d %H:%M %z"),
        ("Wed, 01 May 2024 10:00:00", "%a, %d %b %Y %H:%M:%S"),
    ],
)
def test_a_format_in_shop_yaml_reads_any_date(tmp_path: Path, text: str, form: str) -> None:
    month_first = {"05/01/2024 10:00": MAY}.get(text, MAY)
    shop = read_shop(feed(tmp_path / "s", text, more=f", timestamp_format: '{form}'"))
    assert shop.histories["u1"][0].timestamp == month_first


def test_a_row_that_is_not_of_the_format_is_refused(tmp_path: Path) -> None:
    more = ", timestamp_format: '%d/%m/%Y'"
    assert refusal(feed(tmp_path / "s", "25/12/2024", "12/25/2024", more=more)) == (
        "log.csv:3: timestamp '12/25/2024', wanted '%d/%m/%Y' as timestamp_format in shop.yaml "
        "says. Correct one of them"
    )


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("05/01/2024", "'%d/%m/%Y' or '%m/%d/%Y'"),
        ("05/01/2024 10:00", "'%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'"),
        ("5-1-24 10:00:07", "'%d-%m-%y %H:%M:%S' or '%m-%d-%y %H:%M:%S'"),
        ("25/12/2024", "'%d/%m/%Y'"),
        ("12/25/2024", "'%m/%d/%Y'"),
        ("2024/12/25", "'%Y/%m/%d'"),
        ("20240501100000", "'%Y%m%d%H%M%S'"),
        ("202405011000", "'%Y%m%d%H%M'"),
    ],
)
def test_a_date_whose_day_would_be_guessed_asks_for_a_format(
    tmp_path: Path, text: str, formats: str
) -> None:
    assert refusal(feed(tmp_path / "s", text)) == (
        f"log.csv:2: timestamp '{text}' is not ISO 8601, and which part of it is the day is not "
        f"guessed. Set timestamp_format: {formats} under interactions in shop.yaml"
    )


@pytest.mark.parametrize("text", ["May 1, 2024", "yesterday", "10000000000000000000000", "5e11x"])
def test_what_is_no_timestamp_says_what_is_wanted(tmp_path: Path, text: str) -> None:
    assert refusal(feed(tmp_path / "s", text)) == (
        f"log.csv:2: timestamp '{text}', wanted ISO 8601, or seconds or milliseconds since 1970. "
        "Correct it, or set timestamp_format: under interactions in shop.yaml"
    )


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("1714557600", "2024-05-01 10:00", "'2024-05-01 10:00' is ISO 8601, but '1714557600' at "
         "log.csv:2 is seconds since 1970 or a plain order"),
        ("1714557600000", "1714557600", "'1714557600' is seconds since 1970 or a plain order, but "
         "'1714557600000' at log.csv:2 is milliseconds since 1970"),
    ],
)  # fmt: skip
def test_a_column_that_mixes_clocks_is_refused(
    tmp_path: Path, one: str, other: str, said: str
) -> None:
    assert refusal(feed(tmp_path / "s", one, other)) == (
        f"log.csv:3: timestamp {said}: the column mixes clocks. Write all of it by one"
    )


def test_zero_is_1970_by_any_clock(tmp_path: Path) -> None:
    shop = read_shop(feed(tmp_path / "s", "0", "1714557600000"))
    assert [x.timestamp for x in shop.histories["u1"]] == [0.0, MAY]
