"""Who is near, what they lend, and that nobody is their own neighbour."""

import numpy as np
import pytest

from adamroute.routing.neighbours import Neighbour, Neighbourhood, liked_rows
from adamroute.routing.theta import Theta
from adamroute.shop.catalogue import Interaction
from adamroute.store import Snapshot, UserRecord


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
