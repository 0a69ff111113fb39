"""`on_bad_row`: reading stops, or the row is left out, counted and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from tests.catalogue.feeds import NUMBERED, listings, refusal, told, write_feed

HEADER = "sku,name,type,colour,description\n"
SKIP = ", on_bad_row: skip"
BAD_ITEMS = {
    "a missing cell": ("C,Cup\n", "2 cells, wanted 5 as in the header. Put double quotes around a "
                       "cell that holds a comma or a line break"),
    "no id": (",Cup,,,\n", "'sku' is empty. Fill it in or drop the row"),
    "an id twice": ("I0,Cup,,,\n", "sku 'I0' stands at items.csv:2 already, wanted once. Give "
                    "each row its own id or drop one"),
    "no words": ("C,,cup,red,\n", "empty listing, wanted words in at least one of name, "
                 "description. Fill one in or drop the row"),
    "a NUL": ("C,a\0b,,,\n", "'name' holds the character U+0000, wanted valid Unicode. Correct "
              "the cell"),
}  # fmt: skip


def items(count: int, *bad: str) -> str:
    return HEADER + "".join(f"I{n},Cup {n},,,\n" for n in range(count)) + "".join(bad)


@pytest.mark.parametrize("kind", BAD_ITEMS)
def test_a_bad_item_is_left_out_counted_and_named(tmp_path: Path, kind: str) -> None:
    row, reason = BAD_ITEMS[kind]
    files = {"items.csv": items(19, row)}
    assert refusal(write_feed(tmp_path / "stop", files)) == f"items.csv:21: {reason}"
    shop = read_shop(write_feed(tmp_path / "skip", files, more=SKIP))
    assert list(listings(shop)) == [f"I{n}" for n in range(19)]
    assert shop.problems == {"bad_items": 1}
    first = [f"items.csv:21: {reason}"]
    assert told(shop, "items")["bad_rows"] == {"count": 1, "first": first}


def test_more_than_a_twentieth_of_bad_rows_stops_all_the_same(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "s", {"items.csv": items(18, ",Cup,,,\n")}, more=SKIP))
    assert said == (
        "items.csv: 1 of 19 rows cannot be used, more than the 5% that 'on_bad_row: skip' may "
        "leave out. Correct them; the first: items.csv:20: 'sku' is empty. Fill it in or drop the "
        "row"
    )


def test_photos_of_rows_that_are_left_out_are_no_problem_of_the_shop(tmp_path: Path) -> None:
    header = "sku,name,type,colour,description,photo\n"
    rows = "".join(f"I{n},Cup {n},,,,none-{n}.png\n" for n in range(38))
    without_id, without_words = ",Cup,,,,none.png\n", "E,,cup,red,,none.png\n"
    files = {"items.csv": header + without_id + without_words + rows}
    shop = read_shop(write_feed(tmp_path / "s", files, more=", image: photo" + SKIP))
    assert shop.problems == {"bad_items": 2, "missing_photos": 38}


def test_the_first_ten_are_named(tmp_path: Path) -> None:
    files = {"items.csv": items(400, *([",Cup,,,\n"] * 12))}
    bad = told(read_shop(write_feed(tmp_path / "s", files, more=SKIP)), "items")["bad_rows"]
    assert isinstance(bad, dict)
    assert bad["count"] == 12
    assert isinstance(bad["first"], list)
    assert [str(row).split(":")[1] for row in bad["first"]] == [f"{n}" for n in range(402, 412)]


def test_one_line_at_the_top_of_shop_yaml_holds_for_every_table(tmp_path: Path) -> None:
    log = "user_id,item_id,label\n" + "u1,1000,pos\nu2,1001,neg\n" * 15 + "u3,1000,perhaps\n"
    asked = "".join(f'{{"query_id": {n}, "query": "cup", "target_id": 1000}}\n' for n in range(30))
    files = {"items.csv": NUMBERED, "log.csv": log, "q.jsonl": asked + "{broken\n"}
    rest = "interactions: {file: log.csv}\nqueries: {file: q.jsonl}\non_bad_row: skip"
    shop = read_shop(write_feed(tmp_path / "s", files, rest=rest))
    assert (len(shop.queries), sorted(shop.histories)) == (30, ["u1", "u2"])
    assert shop.problems == {"bad_interactions": 1, "bad_queries": 1, "repeated_interactions": 28}
    stops = rest.replace("q.jsonl}", "q.jsonl, on_bad_row: stop}")
    assert refusal(write_feed(tmp_path / "t", files, rest=stops)).startswith(
        "q.jsonl:31: not JSON"
    )


def test_what_is_wrong_with_the_whole_table_stops_always(tmp_path: Path) -> None:
    said = refusal(
        write_feed(tmp_path / "s", {"items.csv": items(40).encode("utf-8") + b"\xe9"}, more=SKIP)
    )
    assert said.startswith("items.csv:42: byte 0xe9 is not UTF-8")
    said = refusal(write_feed(tmp_path / "t", {"items.csv": items(40, 'x,"y\n')}, more=SKIP))
    assert said.startswith("items.csv:42: not CSV: unexpected end of data")
