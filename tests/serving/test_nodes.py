"""Who asks, what is encoded, and what the neighbours add."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.errors import RequestError
from adamroute.serving.nodes import Ask, Recall, Shopper, Teach, VectorCache
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.loop import Teacher
from adamroute.theta import Theta
from tests.serving.house import WordEncoder, nodes

GIVEN = (Interaction("green-lamp", True, 0.0), Interaction("cable", False, 1.0))


@pytest.fixture
def recall() -> Recall:
    return nodes().recall


def look_up(
    recall: Recall,
    user_id: str | None = "ann",
    query: str | None = "rug",
    history: tuple[Interaction, ...] | None = None,
    preferences: PreferenceProfile | None = None,
) -> Shopper:
    return asyncio.run(recall.look_up(Ask(user_id, query, history, preferences)))


def test_a_known_user_comes_with_history_and_profile(recall: Recall) -> None:
    shopper = look_up(recall)
    assert (shopper.status, len(shopper.history), shopper.has_positives) == ("known", 3, True)
    assert shopper.profile.strong_pref == ("red",)  # both positives are red
    assert set(shopper.profile.nice_to_have) == {"rug", "lamp"}


@pytest.mark.parametrize("user_id", [None, "nobody"])
def test_an_unknown_user_is_served_from_the_query_alone(
    recall: Recall, user_id: str | None
) -> None:
    shopper = look_up(recall, user_id)
    assert (shopper.status, shopper.query) == ("unknown", "rug")
    assert (shopper.history, shopper.profile) == ((), PreferenceProfile())


def test_a_given_history_wins_over_the_stored_one(recall: Recall) -> None:
    shopper = look_up(recall, history=GIVEN)
    assert (shopper.status, shopper.history) == ("given", GIVEN)
    assert shopper.profile == PreferenceProfile(nice_to_have=("green", "lamp"))


def test_given_preferences_win_over_those_of_the_history(recall: Recall) -> None:
    wished = PreferenceProfile(strong_pref=("natural wood",), dislike=("glossy",))
    shopper = look_up(recall, preferences=wished)
    assert (shopper.status, shopper.profile, len(shopper.history)) == ("given", wished, 3)


def test_an_unknown_item_of_a_given_history_is_named_by_its_place(recall: Recall) -> None:
    with pytest.raises(RequestError, match="no item 'sofa' among the 6") as caught:
        look_up(recall, history=(GIVEN[0], Interaction("sofa", True, 1.0)))
    assert caught.value.field == "history[1].item_id"


def test_without_a_query_the_preference_text_is_asked(recall: Recall) -> None:
    assert look_up(recall, query=None).query.split(", ")[0] == "red"
    assert look_up(recall, None, None, GIVEN).query == "green, lamp"


@pytest.mark.parametrize("user_id", ["nobody", "cid"])
def test_without_query_and_wishes_there_is_nothing_to_ask(recall: Recall, user_id: str) -> None:
    with pytest.raises(RequestError, match="query: needed") as caught:
        look_up(recall, user_id, None)
    assert caught.value.field == "query"


def test_encoding_gives_query_wish_and_the_parts_of_the_profile(recall: Recall) -> None:
    encoded = asyncio.run(recall.encode(look_up(recall)))
    red = WordEncoder().encode(["red"])[0]
    assert np.array_equal(encoded.parts[0], red)
    assert not encoded.parts[2].any()  # ann dislikes nothing often enough
    assert np.array_equal(encoded.wish, WordEncoder().encode(["red, lamp, rug"])[0])


def test_a_user_without_wishes_has_no_wish_vector_and_no_collaborative_items(
    recall: Recall,
) -> None:
    shopper = look_up(recall, "nobody", "red rug")
    encoded = asyncio.run(recall.encode(shopper))
    assert len(encoded.wish) == 0
    found = asyncio.run(recall.search(encoded, Theta(0.5, 2), shopper))
    assert "collaborative" not in found.case.candidates.origin


def test_collaborative_items_come_from_neighbours_and_never_from_oneself(recall: Recall) -> None:
    def added(user_id: str) -> set[str]:
        shopper = look_up(recall, user_id, "blue rug")
        encoded = asyncio.run(recall.encode(shopper))
        found = asyncio.run(recall.search(encoded, Theta(0.5, 2), shopper))
        origins = found.case.candidates.origin
        return {i for i, o in zip(found.ids, origins, strict=True) if o == "collaborative"}

    assert added("ann") == {"red-lamp", "cable"}
    assert added("bob") == set()  # nobody but bob lends


def test_a_text_is_encoded_once_and_an_empty_one_never() -> None:
    encoder = WordEncoder()
    cache = VectorCache(encoder)
    encoder.seen.clear()
    first = cache.of(["rug", "", "lamp", "rug"])
    again = cache.of(["lamp", "rug"])
    assert encoder.seen == ["rug", "lamp"]
    assert not first[1].any()
    assert np.array_equal(first[0], again[1])
    assert np.array_equal(first[0], encoder.encode(["rug"])[0])


def test_the_cache_forgets_what_was_asked_longest_ago() -> None:
    encoder = WordEncoder()
    cache = VectorCache(encoder, size=2)
    for text in ("rug", "lamp", "rug", "cable"):  # lamp goes
        cache.of([text])
    encoder.seen.clear()
    cache.of(["rug", "cable"])
    assert encoder.seen == []
    cache.of(["lamp"])
    assert encoder.seen == ["lamp"]


def test_the_teacher_takes_one_request_at_a_time_and_still_answers_pings() -> None:
    entered, leave = threading.Event(), threading.Event()
    begun: list[str] = []

    class Slow(Teacher):
        def decide(self, request: Request) -> TeacherAnswer:
            begun.append(request.request_id)
            entered.set()
            assert leave.wait(10)
            return super().decide(request)

    async def busy() -> tuple[str, str, TeacherAnswer]:
        house = nodes().teacher._teacher
        teach = Teach(Slow(house.index, house.snapshot, house.policy, evidence=5, neighbours=5))
        first = asyncio.ensure_future(teach.decide(Request("r1", "ann", "rug", ())))
        second = asyncio.ensure_future(teach.decide(Request("r2", "ann", "rug", ())))
        await asyncio.to_thread(entered.wait, 10)
        ping, waiting = await teach.ping(), ",".join(begun)
        second.cancel()
        leave.set()
        return ping, waiting, await first

    ping, waiting, answer = asyncio.run(busy())
    assert (ping, waiting, answer.request_id) == ("ready", "r1", "r1")
    assert begun == ["r1"]  # the second was given up before its turn
