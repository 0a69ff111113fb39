"""The text branch's adapter: what it is made of, what it learns, when it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.catalogue.shop import Item
from adamroute.encoders.query_adapter import unit
from adamroute.indexing.text_branch import (
    WITHIN,
    TextBranch,
    TextMaterial,
    adapter_gain,
    gather_texts,
)
from adamroute.progress import SILENT
from tests.distill.market import BagOfWords

Array = NDArray[np.float32]
SIZE, COUNT = 6, 240
FOLD = np.arange(COUNT) % 3


def listings(rng: np.random.Generator) -> Array:
    return unit(rng.normal(size=(COUNT, SIZE)))


def plain(vectors: Array) -> TextMaterial:
    """Requests by use are the listings themselves, and so is what is left without the claim."""
    return TextMaterial(vectors, vectors, np.stack([vectors, vectors], axis=1), vectors, COUNT)


def turned(rng: np.random.Generator) -> TextMaterial:
    """Requests, those by the claim too, are the listings turned by a fixed rotation."""
    vectors = listings(rng)
    asked = np.asarray(vectors @ np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0], np.float32)
    return replace(plain(vectors), functional=np.stack([asked, asked], axis=1), claims=asked)


def test_an_adapter_that_turns_requests_back_is_kept() -> None:
    gain = adapter_gain(turned(np.random.default_rng(0)), FOLD)
    plain_hits, adapted = gain["plain"], gain["adapted"]
    assert isinstance(plain_hits, float)
    assert isinstance(adapted, float)
    assert adapted > 0.9
    assert plain_hits < 0.5
    assert gain["kept"] is True


def test_an_adapter_that_gains_nothing_is_not_kept() -> None:
    # Every request is its listing: found first as it is, so no adapter can do better.
    gain = adapter_gain(plain(listings(np.random.default_rng(1))), FOLD)
    assert gain["plain"] == 1.0
    assert gain["kept"] is False


def test_an_adapter_that_learned_the_wrong_way_of_asking_is_not_kept() -> None:
    material = turned(np.random.default_rng(2))
    gain = adapter_gain(replace(material, claims=material.listings), FOLD)  # nobody asks like that
    assert gain["plain"] == 1.0
    assert gain["kept"] is False


def test_items_are_looked_for_without_the_claim_that_is_asked_for() -> None:
    vectors = listings(np.random.default_rng(3))
    gain = adapter_gain(replace(plain(vectors), unstated=-vectors), FOLD)
    # Each scores -1 for its own request and so comes last of 240, though its listing is just that.
    assert gain == {"plain": 0.0, "adapted": 0.0, "kept": False}


def test_the_share_counts_ranks_within_the_first_twenty() -> None:
    # One request at (1, 0) for all. Items 0 to 23 score 1.0, .99, ... .77, the others less.
    scores = np.concatenate([1.0 - np.arange(24) / 100, np.full(36, -1.0)])
    vectors = np.stack([scores, np.sqrt(1.0 - scores**2)], axis=1).astype(np.float32)
    asked = np.tile(np.array([1, 0], np.float32), (60, 1))
    material = replace(plain(vectors), claims=asked, functional=np.stack([asked, asked], axis=1))
    assert WITHIN == 20
    assert adapter_gain(material, np.arange(60) % 3)["plain"] == round(20 / 60, 4)


def test_a_shop_of_one_fold_goes_without() -> None:
    gain = adapter_gain(turned(np.random.default_rng(4)), np.zeros(COUNT, np.int64))
    assert gain == {"plain": 0.0, "adapted": 0.0, "kept": False}


def test_items_and_requests_are_placed_by_parts_that_never_saw_them() -> None:
    """What is fitted without a fold is the same whatever that fold holds."""
    rng = np.random.default_rng(5)
    material, seen = turned(rng), FOLD != 1
    other = replace(material, listings=np.where(seen[:, None], material.listings, listings(rng)))
    one, two = (TextBranch.fit(m.only(seen)) for m in (material, other))
    assert one.side.weights.tobytes() == two.side.weights.tobytes()
    assert one.space.flatten.tobytes() == two.space.flatten.tobytes()
    assert len(material.only(seen).functional) == 160


def test_both_requests_of_an_item_ask_for_that_item() -> None:
    rng = np.random.default_rng(6)
    vectors = listings(rng)
    first, second = (
        np.asarray(vectors @ np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0], np.float32)
        for _ in range(2)
    )
    for asked in (first, second):
        once = TextBranch.fit(replace(plain(vectors), functional=np.stack([asked, asked], axis=1)))
        found = once.side.place(asked) @ once.space.place(vectors).T
        assert (np.argmax(found, axis=1) == np.arange(COUNT)).mean() > 0.9


def shop() -> list[Item]:
    return [
        Item("a", "NORDLI lamp", "NORDLI lamp. Folds flat. Dims softly", {}, "lamp", None),
        Item("b", "PALM", "Keeps dry", {}, "", None),
        Item("c", "KURA bed", "KURA bed", {"colour": "red"}, "bed", None),
    ]


def gathered(folder: Path, encoder: BagOfWords) -> TextMaterial:
    claims: Sequence[tuple[str, ...] | None] = [("folds", "flat"), ("keeps", "dry"), None]
    return gather_texts(shop(), claims, encoder, folder, SILENT)


def test_material_is_the_listings_with_and_without_the_claim_and_requests_for_both(
    tmp_path: Path,
) -> None:
    encoder = BagOfWords()
    found = gathered(tmp_path, encoder)
    whole = ["NORDLI lamp. Folds flat. Dims softly", "Keeps dry", "KURA bed"]
    kept = ["NORDLI lamp. Dims softly", "PALM", "KURA bed"]  # b says nothing else: its title
    said = ["folds flat", "keeps dry", "bed"]  # c claims nothing: its category
    for vectors, texts in (
        (found.listings, whole), (found.unstated, kept), (found.claims, said)
    ):  # fmt: skip
        assert vectors.tolist() == encoder.encode(texts).tolist()
    assert found.functional.shape == (3, 2, 256)
    bed = encoder.encode(["bed"])[0]
    assert (found.functional[2] @ bed).min() > 0.3  # both ask for the third item


def test_what_is_in_the_cache_is_not_encoded_again(tmp_path: Path) -> None:
    first = gathered(tmp_path, BagOfWords())
    assert first.new_listings == 5  # three, and two without their claim
    encoder = BagOfWords()
    again = gathered(tmp_path, encoder)
    assert (again.new_listings, encoder.seen) == (0, [])
    for name in ("listings", "unstated", "functional", "claims"):
        assert getattr(again, name).tobytes() == getattr(first, name).tobytes()


@pytest.mark.parametrize("rows", [[0, 2], []])
def test_some_items_of_the_material_are_taken_from_all_its_parts(rows: list[int]) -> None:
    vectors = np.eye(3, dtype=np.float32)
    material = plain(vectors)
    kept = np.isin(np.arange(3), rows)
    some = material.only(kept)
    for part in (some.listings, some.unstated, some.claims, some.functional[:, 1]):
        assert part.tolist() == vectors[rows].tolist()
