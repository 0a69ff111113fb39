"""Texts that are encoded once, and forgotten in the order in which they were last asked."""

from __future__ import annotations

import numpy as np

from adamroute.encoders.remembered import RememberedTexts
from tests.recommender.small_shop import WordEncoder


def test_a_text_is_encoded_once() -> None:
    encoder = WordEncoder()
    remembered = RememberedTexts(encoder)
    first = remembered.encode(["rug", "lamp", "rug"])
    again = remembered.encode(["lamp", "rug"])
    assert encoder.seen == ["rug", "lamp"]
    assert np.array_equal(first[0], again[1])
    assert np.array_equal(first[0], encoder.encode(["rug"])[0])
    assert (remembered.name, remembered.dimensions) == (encoder.name, encoder.dimensions)


def test_what_was_asked_longest_ago_is_forgotten() -> None:
    encoder = WordEncoder()
    remembered = RememberedTexts(encoder, size=2)
    for text in ("rug", "lamp", "rug", "cable"):  # lamp goes
        remembered.encode([text])
    encoder.seen.clear()
    remembered.encode(["rug", "cable"])
    assert encoder.seen == []
    remembered.encode(["lamp"])
    assert encoder.seen == ["lamp"]


def test_more_texts_than_it_may_remember_are_encoded_all_the_same() -> None:
    remembered = RememberedTexts(WordEncoder(), size=1)
    assert np.array_equal(
        remembered.encode(["rug", "lamp"]), WordEncoder().encode(["rug", "lamp"])
    )
    assert remembered.encode([]).shape == (0, remembered.dimensions)


def test_listings_are_not_remembered() -> None:
    encoder = WordEncoder()
    RememberedTexts(encoder).encode_items(["rug", "rug"])
    assert encoder.seen == ["rug", "rug"]
