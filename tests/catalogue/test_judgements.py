"""Judgements in three forms: what each row is worth, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from adamroute.catalogue.judgements import Judgement, ReadJudgements, read_judgements
from adamroute.catalogue.qrels import topics_beside
from adamroute.catalogue.table_form import TableForm
from adamroute.errors import ShopError

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

RowOf = dict[str, JsonValue]
TOPICS = "1\ta bed\n2\tsomething to draw on\n"


def lines(*rows: RowOf) -> str:
    """JSONL rows that are right but for what is given."""
    right: RowOf = {"query": "a bed", "item_id": "702.584.83"}
    return "".join(json.dumps(right | row) + "\n" for row in rows)


def read(corner: Corner, text: str, name: str = "j.jsonl", topics: str = "") -> ReadJudgements:
    path = corner.write(name, text).folder / name
    asked = corner.write("t.tsv", topics).folder / "t.tsv" if topics else None
    return read_judgements(path, corner.read().catalogue, topics=asked)


def complaint(corner: Corner, text: str, name: str = "j.jsonl", topics: str = "") -> str:
    with pytest.raises(ShopError) as caught:
        read(corner, text, name, topics)
    return str(caught.value).replace(f"{corner.folder}/", "")


def values(found: ReadJudgements) -> list[float]:
    return [row.value for row in found.rows]


def test_grades_are_read_as_they_stand(corner: Corner) -> None:
    found = read(corner, lines({"grade": 4}, {"grade": 0, "item_id": "9", "user_id": "ann"}))
    where = f"{corner.folder}/j.jsonl"
    assert found.rows == (
        Judgement(f"{where}:1", "a bed", "702.584.83", 4.0),
        Judgement(f"{where}:2", "a bed", "9", 0.0, user_id="ann"),
    )
    assert found.facts == {"rows": 2, "encoding": "utf-8"}


def test_a_click_counts_one_by_its_propensity_and_at_most_ten(corner: Corner) -> None:
    """1 / .5 = 2; 1 / .01 = 100, clipped to 10; what was not clicked counts nothing."""
    rows = lines(
        {"clicked": 1, "propensity": 0.5},
        {"clicked": True, "propensity": 0.01},
        {"clicked": 0, "propensity": 0.2},
        {"clicked": False},
    )
    found = read(corner, rows)
    assert values(found) == [2.0, 10.0, 0.0, 0.0]
    assert all(row.by_click for row in found.rows)


def test_a_table_of_commas_does_as_well(corner: Corner) -> None:
    found = read(corner, "query;item_id;grade\na bed;9;2,5\n", "j.csv")
    assert values(found) == [2.5]


def test_qrels_take_their_words_from_the_topics(corner: Corner) -> None:
    found = read(corner, "1 0 702.584.83 1\n2 Q0 007 0\n2\t0\t9\t-2\n", "j.qrels", TOPICS)
    assert [(r.query, r.item_id, r.value) for r in found.rows] == [
        ("a bed", "702.584.83", 1.0),
        ("something to draw on", "007", 0.0),
        ("something to draw on", "9", 0.0),
    ]
    assert found.facts["topics"] == "t.tsv"


@pytest.mark.parametrize("name", ["qrels.topics.tsv", "topics.tsv"])
def test_topics_are_found_beside_the_qrels(name: str, tmp_path: Path) -> None:
    assert topics_beside(tmp_path / "qrels.txt") is None
    (tmp_path / name).touch()
    assert topics_beside(tmp_path / "qrels.txt") == tmp_path / name


def test_rows_of_gone_items_are_counted_and_the_first_ten_named(corner: Corner) -> None:
    there: list[RowOf] = [{"grade": 1}] * 12
    gone: list[RowOf] = [{"grade": 1, "item_id": "x"}] * 12
    found = read(corner, lines(*there, *gone))
    left = found.notes["judgements_of_gone_items"]
    assert (len(found.rows), left.count, len(left.first)) == (12, 12, 10)
    assert left.first[0].endswith("j.jsonl:13: item_id 'x' is not among the items")


def test_a_file_most_of_whose_items_are_unknown_is_another_shops(corner: Corner) -> None:
    said = complaint(corner, "1 0 9 1\n1 0 d7 1\n2 0 d8 0\n", "j.qrels", TOPICS)
    assert said == (
        "j.qrels: judgements of another shop: 2 of 3 rows name items that are not here "
        "(j.qrels:2: item_id 'd7' is not among the items), while this catalogue's 3 ids are like "
        "'007'. Give this shop's file, or name the ids as its items table does"
    )


def test_the_runs_own_rows_may_all_be_gone(corner: Corner) -> None:
    path = corner.write("own.jsonl", lines({"grade": 4, "item_id": "x"})).folder / "own.jsonl"
    found = read_judgements(path, corner.read().catalogue, own=True)
    assert (found.rows, found.notes["judgements_of_gone_items"].count) == ((), 1)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"grade": 5}, "grade 5, wanted 0 to 4, or 0 and 1"),
        ({"grade": -1}, "grade -1, wanted 0 to 4"),
        ({"grade": "good"}, "grade 'good', wanted a finite number"),
        ({"grade": None}, "none of them filled in, wanted one of grade"),
        ({"grade": 1, "clicked": 1, "propensity": 1}, "grade and clicked filled in"),
        ({"clicked": 1}, "'propensity' is empty"),
        ({"clicked": 1, "propensity": 0}, "propensity 0, wanted above 0 and at most 1"),
        ({"clicked": 1, "propensity": 1.5}, "propensity 1.5, wanted above 0"),
        ({"clicked": 3, "propensity": 0.5}, "clicked '3', wanted 0 or 1"),
        ({"grade": 1, "query": " "}, "'query' is empty"),
        ({"grade": 1, "item_id": ""}, "'item_id' is empty"),
        ({"grade": 1, "query_id": "q", "query": "a rug"}, "query_id 'q' is 'a rug' here, but"),
    ],
)
def test_a_wrong_row_says_where_and_what(corner: Corner, row: RowOf, said: str) -> None:
    right: RowOf = {"query_id": "q", "grade": 1}
    click: RowOf = {"clicked": 0, "propensity": 1}
    assert complaint(corner, lines(right, click, row)).startswith(f"j.jsonl:3: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "j.jsonl: no rows, wanted at least one"),
        (lines({"grade": 1}) + '{"query": ', "j.jsonl:2: not JSON"),
        ('{"query": "a", "grade": 1}', "j.jsonl: no column 'item_id', which a table of judg"),
        (lines({"stars": 1}), "j.jsonl: neither 'grade' (what a person said) nor 'clicked'"),
        (lines({"clicked": 1}), "j.jsonl: no column 'propensity', which a click log needs"),
    ],
)
def test_a_file_of_no_known_shape_is_refused(corner: Corner, text: str, said: str) -> None:
    assert complaint(corner, text).startswith(said)


@pytest.mark.parametrize(
    ("qrels", "topics", "said"),
    [
        ("", TOPICS, "j.qrels: empty, wanted at least one line"),
        ("1 0 9\n", TOPICS, "j.qrels:1: 3 fields, wanted four fields: qid 0 docid grade"),
        ("1 0 9 1\n\n7 0 9 1\n", TOPICS, "j.qrels:3: qid '7' is not among the 2 topics of t.tsv"),
        ("1 0 9 x\n", TOPICS, "j.qrels:1: grade 'x', wanted a finite number"),
        ("1 0 9 1\n", "1 a bed\n", "t.tsv:1: '1 a bed', wanted QID<TAB>QUERY"),
        ("1 0 9 1\n", TOPICS + "1\tagain\n", "t.tsv:3: qid '1' twice, wanted once"),
        ("1 0 9 1\n", "", "j.qrels: read as TREC qrels, since no table is called so"),
    ],
)
def test_qrels_that_cannot_be_read_say_where(
    corner: Corner, qrels: str, topics: str, said: str
) -> None:
    assert complaint(corner, qrels, "j.qrels", topics).startswith(said)


def test_bad_rows_can_be_skipped_up_to_a_twentieth(corner: Corner) -> None:
    rows: list[RowOf] = [{"grade": 1}] * 39
    path = corner.write("j.jsonl", lines(*rows, {"grade": 9})).folder / "j.jsonl"
    form = TableForm("judged", on_bad_row="skip")
    found = read_judgements(path, corner.read().catalogue, form)
    assert (len(found.rows), found.notes["bad_judgements"].count) == (39, 1)
