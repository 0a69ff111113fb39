"""Ratings: what counts as liked, on which scale, and how numbers are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from tests.catalogue.feeds import NUMBERED, refusal, told, write_feed


def feed(folder: Path, *ratings: str, more: str = "", column: str = "rating") -> Path:
    rows = "".join(f'u{n},1000,"{rating}"\n' for n, rating in enumerate(ratings))
    files = {"items.csv": NUMBERED, "log.csv": f"user_id,item_id,{column}\n{rows}"}
    return write_feed(folder, files, rest=f"interactions: {{file: log.csv{more}}}")


def verdicts(folder: Path) -> list[bool]:
    return [history[0].positive for history in read_shop(folder).histories.values()]


@pytest.mark.parametrize(
    ("ratings", "positive_from", "because"),
    [
        ("0 1 1", 1.0, "ratings from 0 to 1: yes or no"),
        ("-1 1 0", 1.0, "ratings from -1 to 1: yes or no"),
        ("0.2 0.8 0.79", 0.8, "ratings from 0.2 to 0.8: a scale up to 1"),
        ("1 4 3.5 5", 4.0, "ratings from 1 to 5: a scale up to 5"),
        ("1 7.5 8 10", 8.0, "ratings from 1 to 10: a scale up to 10"),
        ("3 80 79 55", 80.0, "ratings from 3 to 80: a scale up to 100"),
        ("3% 5%", 80.0, "ratings from 3 to 5: a scale up to 100"),
    ],
)
def test_four_fifths_of_the_scale_and_more_are_liked(
    tmp_path: Path, ratings: str, positive_from: float, because: str
) -> None:
    folder = feed(tmp_path / "s", *ratings.split())
    wanted = [float(rating.strip("%")) >= positive_from for rating in ratings.split()]
    assert verdicts(folder) == wanted
    facts = told(read_shop(folder), "interactions")
    assert (facts["positive_from"], facts["positive_because"]) == (positive_from, because)


def test_shop_yaml_sets_the_threshold(tmp_path: Path) -> None:
    folder = feed(tmp_path / "s", "0", "1", "2", more=", positive_from: 2")
    assert verdicts(folder) == [False, False, True]
    facts = told(read_shop(folder), "interactions")
    assert facts["positive_because"] == "positive_from in shop.yaml"


@pytest.mark.parametrize("ratings", [("-5", "5"), ("3", "250")])
def test_a_scale_nobody_knows_asks_for_the_threshold(
    tmp_path: Path, ratings: tuple[str, str]
) -> None:
    said = refusal(feed(tmp_path / "s", *ratings))
    assert said.startswith(f"log.csv: ratings from {ratings[0]} to {ratings[1]} are of no scale")
    assert said.endswith("Set positive_from: under interactions in shop.yaml")


def test_ratings_that_are_all_alike_are_named(tmp_path: Path) -> None:
    shop = read_shop(feed(tmp_path / "s", "3", "3", "3"))
    assert shop.problems == {"ratings_all_alike": 3}
    assert read_shop(feed(tmp_path / "t", "3", "4")).problems == {}


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [("pos neg", [True, False]), ("1 0", [True, False]), ("True FALSE", [True, False])],
)
def test_labels_are_words_or_bits(tmp_path: Path, labels: str, wanted: list[bool]) -> None:
    assert verdicts(feed(tmp_path / "s", *labels.split(), column="label")) == wanted


@pytest.mark.parametrize("more", ["", ", decimal: ','"])
def test_decimal_commas_are_read_in_a_file_of_semicolons(tmp_path: Path, more: str) -> None:
    log = "user_id;item_id;rating\na;1000;4,5\nb;1000;3,9\nc;1000;4.5\nd;1000;1\n"
    files = {"items.csv": NUMBERED, "log.csv": log}
    folder = write_feed(tmp_path / "s", files, rest=f"interactions: {{file: log.csv{more}}}")
    assert verdicts(folder) == [True, False, True, False]


def test_decimal_commas_are_read_where_shop_yaml_says_so(tmp_path: Path) -> None:
    assert verdicts(feed(tmp_path / "s", "4,5", "3,9", more=", decimal: ','")) == [True, False]
    said = refusal(feed(tmp_path / "t", "4,5"))
    assert said == "log.csv:2: rating '4,5', wanted a finite number. Set decimal: ',' in shop.yaml"
    more = ", decimal: ',', positive_from: 1000"
    assert verdicts(feed(tmp_path / "u", "1.234,5", "999,9", more=more)) == [True, False]


def test_thousands_or_a_decimal_point_is_asked(tmp_path: Path) -> None:
    log = "user_id;item_id;rating\na;1000;1.234\n"
    rest = "interactions: {file: log.csv}"
    said = refusal(write_feed(tmp_path / "s", {"items.csv": NUMBERED, "log.csv": log}, rest=rest))
    assert said == (
        "log.csv:2: rating '1.234' may be thousands or a decimal point. Set decimal: in shop.yaml"
    )
    rest = "interactions: {file: log.csv, decimal: .}"
    shop = read_shop(
        write_feed(tmp_path / "t", {"items.csv": NUMBERED, "log.csv": log}, rest=rest)
    )
    assert not shop.histories["a"][0].positive


@pytest.mark.parametrize("rating", ["1_0", "good", "inf", "nan", "%", "0x5"])
def test_what_is_no_number_is_refused(tmp_path: Path, rating: str) -> None:
    assert refusal(feed(tmp_path / "s", rating)).startswith("log.csv:2: ")
