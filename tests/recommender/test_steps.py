"""Who asks, what is encoded, and what the neighbours add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.errors import RequestError
from adamroute.recommender.steps import Prepared, Steps
from adamroute.theta import Theta
from tests.recommender.small_shop import FACTS, WordEncoder, contexts

GIVEN = (Interaction("green-lamp", True, 0.0), Interaction("cable", False, 1.0))


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def steps(encoder: WordEncoder) -> Steps:
    return Steps(contexts(encoder), FACTS)


def admitted(
    steps: Steps,
    user_id: str | None = "ann",
    query: str | None = "rug",
    history: tuple[Interaction, ...] | None = None,
    preferences: PreferenceProfile | None = None,
) -> tuple[Request, PreferenceProfile]:
    request = steps.admit(user_id=user_id, query=query, history=history, preferences=preferences)
    (profile,) = steps.contexts.profiles([request])
    return request, profile


def prepared(steps: Steps, user_id: str, query: str) -> Prepared:
    (found,) = steps.prepare([steps.admit(user_id=user_id, query=query)])
    return found


def test_a_known_user_comes_with_history_and_profile(steps: Steps) -> None:
    request, profile = admitted(steps)
    assert (request.user, len(request.history), request.has_positives) == ("known", 3, True)
    assert profile.strong_pref == ("red",)  # both positives are red
    assert set(profile.nice_to_have) == {"rug", "lamp"}


@pytest.mark.parametrize("user_id", [None, "nobody"])
def test_an_unknown_user_is_served_from_the_query_alone(steps: Steps, user_id: str | None) -> None:
    request, profile = admitted(steps, user_id)
    assert (request.user, request.query) == ("unknown", "rug")
    assert (request.history, profile) == ((), PreferenceProfile())


def test_a_given_history_wins_over_the_stored_one(steps: Steps) -> None:
    request, profile = admitted(steps, history=GIVEN)
    assert (request.user, request.history) == ("given", GIVEN)
    assert profile == PreferenceProfile(nice_to_have=("green", "lamp"))


def test_given_preferences_win_over_those_of_the_history(steps: Steps) -> None:
    wished = PreferenceProfile(strong_pref=("natural wood",), dislike=("glossy",))
    request, profile = admitted(steps, preferences=wished)
    assert (request.user, profile, len(request.history)) == ("given", wished, 3)


def test_an_unknown_item_of_a_given_history_is_named_by_its_place(steps: Steps) -> None:
    with pytest.raises(RequestError, match="no item 'sofa' in this shop") as caught:
        admitted(steps, history=(GIVEN[0], Interaction("sofa", True, 1.0)))
    assert caught.value.field == "history[1].item_id"


@pytest.mark.parametrize("query", ["", " \n\t", "\u200b\u2060", "x" * 2001])
def test_an_empty_or_overlong_query_is_refused(steps: Steps, query: str) -> None:
    with pytest.raises(RequestError, match="query: ") as caught:
        admitted(steps, query=query)
    assert caught.value.field == "query"


def test_without_a_query_the_preference_text_is_asked(steps: Steps) -> None:
    assert admitted(steps, query=None)[0].query.split(", ")[0] == "red"
    assert admitted(steps, None, None, GIVEN)[0].query == "green, lamp"


@pytest.mark.parametrize("user_id", ["nobody", "cid"])
def test_without_query_and_wishes_there_is_nothing_to_ask(steps: Steps, user_id: str) -> None:
    with pytest.raises(RequestError, match="query: needed") as caught:
        admitted(steps, user_id, None)
    assert caught.value.field == "query"


def test_a_prepared_request_holds_query_wishes_and_the_parts_of_the_profile(
    steps: Steps, encoder: WordEncoder
) -> None:
    asked = prepared(steps, "ann", "rug").asked
    # ann's wishes are encoded anew: her store says "red, rug, lamp". Of her profile's parts only
    # those that say something are.
    assert encoder.seen == ["rug", "red, lamp, rug", "red", "lamp, rug"]
    query, red = WordEncoder().encode(["rug", "red"])
    assert np.array_equal(asked.vector, query)
    assert np.array_equal(asked.parts[0], red)
    assert not asked.parts[2].any()  # ann dislikes nothing often enough
    assert asked.liked.tolist() == [0, 3]


def test_stored_wishes_are_not_encoded_again(steps: Steps, encoder: WordEncoder) -> None:
    prepared(steps, "bob", "rug")  # his store says exactly what his history does
    assert "red, lamp, cable" not in encoder.seen


def test_a_user_without_wishes_has_no_collaborative_items(steps: Steps) -> None:
    request = prepared(steps, "nobody", "red rug")
    assert request.context.neighbours == ()
    assert "collaborative" not in steps.retrieve(request, Theta(0.5, 2)).origin


def test_collaborative_items_come_from_neighbours_and_never_from_oneself(steps: Steps) -> None:
    def added(user_id: str, by: Steps = steps) -> set[str]:
        found = by.retrieve(prepared(by, user_id, "blue rug"), Theta(0.5, 2))
        ids = [by.contexts.index.ids[row] for row in found.rows]
        return {i for i, o in zip(ids, found.origin, strict=True) if o == "collaborative"}

    assert added("ann") == {"red-lamp", "cable"}
    assert added("bob") == set()  # nobody but bob lends
    off = Steps(steps.contexts, replace(FACTS, augmentation=False))
    assert added("ann", off) == set()


def test_looks_of_what_text_alone_found_count_only_without_the_filter(steps: Steps) -> None:
    request = prepared(steps, "nobody", "red rug")
    found = steps.retrieve(request, Theta(1.0, 2))
    assert found.origin == ("text", "text")
    shown = Steps(steps.contexts, replace(FACTS, attribute_filter=False))
    assert steps.case(request, found, Theta(1.0, 2)).profiles[0] == "rug wool"
    assert shown.case(request, found, Theta(1.0, 2)).profiles[0] == "red rug wool"


def test_many_requests_are_prepared_as_one_by_one(steps: Steps) -> None:
    requests = [steps.admit(user_id=user, query="red rug") for user in ("ann", "bob", "nobody")]
    together = steps.prepare(requests)
    for one, many in zip(requests, together, strict=True):
        (alone,) = steps.prepare([one])
        assert np.array_equal(alone.asked.parts, many.asked.parts)
        assert np.array_equal(alone.mm_query, many.mm_query)
        assert alone.collaborative == many.collaborative
        assert alone.context.evidence == many.context.evidence
    assert steps.prepare([]) == []


def test_vectors_at_hand_are_used(steps: Steps, encoder: WordEncoder) -> None:
    request = steps.admit(user_id=None, query="red rug")
    encoded = steps.contexts.index.encode(["blue rug"])
    encoder.seen.clear()
    (found,) = steps.prepare([request], encoded)
    assert encoder.seen == []
    assert np.array_equal(found.asked.vector, encoded.text[0])
    assert np.array_equal(found.mm_query, encoded.mm[0])
