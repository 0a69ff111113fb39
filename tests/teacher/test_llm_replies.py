"""What a schema can't check of a reply."""

from __future__ import annotations

from typing import Any

import pytest

from adamroute.catalogue.item_words import item_words
from adamroute.catalogue.request import PreferenceProfile
from adamroute.teacher.context import Evidence
from adamroute.teacher.llm_replies import (
    Listing,
    Verdict,
    read_profile,
    read_setting,
    read_stand,
    stand_problem,
)
from adamroute.theta import Theta

LISTING = Listing("NORDLI lamp", "red NORDLI lamp. gives soft light")
LAMP = Evidence("i0", 0, item_words(LISTING.title, "gives soft light", "lamp", {"colour": "red"}))


def verdict(query: str, *, relevant: bool = True, listing: Listing = LISTING) -> Verdict:
    said: Any = {"kind": "mixed", "items": [{"relevant": relevant, "query": query}]}
    return read_stand(said, "round green rug", [LAMP], [listing]).verdicts[0]


def test_a_setting_is_a_theta_and_a_reason_on_one_line() -> None:
    setting = read_setting({"alpha": 0, "budget": 40, "reason": "looks\ndecide\ud800"})
    assert (setting.theta, setting.reason) == (Theta(0.0, 40), "looks decide")


def test_phrases_are_lower_case_and_each_in_its_strongest_list_only() -> None:
    said: Any = {
        "strong_pref": ["Red ", "red", "\u200b"], "nice_to_have": ["red", "Soft  light"],
        "dislike": ["soft light", "glossy"],
    }  # fmt: skip
    assert read_profile(said) == PreferenceProfile(("red",), ("soft light",), ("glossy",))


@pytest.mark.parametrize(
    ("query", "flaw"),
    [
        ("a red reading lamp", None),
        ("", "empty_query"),
        (" ... ", "empty_query"),
        ("Round green rug!", "copies_query"),
        ("red NORDLI lamp, gives soft light", "copies_listing"),
        ("that red nordli lamp please", "copies_title"),
    ],
)
def test_a_query_must_be_one_and_give_nothing_away(query: str, flaw: str | None) -> None:
    assert verdict(query) == Verdict(True, query.strip(), flaw)  # type: ignore[arg-type]


def test_a_title_that_only_names_the_category_is_no_secret() -> None:
    assert verdict("a tall lamp", listing=Listing("Lamp", "Lamp. tall and bright")).flaw is None


def test_an_irrelevant_item_has_no_query_to_judge() -> None:
    assert verdict("red NORDLI lamp", relevant=False) == Verdict(False, "", None)


def test_flaws_are_worded_with_the_products_number() -> None:
    said: Any = {
        "kind": "visual",
        "items": [{"relevant": True, "query": q} for q in ("", "a lamp", "nordli lamp")],
    }
    stand = read_stand(said, "rug", [LAMP] * 3, [LISTING] * 3)
    assert stand_problem(stand) == (
        "product 1 is marked relevant and has an empty query; "
        "product 3 has the product's name in its query; describe the product instead"
    )
