"""What protocols ask: who is tested, on what, against which items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.queries import derived_split
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Catalogue, Item, Shop
from adamroute.distill.evaluation.ranking_tasks import k_core, query_free_tasks
from adamroute.errors import ShopError


def took(item: str, time: float, *, positive: bool = True) -> Interaction:
    return Interaction(item, positive, time)


def shop(histories: Mapping[str, tuple[Interaction, ...]], items: int) -> Shop:
    goods = tuple(Item(f"i{n}", f"thing {n}", f"thing {n}", {}, "", None) for n in range(items))
    return Shop("small", Path("small"), Catalogue(goods), histories, (), "global")


def busy_shop() -> Shop:
    """40 users with 6 of 30 items each, one a day."""
    return shop(
        {
            f"u{n}": tuple(took(f"i{(n + 5 * k) % 30}", k, positive=k != 5) for k in range(6))
            for n in range(40)
        },
        items=32,
    )


def test_the_core_drops_users_and_items_until_all_have_enough() -> None:
    histories = {
        "ann": (took("a", 0), took("b", 1)),
        "bob": (took("a", 0), took("b", 1), took("c", 2)),  # c has one user: goes
        "cid": (took("a", 0), took("d", 1)),  # d goes, so cid has one item: goes
        "dee": (took("b", 0), took("b", 1)),  # one item twice is one item: goes
    }
    assert k_core(histories, 2) == {
        "ann": (took("a", 0), took("b", 1)), "bob": (took("a", 0), took("b", 1)),
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=60), st.integers(1, 4))
def test_a_core_is_dense_and_its_own_core(pairs: list[tuple[int, int]], k: int) -> None:
    histories: dict[str, tuple[Interaction, ...]] = {}
    for user, item in pairs:
        key = f"u{user}"
        histories[key] = (*histories.get(key, ()), took(f"i{item}", 0.0))
    core = k_core(histories, k)
    users = Counter(item for h in core.values() for item in {x.item_id for x in h})
    assert all(len({x.item_id for x in h}) >= k for h in core.values())
    assert all(count >= k for count in users.values())
    assert k_core(core, k) == core


def test_the_last_positive_is_the_target_and_only_earlier_days_are_read() -> None:
    history = (
        took("i0", 1), took("i1", 2), took("i2", 3), took("i3", 3), took("i4", 4, positive=False),
    )  # fmt: skip
    (task,), _ = query_free_tasks(
        shop({"ann": history}, 9), seed=0, core=1, negatives=0, tested=1.0
    )
    assert task.target_id == "i2"
    assert [x.item_id for x in task.request.history] == ["i0", "i1"]  # i3 is of the same day
    assert task.request.query == ""


def test_the_target_is_in_no_history_even_where_it_was_taken_before() -> None:
    history = (took("i0", 1), took("i1", 2), took("i0", 3))
    (task,), _ = query_free_tasks(
        shop({"ann": history}, 9), seed=0, core=1, negatives=0, tested=1.0
    )
    assert [x.item_id for x in task.request.history] == ["i1"]


def test_a_user_without_a_positive_is_counted_and_not_tested() -> None:
    histories = {"ann": (took("i0", 1, positive=False),), "bob": (took("i1", 1),)}
    tasks, counts = query_free_tasks(shop(histories, 9), seed=0, core=1, negatives=1, tested=1.0)
    assert [task.request.user_id for task in tasks] == ["bob"]
    assert counts == {
        "users": 2, "items": 2, "users_tested": 2, "users_without_positive": 1,
    }  # fmt: skip


def test_candidates_are_the_target_and_as_many_unseen_items_of_the_core() -> None:
    market = busy_shop()
    for task in query_free_tasks(market, seed=3, negatives=20, tested=1.0)[0]:
        assert task.request.user_id is not None
        assert task.rows is not None
        ids = [market.catalogue.items[row].item_id for row in task.rows]
        taken = {x.item_id for x in market.histories[task.request.user_id]}
        assert len(ids) == len(set(ids)) == 21
        assert set(ids) & taken == {task.target_id}
        assert not {"i30", "i31"} & set(ids)  # nobody took them: not of the core
        assert np.array_equal(task.rows, np.sort(task.rows))


def test_negatives_depend_on_seed_and_user_and_not_on_who_else_is_there() -> None:
    market = busy_shop()

    def by_user(seed: int, tested: float) -> dict[str | None, list[int]]:
        tasks, _ = query_free_tasks(market, seed=seed, negatives=9, tested=tested)
        return {t.request.user_id: t.rows.tolist() for t in tasks if t.rows is not None}

    everyone, again, other = by_user(1, 1.0), by_user(1, 0.3), by_user(2, 1.0)
    assert 0 < len(again) < len(everyone) == 40
    assert all(rows == everyone[user] for user, rows in again.items())
    assert any(other[user] != rows for user, rows in everyone.items())


def test_a_fifth_of_the_users_is_tested_and_none_of_them_ever_trained_on() -> None:
    users = {f"u{n}": (took("i0", 0.0), took("i1", 1.0)) for n in range(2000)}
    tasks, _ = query_free_tasks(shop(users, 2), seed=0, core=2, negatives=0)
    assert len(tasks) == pytest.approx(400, abs=60)
    assert {derived_split(str(task.request.user_id)) for task in tasks} == {"test"}


def test_a_shop_without_times_is_refused() -> None:
    with pytest.raises(ShopError, match="a last positive needs an order"):
        query_free_tasks(replace(busy_shop(), time="none"), seed=0, negatives=9)


def test_a_shop_with_too_little_to_test_is_refused_with_its_numbers() -> None:
    with pytest.raises(ShopError, match="1 users, 0 of them in the 5-core and 0 to be tested"):
        query_free_tasks(shop({"ann": (took("i0", 0),)}, 2), seed=0, negatives=0)


def test_too_few_items_to_sample_from_is_an_error_with_both_numbers() -> None:
    with pytest.raises(ShopError, match="has 24 unseen items of 30, wanted 1000 to sample"):
        query_free_tasks(busy_shop(), seed=0, tested=1.0)
