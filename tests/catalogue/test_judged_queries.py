"""From judgements to queries: targets, users, splits, and everything that is left out by name."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.folder import derived_split
from adamroute.catalogue.judged_queries import MOST_TARGETS, JudgedQueries, judged_queries
from adamroute.catalogue.judgements import Judgement
from adamroute.catalogue.shop import Query

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

BED = "judged:" + hashlib.sha256(b"a bed").hexdigest()[:12]


def said(
    item: str, value: float, query: str = "a bed", *, by_click: bool = False, user: str = ""
) -> Judgement:
    return Judgement("j:1", query, item, value, by_click, user)


def counted(found: JudgedQueries) -> dict[str, int]:
    return {name: left.count for name, left in found.notes.items() if left.count}


def targets(*rows: Judgement) -> list[str]:
    return [query.target_id for query in judged_queries(rows).queries]


def test_the_best_graded_item_is_the_target() -> None:
    found = judged_queries([said("x", 2), said("y", 4), said("z", 0)])
    assert found.queries == (Query(BED, BED, "a bed", "y", None, derived_split(BED)),)
    assert counted(found) == {}


def test_queries_are_one_whatever_their_case_spacing_and_unicode_form() -> None:
    found = judged_queries([said("x", 1, " A  bed"), said("y", 2, "a ｂｅｄ")])
    assert [(q.query_id, q.text, q.target_id) for q in found.queries] == [(BED, " A  bed", "y")]


def test_equally_good_items_are_all_targets_of_one_user_in_one_split() -> None:
    found = judged_queries([said("x", 1), said("y", 1)])
    assert sorted(q.target_id for q in found.queries) == ["x", "y"]
    assert [q.query_id for q in found.queries] == [BED, f"{BED}:2"]
    assert {(q.user_id, q.split) for q in found.queries} == {(BED, derived_split(BED))}


def test_of_many_equally_good_items_five_are_drawn_whatever_their_order() -> None:
    rows = [said(f"i{n}", 1) for n in range(9)]
    assert len(targets(*rows)) == MOST_TARGETS == 5
    assert targets(*rows) == targets(*reversed(rows))
    assert counted(judged_queries(rows)) == {"judged_targets_beyond_five": 4}


def test_contradicting_grades_count_by_their_mean_and_are_named() -> None:
    """x: (4 + 0) / 2 = 2, so y with 3 is meant."""
    found = judged_queries([said("x", 4), said("y", 3), said("x", 0)])
    assert [q.target_id for q in found.queries] == ["y"]
    assert found.notes["contradicting_judgements"].first == [
        "j:1: item 'x' has grades 4, 0 for 'a bed'; their mean counts"
    ]


def test_what_one_judge_says_twice_counts_once_and_two_judges_count_twice() -> None:
    """x: (4 + 4 + 0) / 3 = 2.67 of three judges beats y's 2.5; without the second judge, 2."""
    three = [said("x", 4, user="a"), said("x", 4, user="b"), said("x", 0, user="c")]
    again = judged_queries([*three, three[0], said("y", 2.5)])
    assert [q.target_id for q in again.queries] == ["x"]
    assert counted(again) == {"judgements_twice": 1, "contradicting_judgements": 1}
    assert targets(three[0], three[2], said("y", 2.5)) == ["y"]


def test_clicks_are_summed_and_the_same_click_again_is_another() -> None:
    """x: two clicks at 1 / .5 = 4; y: one click at 1 / .3 = 3.33."""
    twice = [said("x", 2.0, by_click=True)] * 2
    assert targets(*twice, said("y", 1 / 0.3, by_click=True)) == ["x"]


def test_a_persons_grade_is_asked_before_clicks() -> None:
    found = judged_queries([said("x", 10, by_click=True), said("y", 1)])
    assert [q.target_id for q in found.queries] == ["y"]
    assert counted(found) == {"clicks_of_graded_queries": 1}
    assert targets(said("x", 10, by_click=True), said("y", 0)) == ["x"]


def test_a_query_of_which_nothing_was_meant_is_counted() -> None:
    found = judged_queries([said("x", 0), said("y", 0, "a rug"), said("z", 1, "a rug")])
    assert [q.text for q in found.queries] == ["a rug"]
    assert found.notes["judged_queries_without_target"].first == ["j:1: 'a bed'"]


@pytest.mark.parametrize(
    ("users", "user"),
    [(("ann", "ann"), "ann"), (("ann", "bob"), BED), (("judge", "judge"), BED), (("", ""), BED)],
)
def test_a_query_is_the_shoppers_whom_all_its_rows_name(users: tuple[str, str], user: str) -> None:
    rows = [said(f"i{n}", n, user=name) for n, name in enumerate(users)]
    (query,) = judged_queries(rows, {"ann", "bob"}).queries
    assert (query.user_id, query.split) == (user, derived_split(user))


def test_a_shopper_stays_in_the_split_of_her_logged_queries() -> None:
    other = {"train": "test", "test": "calibration", "calibration": "train"}
    logged = Query("q", "ann", "a rug", "x", None, other[derived_split("ann")])  # type: ignore[arg-type]
    (query,) = judged_queries([said("x", 1, user="ann")], {"ann"}, [logged]).queries
    assert query.split == logged.split


def test_a_query_that_is_logged_already_is_left_to_the_log() -> None:
    logged = Query("q", "ann", "A bed", "x", None, "train")
    found = judged_queries([said("y", 4)], (), [logged])
    assert (found.queries, counted(found)) == ((), {"judged_queries_logged_already": 1})


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 4), st.booleans()), min_size=1))
def test_the_order_of_rows_decides_no_target(rows: list[tuple[str, int, bool]]) -> None:
    made = [said(item, value, by_click=click) for item, value, click in rows]
    assert targets(*made) == targets(*reversed(made))


TAIL = "queries:\n  file: queries.jsonl\n"
JUDGED = '{"query": "to draw on", "item_id": "007", "grade": 1}\n'


def test_a_shop_without_a_log_asks_what_is_judged(corner: Corner) -> None:
    corner.change("shop.yaml", TAIL, "judged: {file: judged.jsonl}\n")
    gone = {"query": "to sit on", "item_id": "11", "grade": 1}
    shop = corner.write("judged.jsonl", JUDGED + json.dumps(gone)).read()
    assert [(q.text, q.target_id) for q in shop.queries] == [("to draw on", "007")]
    assert shop.problems == {"judgements_of_gone_items": 1}
    assert shop.reading["judged"] == {
        "files": [{"file": "judged.jsonl", "rows": 2, "encoding": "utf-8"}],
        "queries": 1,
        "targets": 1,
        "judgements_of_gone_items": {
            "count": 1,
            "first": ["judged.jsonl:2: item_id '11' is not among the items"],
        },
    }


def test_judged_queries_stand_after_logged_ones(corner: Corner) -> None:
    corner.change("shop.yaml", TAIL, TAIL + "judged: {file: judged.jsonl}\n")
    shop = corner.write("judged.jsonl", JUDGED).read()
    assert [q.text for q in shop.queries] == ["a bed", "low table", "to draw on"]


def test_a_shops_qrels_name_their_topics(corner: Corner) -> None:
    corner.change("shop.yaml", TAIL, "judged: {file: j.qrels, topics: asked.tsv}\n")
    shop = corner.write("j.qrels", "1 0 9 1").write("asked.tsv", "1\tlow table").read()
    assert [(q.text, q.target_id) for q in shop.queries] == [("low table", "9")]


def test_topics_outside_the_shop_are_refused(corner: Corner) -> None:
    corner.change("shop.yaml", TAIL, "judged: {file: j.qrels, topics: ../asked.tsv}\n")
    said = corner.write("j.qrels", "1 0 9 1").complaint()
    assert said.startswith("shop.yaml: judged.topics: '../asked.tsv' lies outside the shop folder")
