"""Reviews, and TAIRA's files with their traps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from adamroute.datasets.amazon.people import (
    Review,
    query_rows,
    read_reviews,
    read_taira_queries,
    read_taira_users,
)
from adamroute.errors import ShopError

HEADER = "user_id,id,new_query,query,classification,remaining_interaction_string\n"


def reviews(tmp_path: Path, text: str) -> list[Review]:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    return list(read_reviews(tmp_path / "r.json", lambda _: None))


def test_a_review_is_user_item_rating_and_day(tmp_path: Path) -> None:
    line = (
        '{"reviewerID": "A1", "asin": "B1", "helpful": [0, 0], "reviewText": "ok", '
        '"overall": 4.0, "unixReviewTime": 1341792000}\n'
    )
    assert reviews(tmp_path, line) == [
        Review(user_id="A1", item_id="B1", rating=4.0, timestamp=1341792000)
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('"overall": 4', r"r\.json:1: no 'unixReviewTime'"),
        ('"overall": 9, "unixReviewTime": 1', r"r\.json:1: 'overall' is 9, wanted 1 to 5"),
        ('"overall": "good", "unixReviewTime": 1', r"'overall' is 'good', wanted a number"),
        ('"overall": 4, "unixReviewTime": NaN', r"'unixReviewTime' is nan, wanted a number"),
    ],
)
def test_a_review_that_lacks_something_names_its_line(
    tmp_path: Path, fields: str, said: str
) -> None:
    with pytest.raises(ShopError, match=said):
        reviews(tmp_path, f'{{"reviewerID": "A1", "asin": "B1", {fields}}}\n')


def test_the_target_is_no_part_of_the_history_even_where_the_file_repeats_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "q.csv"
    path.write_text(HEADER + "ann,B1,a cup,old,0,B2|B1|B3|B2\n", encoding="utf-8")
    problems: Counter[str] = Counter()
    (query,) = read_taira_queries(path, problems)
    assert query.history == ("B2", "B3")
    assert problems == {"targets_in_history": 1}


def test_the_query_is_new_query_without_entities(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(HEADER + "ann,B1,A&amp;B  cup,old,-1,B2\n", encoding="utf-8")
    (query,) = read_taira_queries(path, Counter())
    assert (query.text, query.kind) == ("A&B cup", "explicit")


def test_a_repeated_row_is_one_query_of_two_copies_or_two_rows(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    same = "ann,B1,a cup,old,0,B2\n"
    path.write_text(HEADER + same + "bob,B1,a cup,old,0,B2\n" + same, encoding="utf-8")
    ann, bob = read_taira_queries(path, Counter())
    assert [(ann.place, ann.copies), (bob.place, bob.copies)] == [(1, 2), (2, 1)]
    (once,) = query_rows(ann, each_copy=False)
    assert (once["query_id"], once["copies"]) == ("q1", 2)
    twice = list(query_rows(ann, each_copy=True))
    assert [(row["query_id"], row["copies"]) for row in twice] == [("q1", 1), ("q1-2", 1)]


def test_an_unknown_classification_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(HEADER + "ann,B1,a cup,old,7,B2\n", encoding="utf-8")
    with pytest.raises(ShopError, match=r"q\.csv:2: classification '7', wanted one of -1, 0"):
        read_taira_queries(path, Counter())


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("domain", "counts"),
    [
        ("beauty", {"rows": 374, "queries": 374, "targets_in_history": 0, "users": 400}),
        ("clothing", {"rows": 361, "queries": 264, "targets_in_history": 0, "users": 385}),
        ("music", {"rows": 393, "queries": 393, "targets_in_history": 8, "users": 393}),
    ],
)
def test_the_published_files_hold_what_is_known_of_them(
    real_data: Path, domain: str, counts: dict[str, int]
) -> None:
    problems: Counter[str] = Counter()
    queries = read_taira_queries(real_data / f"taira/{domain}_query_data1.csv", problems)
    users = read_taira_users(real_data / f"taira/{domain}_user_profile.csv")
    assert {
        "rows": sum(query.copies for query in queries),
        "queries": len(queries),
        "targets_in_history": problems["targets_in_history"],
        "users": len(users),
    } == counts
    assert all(query.target_id not in query.history for query in queries)
    assert not any("&amp;" in query.text for query in queries)
    for query in queries:
        assert set(query.history) == set(users[query.user_id]) - {query.target_id}
