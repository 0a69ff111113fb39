"""The folders of rough feeds beside the checkout: each reads to its right value, or says why not.

The same kinds are made in the other tests of this folder, which run anywhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.errors import ShopError
from tests.catalogue.feeds import listings, refusal, told

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
READ = {  # the listings that come out
    "cdata": {"A1": "Kelp lamp. Dims in three steps", "A2": "Moss rug. Washes at 30 degrees"},
    "cold_item": {"1000": "Kelp lamp. dims", "1001": "Moss rug. washes"},
    "excel_sep_line": {"A1": "Kelp lamp. dims"},
    "float_ids": {"1001": "Kelp lamp. dims"},
    "markup_eats_words": {
        "A1": "Tray. fits paper <A4 and >A6 only",
        "A2": "Mug. Holds 350 ml",
        "A3": "Cup. Stacks",
    },
    "parquet_folder": {"a": "Kelp lamp. x", "b": "Moss rug. y", "c": "Fern cup. z"},
    "ratings_0_1": {"1000": "Kelp lamp. dims", "1001": "Moss rug. washes"},
    "semicolons": {"A1": "Kelp lamp. dims"},
    "space_line": {"A1": "Kelp lamp. dims"},
    "unused_binary_parquet": {"a": "Kelp lamp. x", "b": "Moss rug. y", "c": "Fern cup. z"},
    "unused_nested_column": {"A1": "Kelp lamp. dims"},
}
REFUSED = {
    "blank_query": "q.jsonl:1: 'query' is empty",
    "cp1252": "items.csv:2: byte 0xe9 is not UTF-8; it looks like Windows-1252 "
    "('A1,Café stool,stool,r'): set encoding: cp1252 under items in shop.yaml",
    "gzip_as_csv": "items.csv: is a gzip file, whatever its name says. Name it with .gz",
    "mixed_encodings": "items.csv:3: byte 0xe9 is not UTF-8 and looks like Windows-1252 "
    "('A2,Café cup,cup,red,o'), while line 2 is UTF-8: the file mixes encodings. Write line 3 in",
    "null_words": "items.csv:3: empty listing, wanted words in at least one of name, description "
    "('NULL' is none)",
    "us_date": "inter.csv:2: timestamp '05/01/2024 10:00' is not ISO 8601, and which part of it "
    "is the day is not guessed. Set timestamp_format: '%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M' under",
    "yaml_bomb": "shop.yaml: name: Input should be a valid string, got [",
}
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="no ../shared/cases")


@pytest.mark.parametrize("name", READ)
def test_a_rough_feed_is_read(name: str) -> None:
    assert listings(read_shop(CASES / name)) == READ[name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_feed_that_cannot_be_read_is_refused_by_name(name: str) -> None:
    assert refusal(CASES / name).startswith(REFUSED[name])


def test_a_long_cell_is_read_whole() -> None:
    (item,) = read_shop(CASES / "long_cell").catalogue.items
    assert len(item.text) > 131_072


def test_a_cold_item_is_left_out_of_the_history_and_counted() -> None:
    shop = read_shop(CASES / "cold_item")
    assert [x.item_id for x in shop.histories["u1"]] == ["1000"]
    assert shop.problems == {"interactions_of_gone_items": 1}
    first = ["inter.csv:3: item_id '9999' is not among the items"]
    assert told(shop, "interactions")["gone_items"] == {"count": 1, "first": first}


def test_float_ids_meet_those_of_the_interactions() -> None:
    assert [x.item_id for x in read_shop(CASES / "float_ids").histories["u1"]] == ["1001"]


def test_ratings_of_0_and_1_are_no_and_yes() -> None:
    shop = read_shop(CASES / "ratings_0_1")
    assert [x.positive for x in shop.histories["u1"]] == [True, False]
    assert told(shop, "interactions")["positive_from"] == 1.0


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()) if CASES.is_dir() else [])
def test_whatever_else_lies_there_is_read_or_refused_on_one_line(folder: Path) -> None:
    said = ""
    try:
        assert read_shop(folder).catalogue.items
    except ShopError as error:
        said = str(error)
    assert not said or (said.startswith(str(folder)) and "\n" not in said)
