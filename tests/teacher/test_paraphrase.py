"""Paraphraser: other words, or fewer, as often as asked."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.item_words import INTENTS, STOPWORDS
from adamroute.errors import ArtifactError
from adamroute.teacher.paraphrase import (
    VERBATIM,
    Paraphraser,
    load_paraphraser,
    related_words,
    vocabulary,
)

RELATED = {"lamp": ("light", "lantern"), "sturdy": ("strong",)}


def wording(hardness: float) -> Paraphraser:
    return Paraphraser(hardness=dict.fromkeys(INTENTS, hardness), related=RELATED)


def test_verbatim_changes_nothing() -> None:
    assert (
        VERBATIM.reworded("A sturdy lamp, please?", "mixed", Random(0)) == "A sturdy lamp, please?"
    )


def test_full_hardness_replaces_what_has_a_neighbour_and_drops_what_has_none() -> None:
    said = wording(1.0).reworded("a sturdy brass lamp, for reading", "visual", Random(0))
    assert said in ("a strong light, for", "a strong lantern, for")


def test_a_query_keeps_two_content_words() -> None:
    assert wording(1.0).reworded("brass hook", "visual", Random(0)) == "brass hook"


def test_each_kind_has_its_own_hardness() -> None:
    only = Paraphraser(hardness={**dict.fromkeys(INTENTS, 0.0), "visual": 1.0}, related=RELATED)
    assert only.reworded("sturdy lamp", "functional", Random(1)) == "sturdy lamp"
    assert only.reworded("sturdy thing", "visual", Random(1)) == "strong thing"


@given(st.integers(0, 10_000), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_harder_wording_changes_a_superset_of_the_replaced_words(
    seed: int, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    text = "sturdy lamp"
    easy = wording(low).reworded(text, "mixed", Random(seed)).split()
    hard = wording(high).reworded(text, "mixed", Random(seed)).split()
    for before, lightly, strongly in zip(text.split(), easy, hard, strict=True):
        assert lightly in (before, strongly)


def test_the_vocabulary_is_what_two_listings_say_without_small_words() -> None:
    texts = ["A red lamp and 40 W", "the lamp is red", "blue vase"]
    looks = [{"colour": "red"}, {}, {"colour": "blue"}]
    assert vocabulary(texts, looks) == ("lamp", "red")
    assert not set(vocabulary(texts * 2, looks * 2)) & STOPWORDS


def test_related_words_are_near_are_no_form_of_the_word_and_keep_looks_apart() -> None:
    words = ("crate", "crates", "box", "red", "crimson")
    vectors = np.array(
        [[1, 0, 0], [1, 0, 0], [0.8, 0.6, 0], [0.5, 0, 0.866], [0.1, 0, 0.995]], np.float32
    )
    visual = [{"colour": "red"}, {"colour": "crimson"}]
    related = related_words(words, vectors, visual)
    assert related["crate"] == ("box",)  # "crates" is the same word, "red" (.5) is a look
    assert related["box"] == ("crate", "crates")
    assert related["red"] == ("crimson",)  # .911; "crate" at .5 is not near enough for a look


def test_a_saved_wording_reads_back_and_a_broken_one_says_what_to_run(tmp_path: Path) -> None:
    wording(0.25).save(tmp_path)
    assert load_paraphraser(tmp_path) == wording(0.25)
    with pytest.raises(ArtifactError, match="adamroute label"):
        load_paraphraser(tmp_path / "none")
