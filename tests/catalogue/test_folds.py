"""Folds over users: everyone is tested once, and never trained on at the same time."""

from pathlib import Path

import pytest

from adamroute.catalogue.folds import refold
from adamroute.catalogue.shop import Catalogue, Query, Shop
from adamroute.config import FoldConfig
from adamroute.errors import ConfigError


def shop(users: int) -> Shop:
    queries = tuple(
        Query(f"q{n}", f"u{n % users}", "rug", "i", None, "train") for n in range(3 * users)
    )
    return Shop("s", Path(), Catalogue(()), {}, queries, "none")


def test_every_query_is_tested_in_exactly_one_fold() -> None:
    tested = [
        q.query_id
        for number in range(5)
        for q in refold(shop(23), FoldConfig(of=5, number=number)).split("test")
    ]
    assert sorted(tested) == sorted(q.query_id for q in shop(23).queries)


def test_a_user_stands_in_one_split_of_a_fold() -> None:
    dealt = refold(shop(23), FoldConfig(of=5, number=2))
    splits = {name: {q.user_id for q in dealt.split(name)} for name in ("train", "test")}
    splits["calibration"] = {q.user_id for q in dealt.split("calibration")}
    assert sum(len(users) for users in splits.values()) == 23
    assert min(len(users) for users in splits.values()) >= 4


def test_folds_change_nothing_but_the_splits() -> None:
    first, second = (refold(shop(9), FoldConfig(of=3, number=n)) for n in (0, 1))
    assert first.split("test") != second.split("test")
    assert [q.query_id for q in first.queries] == [q.query_id for q in shop(9).queries]


def test_fewer_users_than_folds_is_an_error() -> None:
    with pytest.raises(ConfigError, match="queries of 4 users, wanted at least one user a fold"):
        refold(shop(4), FoldConfig(of=5, number=0))
