"""The interactions table: labels, ratings, times, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adamroute.catalogue.request import Interaction

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

FILE = "interactions.csv"
YAML = "file: interactions.csv"


@pytest.mark.parametrize(("extra", "positives"), [("", [False, True]), ("3", [True, True])])
def test_a_rating_is_positive_from_a_threshold_on(
    corner: Corner, extra: str, positives: list[bool]
) -> None:
    if extra:
        corner.change("shop.yaml", YAML, f"{YAML}\n  positive_from: {extra}")
    rows = "user_id,item_id,rating,timestamp\nann,007,3.5,1\nann,9,4,2\n"
    history = corner.write(FILE, rows).read().histories["ann"]
    assert [x.positive for x in history] == positives


def test_a_label_wins_over_a_rating(corner: Corner) -> None:
    rows = "user_id,item_id,rating,label\nann,007,5,neg\n"
    assert corner.write(FILE, rows).read().histories["ann"] == (Interaction("007", False, 0.0),)


def test_without_timestamps_a_history_keeps_file_order(corner: Corner) -> None:
    rows = "user_id,item_id,label\nann,9,pos\nann,007,pos\nann,702.584.83,pos\n"
    history = corner.write(FILE, rows).read().histories["ann"]
    assert [x.item_id for x in history] == ["9", "007", "702.584.83"]


def test_equal_timestamps_keep_file_order(corner: Corner) -> None:
    rows = "user_id,item_id,label,timestamp\nann,9,pos,5\nann,007,pos,5\nann,702.584.83,pos,1\n"
    history = corner.write(FILE, rows).read().histories["ann"]
    assert [x.item_id for x in history] == ["702.584.83", "9", "007"]


def test_iso_dates_are_seconds_since_1970_in_utc(corner: Corner) -> None:
    rows = (
        "user_id,item_id,label,timestamp\n"
        "ann,9,pos,1970-01-02\nann,007,pos,1970-01-01T00:00:07\nann,9,neg,1970-01-01T01:00+01:00\n"
    )
    history = corner.write(FILE, rows).read().histories["ann"]
    assert [x.timestamp for x in history] == [0.0, 7.0, 86400.0]


def test_digits_are_a_number_even_where_they_could_be_a_date(corner: Corner) -> None:
    rows = "user_id,item_id,label,timestamp\nann,9,pos,20240105\nann,007,pos,1700000000\n"
    history = corner.write(FILE, rows).read().histories["ann"]
    assert [x.timestamp for x in history] == [20240105.0, 1700000000.0]


def test_a_row_that_says_nothing_new_is_dropped_and_counted(corner: Corner) -> None:
    rows = "user_id,item_id,label\nann,9,pos\nann,9,pos\nann,9,neg\nbob,9,pos\n"
    shop = corner.write(FILE, rows).read()
    assert shop.problems == {"repeated_interactions": 1}
    assert shop.histories["ann"] == (Interaction("9", True, 0.0), Interaction("9", False, 0.0))


@pytest.mark.parametrize("time", ["global", "order", "none"])
def test_shop_yaml_says_what_time_means(corner: Corner, time: str) -> None:
    assert corner.change("shop.yaml", YAML, f"{YAML}\n  time: {time}").read().time == time


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("user_id,label\nann,pos\n", f"{FILE}: no column 'item_id', which an interactions table"),
        ("user_id,item_id\nann,9\n", f"{FILE}: no column 'label', which an interactions table "
         "without 'rating' needs; got item_id, user_id. Add the column"),
        ("user_id,item_id,label\nann,9,pos\n,9,pos\n", f"{FILE}:3: 'user_id' is empty"),
        ("user_id,item_id,label\nann,,pos\n", f"{FILE}:2: 'item_id' is empty"),
        ("user_id,item_id,label\nann,9,maybe\n", f"{FILE}:2: label 'maybe', wanted pos or neg"),
        ("user_id,item_id,label\nann,9,\n", f"{FILE}:2: 'label' is empty"),
        ("user_id,item_id,rating\nann,9,nan\n", f"{FILE}:2: rating 'nan', wanted a finite number"),
        ("user_id,item_id,rating\nann,9,good\n", f"{FILE}:2: rating 'good', wanted a finite"),
        ("user_id,item_id,label,timestamp\nann,9,pos,NaN\n", f"{FILE}:2: timestamp 'NaN', wanted"),
        ("user_id,item_id,label,timestamp\nann,9,pos,inf\n", f"{FILE}:2: timestamp 'inf', wanted"),
        ("user_id,item_id,label,timestamp\nann,9,pos,\n", f"{FILE}:2: 'timestamp' is empty"),
        ("user_id,item_id,label,timestamp\nann,9,pos,soon\n", f"{FILE}:2: timestamp 'soon'"),
        ("user_id,item_id,label\nquery:q1,9,pos\n", f"{FILE}:2: user_id 'query:q1' begins with"),
        ("user_id,item_id,label\n", f"{FILE}: no rows, wanted at least one"),
    ],
)  # fmt: skip
def test_a_wrong_row_says_where_and_what(corner: Corner, rows: str, said: str) -> None:
    assert corner.write(FILE, rows).complaint().startswith(said)


def test_a_meaning_of_time_needs_timestamps(corner: Corner) -> None:
    corner.change("shop.yaml", YAML, f"{YAML}\n  time: global")
    said = corner.write(FILE, "user_id,item_id,label\nann,9,pos\n").complaint()
    assert "no column 'timestamp', which interactions.time 'global' in shop.yaml needs" in said
