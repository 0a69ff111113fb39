"""Short texts written from a listing: what the alignment is shown in place of queries."""

from __future__ import annotations

from collections import Counter

import pytest

from adamroute.catalogue.shop import Item
from adamroute.encoders.text_views import OPENINGS, functional_view, query_view, text_views


def item(title: str, text: str, visual: dict[str, str], category: str, name: str = "1") -> Item:
    return Item(name, title, text, visual, category, None)


@pytest.mark.parametrize(
    ("shown", "views"),
    [
        (
            item(
                "KURA Bed",
                "KURA Bed. Turned upside down, it is high. More.",
                {"color": "White,pine"},
                "Bed",
            ),
            ("White pine Bed", "White pine Bed. Turned upside down"),
        ),
        (item("KURA Bed", "KURA Bed", {"color": "white"}, "Bed"), ("white Bed", "white Bed")),
        (item("Palm skirt", "Palm skirt. Women", {}, ""), ("Palm skirt", "Palm skirt. Women")),
        (item("", "a lone listing", {}, ""), ("a lone listing", "a lone listing. a lone listing")),
    ],
)
def test_views_are_looks_and_category_then_the_first_clause(
    shown: Item, views: tuple[str, str]
) -> None:
    assert text_views(shown) == views


def bed(number: int) -> Item:
    return item(
        "KURA Bed", "KURA Bed. Folds flat, easy to move.", {"color": "White"}, "Bed", f"i{number}"
    )


def test_query_views_ask_by_looks_by_use_and_by_both() -> None:
    asked = [query_view(bed(number)) for number in range(300)]
    kinds = Counter(
        ("white" in text, any(word in text for word in ("folds", "easy"))) for text in asked
    )
    assert set(kinds) == {(True, False), (False, True), (True, True)}
    assert min(kinds.values()) > 60  # a third each, that is 100 of 300
    assert all("bed" in text for text in asked)
    assert len({text.partition("bed")[0] for text in asked}) > len(OPENINGS) // 2


def test_an_item_always_gives_the_same_query_view_and_needs_no_description() -> None:
    assert query_view(bed(4)) == query_view(bed(4))
    assert "kura bed" in query_view(item("KURA Bed", "KURA Bed", {}, ""))


def test_a_long_clause_is_quoted_whole_or_by_a_few_words() -> None:
    words = [f"w{n}" for n in range(12)]
    shown = [item("Bed", f"Bed. {' '.join(words)}", {}, "Bed", f"i{n}") for n in range(200)]
    quoted = Counter(sum(word in query_view(i).split() for word in words) for i in shown)
    assert max(quoted) >= 11  # whole; a closing "?" may stick to the last word
    assert quoted[6] > 10  # cut
    assert 0 in quoted  # by looks alone


def test_functional_views_ask_by_use_and_never_by_looks() -> None:
    asked = [functional_view(bed(number), 0) for number in range(300)]
    assert all("folds" in text or "flat" in text or "easy" in text for text in asked)
    assert not [text for text in asked if "white" in text]
    with_noun = sum("bed" in text for text in asked)
    assert 150 < with_noun < 250  # two of three bodies name it, that is 200 of 300
    assert len({text.split("folds")[0].split("easy")[0] for text in asked}) > len(OPENINGS) // 2


def test_an_item_gives_several_functional_views_and_each_always_the_same() -> None:
    pairs = [(functional_view(bed(n), 0), functional_view(bed(n), 1)) for n in range(50)]
    assert pairs == [(functional_view(bed(n), 0), functional_view(bed(n), 1)) for n in range(50)]
    assert sum(first != second for first, second in pairs) > 40


def test_an_item_that_claims_nothing_is_asked_for_by_its_noun() -> None:
    named = {opening.format("bed") for opening in OPENINGS}
    assert functional_view(item("KURA Bed", "KURA Bed", {"color": "white"}, "Bed"), 0) in named
    untold = functional_view(item("Palm skirt", "Palm skirt", {}, ""), 1)
    assert "palm skirt" in untold
