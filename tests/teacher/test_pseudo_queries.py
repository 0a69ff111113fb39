"""Queries that ask for one item: right kind, about the right length, no leak of the title."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.item_words import INTENTS, ItemWords, item_words, words_in
from adamroute.teacher.pseudo_queries import (
    MAX_WORDS,
    MIN_WORDS,
    kind_schedule,
    nearest_kind,
    write_query,
)

TEXT = (
    "NORDLI Reading lamp. Gives a soft mood light for your desk. Folds flat, so it takes little "
    "room when it is not in use. The arm turns to wherever the light is needed most"
)
LAMP = item_words("NORDLI Reading lamp", TEXT, "Reading lamp", {"colour": "red,brass"})
VISUAL_ONLY = item_words("NORDLI lamp", "", "lamp", {"colour": "red"})


@pytest.mark.parametrize("seed", range(30))
def test_each_kind_speaks_of_what_it_is_about(seed: int) -> None:
    visual = write_query(LAMP, "visual", 6, Random(seed))
    functional = write_query(LAMP, "functional", 6, Random(seed))
    mixed = write_query(LAMP, "mixed", 6, Random(seed))
    claimed = {word for claim in LAMP.claims for word in claim}
    assert "red" in visual or "brass" in visual
    assert not set(words_in(visual)) - {"reading", "lamp", "red", "brass", "in", "and"}
    assert not set(words_in(functional)) & {"red", "brass"}
    assert set(words_in(functional)) & claimed
    assert set(words_in(mixed)) & {"red", "brass"}
    assert set(words_in(mixed)) & claimed


@given(st.sampled_from(INTENTS), st.integers(1, 60), st.integers(0, 10_000))
def test_the_title_is_never_given_away(kind: str, length: int, seed: int) -> None:
    assert "nordli" not in write_query(LAMP, kind, length, Random(seed))  # type: ignore[arg-type]


@given(st.sampled_from(("functional", "mixed")), st.integers(1, 60), st.integers(0, 10_000))
def test_a_query_is_about_as_long_as_asked(kind: str, length: int, seed: int) -> None:
    asked = min(max(length, MIN_WORDS), MAX_WORDS)
    query = write_query(LAMP, kind, length, Random(seed))  # type: ignore[arg-type]
    assert 0.4 * asked - 2 <= len(words_in(query)) <= asked + 3


@given(st.integers(1, 60), st.integers(0, 10_000))
def test_a_query_is_never_empty_whatever_the_item_lacks(length: int, seed: int) -> None:
    for words in (VISUAL_ONLY, ItemWords("lamp", "lamp", (), ())):
        for kind in words.kinds:
            assert words_in(write_query(words, kind, length, Random(seed)))


def test_the_same_seed_writes_the_same_query_and_another_seed_varies_it() -> None:
    first = [write_query(LAMP, "mixed", 12, Random(s)) for s in range(20)]
    again = [write_query(LAMP, "mixed", 12, Random(s)) for s in range(20)]
    assert first == again
    assert len(set(first)) > 10


def test_articles_fit_the_word_they_stand_before() -> None:
    orange = item_words("x", "", "lamp", {"colour": "orange"})
    queries = {write_query(orange, "visual", 9, Random(s)) for s in range(60)}
    assert any(" an orange lamp" in query for query in queries)
    assert not any(" a orange" in query for query in queries)


def test_kinds_come_in_the_proportions_of_their_probabilities() -> None:
    five = kind_schedule(np.array([0.6, 0.2, 0.2]), 5)
    assert sorted(five) == ["functional", "mixed", "visual", "visual", "visual"]
    assert five[0] == "visual"
    assert kind_schedule(np.array([0.0, 1.0, 0.0]), 2) == ("functional", "functional")
    assert kind_schedule(np.array([1.0, 0.0, 0.0]), 0) == ()


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.integers(1, 20))
def test_no_kind_is_ever_more_than_one_query_off_its_share(odds: list[float], count: int) -> None:
    shares = np.array(odds) / sum(odds)
    given_ = kind_schedule(shares, count)
    for kind, share in zip(INTENTS, shares, strict=True):
        assert abs(given_.count(kind) - share * count) < 2.0


def test_a_kind_the_item_lacks_is_replaced_by_the_likeliest_it_has() -> None:
    probabilities = np.array([0.1, 0.6, 0.3])
    assert nearest_kind(LAMP, "mixed", probabilities) == "mixed"
    assert nearest_kind(VISUAL_ONLY, "functional", probabilities) == "visual"
