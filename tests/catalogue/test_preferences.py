"""The embedded profiler: counting what liked and rejected items share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.preferences import (
    PHRASES,
    item_traits,
    preference_text,
    profile_of,
    traits_by_id,
)
from adamroute.catalogue.request import Interaction, PreferenceProfile
from adamroute.errors import RequestError

TRAITS = traits_by_id(
    ["rug", "lamp", "sofa", "vase", "bed"],
    ["Rug", "Lamp", "Sofa", "Vase", "Bed"],
    [
        {"colour": "Red"},
        {"colour": "red"},
        {"colour": "red,white"},
        {"colour": "black"},
        {"colour": "black"},
    ],
)


def history(*labels: tuple[str, bool]) -> tuple[Interaction, ...]:
    return tuple(Interaction(i, positive, float(t)) for t, (i, positive) in enumerate(labels))


def test_a_phrase_of_two_liked_items_is_strong_and_the_rest_is_nice_to_have() -> None:
    profile = profile_of(history(("rug", True), ("sofa", True)), TRAITS)
    assert profile.strong_pref == ("red",)
    assert profile.nice_to_have == ("sofa", "white", "rug")  # latest first, then by spelling


def test_a_phrase_of_two_rejected_items_is_disliked_unless_a_liked_one_has_it() -> None:
    both = history(("vase", False), ("bed", False))
    assert profile_of(both, TRAITS).dislike == ("black",)
    assert profile_of((*both, Interaction("bed", True, 9.0)), TRAITS).dislike == ()


def test_one_rejection_is_no_dislike() -> None:
    assert profile_of(history(("vase", False)), TRAITS) == PreferenceProfile()


def test_no_history_gives_an_empty_profile_and_an_empty_text() -> None:
    assert profile_of((), TRAITS) == PreferenceProfile()
    assert preference_text(PreferenceProfile()) == ""


def test_the_text_names_the_wishes_strongest_first_and_no_dislike() -> None:
    profile = PreferenceProfile(("red", "rug"), ("white", "red"), ("black",))
    assert preference_text(profile) == "red, rug, white"


def test_values_are_split_at_separators_and_lowered() -> None:
    assert item_traits(" Floor  Lamp", {"a": "Black, WHITE;black"}).phrases == (
        "black",
        "white",
        "floor lamp",
    )


def test_an_unknown_item_is_named_with_its_field() -> None:
    with pytest.raises(RequestError, match=r"'ghost': not among the 5 items") as error:
        profile_of(history(("ghost", True)), TRAITS)
    assert error.value.field == "history"


@given(st.lists(st.tuples(st.sampled_from(sorted(TRAITS)), st.booleans()), max_size=30))
def test_parts_are_short_and_never_share_a_phrase(labels: list[tuple[str, bool]]) -> None:
    profile = profile_of(history(*labels), TRAITS)
    parts = (profile.strong_pref, profile.nice_to_have, profile.dislike)
    assert all(len(part) <= PHRASES for part in parts)
    phrases = [phrase for part in parts for phrase in part]
    assert len(phrases) == len(set(phrases))
