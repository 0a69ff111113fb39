"""Queries of a shop and of a file beside it: splits, users, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from adamroute.catalogue.folder import derived_split, read_queries
from adamroute.catalogue.queries import read_query_file
from adamroute.catalogue.shop import SPLITS
from adamroute.errors import ShopError

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

FILE = "queries.jsonl"


def lines(*rows: dict[str, JsonValue]) -> str:
    """JSONL rows that are right but for what is given."""
    right: dict[str, JsonValue] = {"user_id": "ann", "query": "a bed", "target_id": "007"}
    made = [{"query_id": f"q{number}"} | right | row for number, row in enumerate(rows, 1)]
    return "\n".join(map(json.dumps, made))


def test_a_split_left_out_follows_from_the_user(corner: Corner) -> None:
    rows: list[dict[str, JsonValue]] = [{"user_id": f"u{n}", "split": None} for n in range(20)]
    queries = corner.write(FILE, lines(*rows)).read().queries
    assert [q.split for q in queries] == [derived_split(f"u{n}") for n in range(20)]


def test_the_derived_split_is_the_first_eight_bytes_of_the_hash() -> None:
    """sha256 of "a" begins ca97 (.79 of the way), of "b" 3e23 (.24), of "h" aaa9 (.67)."""
    assert [derived_split(k) for k in "abh"] == ["test", "train", "calibration"]


def test_derived_splits_come_to_55_20_and_25_percent() -> None:
    counts = Counter(derived_split(f"user-{n}") for n in range(20_000))
    shares = [counts[s] / 20_000 for s in SPLITS]
    assert shares == pytest.approx([0.55, 0.2, 0.25], abs=0.01)  # standard errors below .004


def test_a_row_without_a_split_joins_its_user(corner: Corner) -> None:
    rows = lines({}, {"split": "calibration"}, {"split": ""})
    queries = corner.write(FILE, rows).read().queries
    assert [q.split for q in queries] == ["calibration"] * 3


def test_a_user_in_two_splits_is_refused(corner: Corner) -> None:
    said = corner.write(FILE, lines({"split": "train"}, {"split": "test"})).complaint()
    assert said == (
        "queries.jsonl:2: user 'ann' is in split 'test', but in 'train' at queries.jsonl:1; "
        "splits are by user. Give all of a user's queries one split"
    )


def test_a_query_without_a_user_is_a_user_of_its_own(corner: Corner) -> None:
    rows = lines({"user_id": None, "split": "train"}, {"user_id": "", "split": "test"})
    queries = corner.write(FILE, rows).read().queries
    assert [q.user_id for q in queries] == ["query:q1", "query:q2"]


def test_queries_may_do_without_the_columns_of_user_kind_and_split(corner: Corner) -> None:
    corner.change("shop.yaml", FILE, "queries.csv")
    (query,) = (
        corner.write("queries.csv", "query_id,query,target_id\nq1,a bed,007\n").read().queries
    )
    assert (query.user_id, query.kind) == ("query:q1", None)
    assert query.split == derived_split("query:q1")


def test_a_query_of_2000_characters_is_read_on_one_line(corner: Corner) -> None:
    text = "red \n cup " * 200
    (query,) = corner.write(FILE, lines({"query": text})).read().queries
    assert query.text == " ".join(["red cup"] * 200)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"query": "x" * 100_000}, "a query of 100,000 characters, wanted at most 2,000. Shorten"),
        ({"query": "x" * 2001}, "a query of 2,001 characters, wanted at most 2,000"),
        ({"query": "  \n"}, "'query' is empty. Fill it in or drop the row"),
        ({"query": None}, "'query' is empty"),
        ({"query_id": ""}, "'query_id' is empty"),
        ({"query_id": "q1"}, "query_id 'q1' stands at queries.jsonl:1 already, wanted once"),
        ({"query": "\u200b\u2060\u3164 "}, "'query' is empty. Fill it in or drop the row"),
        ({"target_id": None}, "'target_id' is empty"),
        ({"split": "dev"}, "split 'dev', wanted train, calibration, test or nothing"),
    ],
)
def test_a_wrong_query_says_where_and_what(
    corner: Corner, row: dict[str, JsonValue], said: str
) -> None:
    assert corner.write(FILE, lines({}, row)).complaint().startswith(f"{FILE}:2: {said}")


def test_a_missing_column_is_named(corner: Corner) -> None:
    said = corner.write(FILE, '{"query_id": "q1", "query": "a bed"}').complaint()
    assert said.startswith(
        f"{FILE}: no column 'target_id', which a queries table needs; got query,"
    )


def test_a_file_beside_the_shop_is_read_whole_whatever_its_splits(corner: Corner) -> None:
    catalogue = corner.read().catalogue
    rows = lines({"split": "train"}, {"split": "calibration"}, {"user_id": "stranger"})
    queries = read_queries(corner.write("more.jsonl", rows).folder / "more.jsonl", catalogue)
    assert [(q.user_id, q.split) for q in queries] == [
        ("ann", "train"),
        ("ann", "calibration"),
        ("stranger", "test"),
    ]


def test_a_file_beside_the_shop_may_hold_splits_that_nobody_knows(corner: Corner) -> None:
    catalogue = corner.read().catalogue
    rows = lines({"split": "dev"}, {"split": "Train"}, {"split": None})
    queries = read_queries(corner.write("more.jsonl", rows).folder / "more.jsonl", catalogue)
    assert [q.split for q in queries] == ["test"] * 3


def test_a_file_beside_the_shop_says_which_targets_are_gone(corner: Corner) -> None:
    catalogue = corner.read().catalogue
    rows = lines({"target_id": "8"}, {"target_id": "9"})
    read = read_query_file(corner.write("more.jsonl", rows).folder / "more.jsonl", catalogue)
    assert [q.query_id for q in read.queries] == ["q2"]
    assert read.problems == {"queries_of_gone_items": 1, "bad_queries": 0}
    first = ["more.jsonl:1: target_id '8' is not among the items"]
    assert read.facts["gone_items"] == {"count": 1, "first": first}


def test_a_file_beside_the_shop_meets_the_same_checks(corner: Corner) -> None:
    catalogue = corner.read().catalogue
    path = corner.write("more.jsonl", lines({"target_id": "8"})).folder / "more.jsonl"
    with pytest.raises(ShopError, match=r"more\.jsonl:1: target_id '8' is not among the items"):
        read_queries(path, catalogue)
    path = corner.write("more.jsonl", lines({"query": ""})).folder / "more.jsonl"
    with pytest.raises(ShopError, match=r"more\.jsonl:1: 'query' is empty"):
        read_queries(path, catalogue)
    with pytest.raises(ShopError, match=r"none\.jsonl: no such file"):
        read_queries(corner.folder / "none.jsonl", catalogue)
