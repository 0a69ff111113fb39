"""How items are dealt to folds, and which claim stands beside each."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.item_words import ItemWords
from adamroute.indexing.cross_fitting import deal, kept_claims
from adamroute.retrieval.cross_fit import FOLDS

NO_PHOTOS: list[str | None] = [None] * 60
DIFFERENT = [f"item {n}" for n in range(60)]


def together(folds: Sequence[int], *rows: int) -> bool:
    return len({folds[row] for row in rows}) == 1


def test_items_of_the_same_listing_are_dealt_together() -> None:
    texts = [*DIFFERENT[:50], *["a rug", " A RUG ", "a Rug"] * 3, "a rug"]
    for seed in range(5):
        assert together(deal(texts, NO_PHOTOS, seed).tolist(), *range(50, 60))


def test_items_of_the_same_photo_are_dealt_together() -> None:
    photos = [*NO_PHOTOS[:50], *["p"] * 5, *["q"] * 5]
    dealt = [deal(DIFFERENT, photos, seed).tolist() for seed in range(9)]
    assert all(together(folds, *range(50, 55)) for folds in dealt)
    assert all(together(folds, *range(55, 60)) for folds in dealt)
    assert not all(together(folds, 50, 55) for folds in dealt)


def test_chains_of_shared_listings_and_photos_are_dealt_together() -> None:
    # 0 and 7 share a listing, 7 and 30 a photo, 30 and 59 a listing: all four in one fold.
    texts, photos = list(DIFFERENT), [*NO_PHOTOS]
    texts[0], texts[7], texts[30], texts[59] = "a rug", "a rug", "a lamp", "a lamp"
    photos[7], photos[30], photos[59] = "p", "p", "other"
    for seed in range(9):
        assert together(deal(texts, photos, seed).tolist(), 0, 7, 30, 59)


def test_what_is_not_there_links_nothing_and_a_photo_is_no_listing() -> None:
    texts = ["", " ", "", "p", *DIFFERENT[:56]]
    photos = [None, None, "p", None, *NO_PHOTOS[:56]]
    dealt = [deal(texts, photos, seed).tolist() for seed in range(9)]
    for pair in ((0, 1), (0, 2), (2, 3)):
        assert not all(together(folds, *pair) for folds in dealt)


def test_fewer_different_items_than_folds_make_one_fold() -> None:
    assert deal(["a", "a", "b"], [None] * 3, 0).tolist() == [0, 0, 0]
    assert deal(["a"], ["p"], 0).tolist() == [0]
    assert deal(["a", "b", "c", "d"], ["p", None, "p", "p"], 0).tolist() == [0] * 4
    assert sorted(deal(["a", "b", "c"], [None] * 3, 0).tolist()) == [0, 1, 2]


def test_the_seed_alone_decides_who_is_dealt_where() -> None:
    first = deal(DIFFERENT, NO_PHOTOS, 0)
    assert first.tolist() == deal(DIFFERENT, NO_PHOTOS, 0).tolist()
    assert first.tolist() != deal(DIFFERENT, NO_PHOTOS, 1).tolist()
    assert np.bincount(first).tolist() == [20, 20, 20]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), min_size=1, max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_every_fold_is_within_one_group_of_even(items: list[tuple[int, int]], seed: int) -> None:
    texts = [f"text {text}" if text else "" for text, _ in items]
    photos = [f"photo {photo}" if photo else None for _, photo in items]
    folds = deal(texts, photos, seed).tolist()
    groups = linked(items)
    dealt = [{folds[row] for row in group} for group in groups]
    assert all(len(found) == 1 for found in dealt)
    sizes = np.bincount([found.pop() for found in dealt])
    assert len(sizes) == (FOLDS if len(groups) >= FOLDS else 1)
    assert sizes.max() - sizes.min() <= 1


def linked(items: Sequence[tuple[int, int]]) -> list[set[int]]:
    """Groups of rows that share a text or a photo, 0 being none, merged one row at a time."""
    groups: list[set[int]] = []
    for row, (text, photo) in enumerate(items):
        near = [
            group
            for group in groups
            if any((text and items[r][0] == text) or (photo and items[r][1] == photo)
                   for r in group)
        ]  # fmt: skip
        groups = [group for group in groups if group not in near] + [{row}.union(*near)]
    return groups


def with_claims(*claims: tuple[str, ...]) -> ItemWords:
    return ItemWords("lamp", "lamp", (), claims)


FOLDS_FLAT, STAYS_DRY, CLIPS_ON = ("folds", "flat"), ("stays", "dry"), ("clips", "on")


def test_each_item_keeps_one_of_its_claims_and_none_where_it_claims_nothing() -> None:
    words = [with_claims(FOLDS_FLAT, STAYS_DRY, CLIPS_ON), with_claims(), with_claims(STAYS_DRY)]
    kept = kept_claims(["a", "b", "c"], words)
    assert kept[0] in words[0].claims
    assert kept[1:] == [None, STAYS_DRY]


def test_a_claim_is_drawn_by_the_items_id_wherever_the_item_stands() -> None:
    words = [with_claims(FOLDS_FLAT, STAYS_DRY, CLIPS_ON)] * 90
    ids = [f"i{n}" for n in range(90)]
    kept = kept_claims(ids, words)
    assert kept_claims(ids[::-1], words) == kept[::-1]
    assert min(kept.count(claim) for claim in words[0].claims) > 15  # a third each, that is 30
