"""Features of candidates, each worked by hand on four items."""

from dataclasses import replace

import numpy as np
import pytest

from adamroute.catalogue.preferences import liked_items
from adamroute.catalogue.request import Interaction, PreferenceProfile
from adamroute.reranking.features import (
    FEATURES,
    READ,
    Asked,
    candidate_features,
    encode_parts,
    with_theta,
)
from adamroute.retrieval.dual import Candidates, Origin
from adamroute.retrieval.item_facts import item_facts

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
FACTS = item_facts(
    VECTORS,
    ["a lamp", "a rug", "a mat", "a thing"],
    ["Floor lamp", "Rug", "Rug", ""],
    [{"colour": "light green"}, {"colour": "red,white"}, {}, {"colour": "red"}],
)


class Letters:
    """An encoder whose vectors tell the length of a text, to see what was encoded."""

    name = "letters"
    dimensions = 2

    def encode_items(self, texts: list[str]) -> np.ndarray:
        return self.encode(texts)

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[len(text), 1.0] for text in texts], np.float32)


def found(rows: list[int], origin: tuple[Origin, ...]) -> Candidates:
    n = len(rows)
    return Candidates(
        rows=np.array(rows),
        text_ranks=np.arange(1, n + 1),
        mm_ranks=np.arange(n, 0, -1),
        text_scores=np.full(n, 0.5, np.float32),
        mm_scores=np.full(n, 0.25, np.float32),
        origin=origin,
    )


def asked(query: str = "", profile: PreferenceProfile | None = None) -> Asked:
    parts = np.array([[1, 0], [0, 0], [0, 1]], np.float32)
    return Asked(
        query, VECTORS[0], (0.25, 0.5), profile or PreferenceProfile(), parts,
        np.array([0, 1], np.int64),
    )  # fmt: skip


def feature(name: str, candidates: Candidates, request: Asked) -> list[float]:
    column = candidate_features(candidates, request, FACTS, 0.75)[:, FEATURES.index(name)]
    return [pytest.approx(value, abs=1e-6) for value in column]  # type: ignore[misc]


def test_scores_are_in_deviations_and_ranks_as_retrieval_gave_them() -> None:
    candidates = found([0, 1], ("both", "both"))
    assert feature("text_score", candidates, asked()) == [2.0, 2.0]
    assert feature("mm_score", candidates, asked()) == [0.5, 0.5]
    assert feature("fused_score", candidates, asked()) == [0.75 * 2.0 + 0.25 * 0.5] * 2
    assert feature("log_text_rank", candidates, asked()) == [0.0, np.log(2)]
    assert feature("log_mm_rank", candidates, asked()) == [np.log(2), 0.0]
    assert feature("log_best_rank", candidates, asked()) == [0.0, 0.0]


def test_ranks_beyond_two_hundred_count_alike() -> None:
    near, far = (
        replace(found([0], ("collaborative",)), text_ranks=np.array([rank]))
        for rank in (200, 2000)
    )
    assert feature("log_text_rank", far, asked()) == [np.log(200)]
    assert feature("log_text_rank", near, asked()) == [np.log(200)]


def test_similarity_to_liked_items_is_the_best_and_the_mean() -> None:
    candidates = found([2], ("both",))  # similar .6 to item 0 and .8 to item 1
    assert feature("liked_max", candidates, asked()) == [0.8]
    assert feature("liked_mean", candidates, asked()) == [0.7]


def test_similarity_to_the_parts_of_the_profile_is_zero_where_a_part_is_empty() -> None:
    candidates = found([2], ("both",))
    assert feature("strong_pref", candidates, asked()) == [0.6]
    assert feature("nice_to_have", candidates, asked()) == [0.0]
    assert feature("dislike", candidates, asked()) == [0.8]


def test_words_of_the_query_match_category_and_looks() -> None:
    candidates, request = found([0, 1], ("both", "both")), asked("A GREEN lamp, or white?")
    assert feature("asked_category", candidates, request) == [1 / 2, 0.0]
    assert feature("asked_looks", candidates, request) == [1 / 2, 1 / 2]


def test_rare_words_of_the_query_weigh_more_in_listing_and_looks() -> None:
    # "lamp" is in one of four listings, "green" and "dimmable" in none; "the" does not count.
    rare, rarer = np.log(5 / 1.5), np.log(5 / 0.5)
    request, whole = asked("the green lamps, dimmable"), rare + 2 * rarer
    candidates = found([0, 1], ("both", "both"))
    assert feature("said_listing", candidates, request) == [rare / whole, 0.0]
    assert feature("said_looks", candidates, request) == [rarer / whole, 0.0]
    assert feature("said_listing", candidates, asked("the of a")) == [0.0, 0.0]


def test_features_that_read_theta_turn_round_with_alpha() -> None:
    table = np.arange(2.0 * len(FEATURES)).reshape(2, -1)
    for alpha, sign in ((0.0, -1.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0)):
        read = with_theta(table, alpha)
        assert np.array_equal(read[:, : len(FEATURES)], table)
        wanted = table[:, [FEATURES.index(name) for name in READ]] * sign
        assert np.array_equal(read[:, len(FEATURES) :], wanted)


def test_wishes_and_dislikes_of_the_profile_match_category_and_looks() -> None:
    request = asked(profile=PreferenceProfile(("rug",), ("white",), ("red", "floor lamp")))
    candidates = found([0, 1, 3], ("both", "multimodal", "both"))
    assert feature("wished_category", candidates, request) == [-1.0, 1.0, 0.0]
    assert feature("wished_looks", candidates, request) == [0.0, 1 / 2 - 1 / 2, -1.0]


def test_a_candidate_found_by_text_alone_loses_its_looks_and_nothing_else() -> None:
    request = asked("red rug", PreferenceProfile(("red",), (), ()))
    kept = candidate_features(found([1], ("both",)), request, FACTS, 0.5)[0]
    filtered = candidate_features(found([1], ("text",)), request, FACTS, 0.5)[0]
    changed = {FEATURES[i] for i in np.flatnonzero(kept != filtered)}
    assert changed == {"wished_looks", "asked_looks", "said_looks"}
    assert filtered[FEATURES.index("asked_looks")] == 0.0


def test_what_only_neighbours_brought_is_marked_and_keeps_its_looks() -> None:
    candidates, request = found([1], ("collaborative",)), asked("red rug")
    assert feature("collaborative", candidates, request) == [1.0]
    assert feature("asked_looks", candidates, request) == [1 / 2]


def test_parts_are_encoded_in_one_batch_and_empty_ones_stay_zero() -> None:
    profiles = [PreferenceProfile(("ab", "c"), (), ("d",)), PreferenceProfile()]
    vectors = encode_parts(Letters(), profiles)  # type: ignore[arg-type]
    assert vectors.tolist() == [[[5, 1], [0, 0], [1, 1]], [[0, 0], [0, 0], [0, 0]]]


def test_the_latest_label_of_an_item_counts() -> None:
    history = [Interaction("a", True, 0), Interaction("b", True, 1), Interaction("a", False, 2)]
    assert liked_items(history, {"a": 0, "b": 1}).tolist() == [1]
