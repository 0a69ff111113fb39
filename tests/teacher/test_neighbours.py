"""Who is near, what they lend, and that nobody is their own neighbour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adamroute.catalogue.request import Interaction
from adamroute.store import Snapshot, UserRecord
from adamroute.teacher.neighbours import (
    Neighbour,
    Neighbourhood,
    WishIndex,
    known_then,
    liked_rows,
)
from adamroute.theta import Theta


def user(name: str, angle: float | None, *, lends: bool = True) -> UserRecord:
    """A user whose e_pref points `angle` degrees off the first axis; None has no wish."""
    turn = np.radians(angle or 0.0)
    vector = [] if angle is None else [np.cos(turn), np.sin(turn)]
    return UserRecord(
        name, lends, name, np.array(vector, dtype=np.float32), (), Theta(0.5, 20), -1, 0.0
    )


def neighbourhood(*users: UserRecord, size: int = 2) -> Neighbourhood:
    return Neighbourhood(Snapshot(users), size)


AHEAD = np.array([1.0, 0.0], dtype=np.float32)


def names(found: tuple[Neighbour, ...]) -> list[str]:
    return [neighbour.user_id for neighbour in found]


def test_the_nearest_come_first_and_only_as_many_as_asked() -> None:
    near = neighbourhood(user("far", 80), user("close", 5), user("middle", 40))
    assert names(near.nearest(AHEAD, None)) == ["close", "middle"]
    assert near.nearest(AHEAD, None)[0].similarity == pytest.approx(np.cos(np.radians(5)))


def test_a_user_is_never_its_own_neighbour() -> None:
    near = neighbourhood(user("me", 0), user("other", 60), user("third", 90))
    assert names(near.nearest(AHEAD, "me")) == ["other", "third"]


def test_users_held_out_or_without_a_wish_lend_nothing() -> None:
    near = neighbourhood(user("test", 0, lends=False), user("silent", None), user("train", 70))
    assert names(near.nearest(AHEAD, None)) == ["train"]


def test_ties_go_by_user_id() -> None:
    near = neighbourhood(user("a", 30), user("b", 30), user("c", 30))
    assert names(near.nearest(AHEAD, None)) == ["a", "b"]


def test_without_wish_users_or_wanted_neighbours_there_are_none() -> None:
    assert neighbourhood(user("a", 0)).nearest(np.empty(0, np.float32), "u") == ()
    assert neighbourhood(user("a", 0), size=0).nearest(AHEAD, "u") == ()
    assert neighbourhood().nearest(AHEAD, "u") == ()
    assert neighbourhood(user("u", 0)).nearest(AHEAD, "u") == ()


def by_comparing_all(
    snapshot: Snapshot, e_pref: NDArray[np.float32], user_id: str, size: int
) -> list[tuple[str, float]]:
    found = [
        (u.user_id, float(np.vecdot(u.e_pref.astype(np.float64), e_pref.astype(np.float64))))
        for u in snapshot.users
        if u.lends and len(u.e_pref) and u.user_id != user_id
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:size]


def crowd(angles: list[float | None]) -> Snapshot:
    return Snapshot(tuple(user(f"u{n:03d}", angle) for n, angle in enumerate(angles)))


# Few angles: many users tie. 3e-6 degrees apart, float32 cannot tell which is nearer.
ANGLES = st.sampled_from([None, 0.0, 30.0, 30.000003, 30.000006, 60.0, 60.000003])


@given(angles=st.lists(ANGLES, min_size=1, max_size=80), size=st.integers(1, 6), me=st.data())
def test_neighbours_are_those_of_a_comparison_with_every_user(
    angles: list[float | None], size: int, me: st.DataObject
) -> None:
    snapshot = crowd(angles)
    asking = me.draw(st.sampled_from(snapshot.users))
    found = Neighbourhood(snapshot, size).nearest(AHEAD, asking.user_id)
    pairs = [(neighbour.user_id, neighbour.similarity) for neighbour in found]
    assert pairs == by_comparing_all(snapshot, AHEAD, asking.user_id, size)


@given(before=st.lists(ANGLES, max_size=30), after=st.lists(ANGLES, max_size=30))
def test_an_index_kept_between_snapshots_finds_what_a_new_one_finds_in_each(
    before: list[float | None], after: list[float | None]
) -> None:
    kept = WishIndex()
    old, new = Neighbourhood(crowd(before), 3, kept), Neighbourhood(crowd(after), 3, kept)
    assert new.nearest(AHEAD, "u000") == Neighbourhood(crowd(after), 3).nearest(AHEAD, "u000")
    assert old.nearest(AHEAD, "u000") == Neighbourhood(crowd(before), 3).nearest(AHEAD, "u000")


def test_only_wishes_that_are_new_or_changed_are_indexed() -> None:
    kept = WishIndex()
    kept.lenders(crowd([10.0, 20.0, 30.0]))
    assert kept.lenders(crowd([10.0, 80.0, 30.0, 40.0])).users.keys() == {0, 3, 2, 4}
    assert len(kept) == 5


def test_a_new_round_of_thetas_indexes_nobody_and_shows_the_new_thetas() -> None:
    kept, snapshot = WishIndex(), crowd([10.0, 20.0])
    near = Neighbourhood(snapshot, 2, kept)
    after = snapshot.with_thetas({"u000": Theta(0.9, 40)}, 0)
    later = Neighbourhood(after, 2, kept)
    assert len(kept) == 2
    assert [n.theta for n in later.nearest(AHEAD, None)] == [Theta(0.9, 40), Theta(0.5, 20)]
    assert {n.theta for n in near.nearest(AHEAD, None)} == {Theta(0.5, 20)}


def test_an_index_that_is_mostly_out_of_date_is_made_anew() -> None:
    kept = WishIndex()
    sizes = []
    for angle in (0.0, 10.0, 20.0, 30.0):
        near = Neighbourhood(crowd([angle]), 1, kept)
        sizes.append(len(kept))
    assert sizes == [1, 2, 3, 1]  # three rows are more than twice one user
    assert near.nearest(AHEAD, None)[0].similarity == pytest.approx(np.cos(np.radians(30)))


def test_who_stops_lending_is_gone_from_the_next_snapshot() -> None:
    kept = WishIndex()
    Neighbourhood(Snapshot((user("a", 0), user("b", 10))), 2, kept)
    later = Snapshot((user("a", 0, lends=False), user("b", 10)))
    assert names(Neighbourhood(later, 2, kept).nearest(AHEAD, None)) == ["b"]


def lender(name: str, theta: Theta, *items: tuple[str, bool, float]) -> Neighbour:
    return Neighbour(name, 1.0, theta, tuple(Interaction(*item) for item in items))


ROWS = {"a": 0, "b": 1, "c": 2}
ANY = Theta(0.5, 20)
LENDERS = (
    lender("n1", ANY, ("b", True, 1.0), ("a", False, 2.0), ("gone", True, 2.0)),
    lender("n2", ANY, ("c", True, 9.0), ("b", True, 1.0)),
)


def test_liked_items_come_once_nearest_neighbour_first_without_negatives() -> None:
    assert liked_rows(LENDERS, ROWS, time="none", history=()) == (1, 2)


def test_only_a_global_clock_cuts_what_neighbours_did_later() -> None:
    history = (Interaction("a", True, 5.0),)
    assert liked_rows(LENDERS, ROWS, time="global", history=history) == (1,)
    assert liked_rows(LENDERS, ROWS, time="order", history=history) == (1, 2)
    assert liked_rows(LENDERS, ROWS, time="global", history=()) == (1, 2)


def test_what_neighbours_did_later_is_unknown_under_a_global_clock() -> None:
    history = (Interaction("a", True, 1.5),)
    then = known_then(LENDERS, time="global", history=history)
    assert [[x.item_id for x in n.history] for n in then] == [["b"], ["b"]]
    assert [n.theta for n in then] == [ANY, ANY]
    assert known_then(LENDERS, time="none", history=history) == LENDERS
    assert known_then(LENDERS, time="global", history=()) == LENDERS
