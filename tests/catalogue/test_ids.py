"""Ids: text that stays as it is, save that 1001.0 is 1001."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.ids import whole_number
from adamroute.catalogue.shop import Shop
from tests.catalogue.feeds import ITEMS, refusal, told, write_feed

LOG = "interactions: {file: log.csv}"


def liked(shop: Shop) -> list[str]:
    return [x.item_id for x in shop.histories.get("u1", ())]


def lines(*ids: str) -> str:
    cells = '"name": "Cup {0}", "type": "", "colour": "", "description": ""'
    return "".join(f'{{"sku": {i}, {cells.replace("{0}", str(n))}}}\n' for n, i in enumerate(ids))


@pytest.mark.parametrize("logged", ["1001", "1001.0", "1001.00"])
@pytest.mark.parametrize("given", ["1001", "1001.0", '"1001"', '"1001.0"'])
def test_a_whole_number_is_one_id_however_it_is_written(
    tmp_path: Path, given: str, logged: str
) -> None:
    files = {"i.jsonl": lines(given), "log.csv": f"user_id,item_id,label\nu1,{logged},pos\n"}
    shop = read_shop(write_feed(tmp_path / "s", files, items="i.jsonl", rest=LOG))
    assert [item.item_id for item in shop.catalogue.items] == ["1001"]
    assert liked(shop) == ["1001"]


def test_leading_zeros_are_part_of_an_id(tmp_path: Path) -> None:
    files = {
        "items.csv": ITEMS.replace("A1", "007").replace("A2", "8.0"),
        "log.csv": "user_id,item_id,label\nu1,007,pos\nu1,7,pos\nu1,8,pos\n",
    }
    shop = read_shop(write_feed(tmp_path / "s", files, rest=LOG))
    assert [item.item_id for item in shop.catalogue.items] == ["007", "8.0"]
    assert liked(shop) == ["007", "8.0"]
    assert shop.problems == {"interactions_of_gone_items": 1}


def test_ids_of_which_one_is_no_number_stay_as_they_are_written(tmp_path: Path) -> None:
    files = {"items.csv": ITEMS.replace("A1", "10.0").replace("A2", "10.5")}
    shop = read_shop(write_feed(tmp_path / "s", files))
    assert [item.item_id for item in shop.catalogue.items] == ["10.0", "10.5"]


def test_words_that_float_would_take_for_numbers_are_text(tmp_path: Path) -> None:
    rows = "".join(f"{i},Cup,t,c,d\n" for i in ("inf", "nan", "1e5", "100000", "NULL", "1_0"))
    feed = write_feed(tmp_path / "s", {"items.csv": ITEMS.splitlines()[0] + "\n" + rows})
    ids = [item.item_id for item in read_shop(feed).catalogue.items]
    assert ids == ["inf", "nan", "1e5", "100000", "NULL", "1_0"]


def test_a_json_number_with_an_exponent_is_text(tmp_path: Path) -> None:
    files = {"i.jsonl": lines("1e5", "100000", "12345678901234567890")}
    shop = read_shop(write_feed(tmp_path / "s", files, items="i.jsonl"))
    ids = [item.item_id for item in shop.catalogue.items]
    assert ids == ["1e5", "100000", "12345678901234567890"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("Infinity", "i.jsonl:1: 'sku' holds inf, which is no id. Correct the cell"),
        ("NaN", "i.jsonl:1: 'sku' is empty. Fill it in or drop the row"),
        ("123456789012345678.0", "i.jsonl:1: 'sku' holds 123456789012345680 as a float, which has "
         "lost digits; write ids as text. Correct the cell"),
    ],
)  # fmt: skip
def test_floats_that_cannot_be_ids_are_refused(tmp_path: Path, number: str, said: str) -> None:
    feed = write_feed(tmp_path / "s", {"i.jsonl": lines(number)}, items="i.jsonl")
    assert refusal(feed) == said


def test_whole_floats_of_parquet_are_integers(tmp_path: Path) -> None:
    rest = "interactions: {file: log.parquet}\nqueries: {file: q.jsonl}"
    query = '{"query_id": 1.0, "user_id": 7, "query": "a cup", "target_id": 1001}\n'
    files = {"i.jsonl": lines("1001"), "q.jsonl": query}
    folder = write_feed(tmp_path / "s", files, items="i.jsonl", rest=rest)
    log = {"user_id": [7.0, 8.0], "item_id": [1001.0, 1001.0], "label": ["pos", "neg"]}
    pl.DataFrame(log).write_parquet(folder / "log.parquet")
    shop = read_shop(folder)
    assert {u: h[0].item_id for u, h in shop.histories.items()} == {"7": "1001", "8": "1001"}
    (asked,) = shop.queries
    assert (asked.query_id, asked.user_id, asked.target_id) == ("1", "7", "1001")


def test_with_decimal_commas_1001_0_is_a_whole_number_too(tmp_path: Path) -> None:
    log = "user_id;item_id;rating\nu1;1001,0;4,5\n"
    files = {"i.jsonl": lines("1001"), "log.csv": log}
    shop = read_shop(write_feed(tmp_path / "s", files, items="i.jsonl", rest=LOG))
    assert liked(shop) == ["1001"]
    assert shop.histories["u1"][0].positive


def test_two_ids_that_come_to_the_same_are_refused(tmp_path: Path) -> None:
    files = {"items.csv": ITEMS.replace("A1", "7").replace("A2", "7.0")}
    said = refusal(write_feed(tmp_path / "s", files))
    assert said.startswith("items.csv:3: sku '7' stands at items.csv:2 already, wanted once")


def test_many_interactions_of_which_no_item_is_known_are_a_mistake(tmp_path: Path) -> None:
    rows = "".join(f"u{n},B{n},pos\n" for n in range(10))
    nine = "user_id,item_id,label\n" + rows.replace("u9,B9,pos\n", "")
    shop = read_shop(write_feed(tmp_path / "few", {"log.csv": nine}, rest=LOG))
    assert (shop.histories, shop.problems) == ({}, {"interactions_of_gone_items": 9})
    said = refusal(
        write_feed(tmp_path / "s", {"log.csv": f"user_id,item_id,label\n{rows}"}, rest=LOG)
    )
    assert said == (
        "log.csv:2: item_id 'B0' is not among the items, and neither is that of any other of 10 "
        "interactions; the catalogue's 2 ids are like 'A1'. Name the column that holds the same "
        "ids in both tables"
    )


def test_gone_items_are_counted_and_the_first_ten_named(tmp_path: Path) -> None:
    rows = "u1,A1,pos\n" + "".join(f"u1,B{n},pos\n" for n in range(12))
    queries = "query_id,query,target_id\nq1,a lamp,A1\nq2,a cup,B1\n"
    rest = f"{LOG}\nqueries: {{file: q.csv}}"
    files = {"log.csv": f"user_id,item_id,label\n{rows}", "q.csv": queries}
    shop = read_shop(write_feed(tmp_path / "s", files, rest=rest))
    assert liked(shop) == ["A1"]
    assert [q.query_id for q in shop.queries] == ["q1"]
    assert shop.problems == {"interactions_of_gone_items": 12, "queries_of_gone_items": 1}
    first = [f"log.csv:{n + 3}: item_id 'B{n}' is not among the items" for n in range(10)]
    assert told(shop, "interactions")["gone_items"] == {"count": 12, "first": first}
    first = ["q.csv:3: target_id 'B1' is not among the items"]
    assert told(shop, "queries")["gone_items"] == {"count": 1, "first": first}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("0", "0"), ("1001.000", "1001"), ("007", ""), ("1.", ""), (".0", ""), ("-1", ""),
     ("1.5", ""), ("0.0", "0"), ("1,0", ""), ("\u0661", ""), ("1e5", ""), ("", "")],
)  # fmt: skip
def test_whole_numbers_are_told_from_other_text(text: str, wanted: str) -> None:
    assert whole_number(text) == wanted
