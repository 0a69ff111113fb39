"""What a listing gives a query writer, and what it must not give."""

import pytest

from adamroute.catalogue.item_words import (
    catalogue_words,
    item_words,
    without_claim,
    words_in,
)

TITLE, CATEGORY = "KURA Reversible bed", "Reversible bed"
TEXT = "KURA Reversible bed. Turned upside down KURA becomes a high bed, white and easy to clean."


def test_claims_keep_out_the_title_and_everything_a_photo_shows() -> None:
    words = item_words(TITLE, TEXT, CATEGORY, {"colour": "White,pine"})
    assert words.looks == ("white", "pine")
    assert words.claims == (
        ("turned", "upside", "down", "becomes", "a", "high", "bed"),
        ("and", "easy", "to", "clean"),
    )


def test_the_noun_is_the_category_or_else_the_last_word_of_the_title() -> None:
    assert item_words(TITLE, TEXT, CATEGORY, {}).noun == "reversible bed"
    assert item_words(TITLE, TEXT, CATEGORY, {}).short_noun == "bed"
    assert item_words("Palm Tree Skirts", "", "", {}).noun == "skirts"
    assert item_words("", "soft and warm", "", {}).noun == ""


def test_the_short_noun_drops_what_qualifies_it() -> None:
    assert item_words("x", "", "Rug, flatwoven", {}).short_noun == "rug"
    assert item_words("x", "", "Wash-stand with 2 drawers", {}).short_noun == "wash-stand"


def test_kinds_are_those_the_listing_can_be_asked_for() -> None:
    look, claim = {"colour": "red"}, "holds ten heavy books"
    assert item_words("a lamp", claim, "lamp", look).kinds == ("visual", "functional", "mixed")
    assert item_words("a lamp", "", "lamp", look).kinds == ("visual",)
    assert item_words("a lamp", claim, "lamp", {}).kinds == ("functional",)
    assert item_words("a lamp", "", "lamp", {}).kinds == ("functional",)


def test_clauses_that_many_listings_share_are_dropped_unless_nothing_else_is_left() -> None:
    texts = [f"fits shelf number{i}. ten year guarantee applies" for i in range(30)]
    texts[0] = "ten year guarantee applies"
    words = catalogue_words(["t"] * 30, texts, ["lamp"] * 30, [{}] * 30)
    assert words[0].claims == (("ten", "year", "guarantee", "applies"),)
    assert words[5].claims == (("fits", "shelf", "number5"),)


def test_words_are_lower_case_and_keep_inner_hyphens_and_apostrophes() -> None:
    assert words_in("Child's wash-stand, 30x40 (new!)") == [
        "child's",
        "wash-stand",
        "30x40",
        "new",
    ]
    assert words_in("") == []


@pytest.mark.parametrize(
    ("claim", "left"),
    [
        (("folds", "flat"), "KURA bed. easy to move. Keeps papers dry"),
        (("keeps", "papers", "dry"), "KURA bed. Folds flat. easy to move"),
        (("easy", "to", "move"), "KURA bed. Folds flat. Keeps papers dry"),
        (("move", "easy"), "KURA bed. Folds flat. Keeps papers dry"),
        (("folds", "papers"), "KURA bed. Folds flat. easy to move. Keeps papers dry"),
    ],
)
def test_a_listing_without_a_claim_leaves_out_the_clauses_that_state_it(
    claim: tuple[str, ...], left: str
) -> None:
    assert without_claim("KURA bed. Folds flat, easy to move. Keeps papers dry", claim) == left


def test_every_clause_that_states_the_claim_goes_whatever_else_it_says() -> None:
    listing = "Lamp. It folds quite flat! Dims softly (flat when it folds); folds flat"
    assert without_claim(listing, ("folds", "flat")) == "Lamp. Dims softly"


def test_nothing_is_left_of_a_listing_that_is_its_claim() -> None:
    assert without_claim("Folds flat.", ("folds", "flat")) == ""
    assert without_claim("", ("folds", "flat")) == ""


def test_no_listing_states_the_claim_that_was_taken_from_it() -> None:
    words = item_words(TITLE, TEXT, CATEGORY, {"colour": "White,pine"})
    for claim in words.claims:
        left = without_claim(TEXT, claim)
        assert left
        assert claim not in item_words(TITLE, left, CATEGORY, {"colour": "White,pine"}).claims
