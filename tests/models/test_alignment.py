"""The contrastive heads: what they are shown, that they learn it, and that they repeat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.config import AlignConfig
from adamroute.models.alignment import Heads, fit_heads, standardised, text_views
from adamroute.models.photos import DIMENSIONS, NETWORK_DIMENSIONS
from adamroute.progress import SILENT
from adamroute.shop.catalogue import Item

Array = NDArray[np.float32]
SMALL = AlignConfig(seeds=2, epochs=30, hidden=32, dimensions=8)


def item(title: str, text: str, visual: dict[str, str], category: str) -> Item:
    return Item("1", title, text, visual, category, None)


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


def world(rng: np.random.Generator, items: int = 240) -> tuple[Array, Array]:
    """Photos of eight looks, noisy, and two texts each that name the look."""
    look = rng.integers(0, 8, items)
    centres = rng.normal(size=(8, DIMENSIONS))
    features = centres[look] + rng.normal(size=(items, DIMENSIONS))
    features[:, NETWORK_DIMENSIONS:] = np.abs(features[:, NETWORK_DIMENSIONS:])
    words = rng.normal(size=(8, 24))
    views = words[look][:, None] + 0.1 * rng.normal(size=(items, 2, 24))
    views /= np.linalg.norm(views, axis=2, keepdims=True)
    return features.astype(np.float32), views.astype(np.float32)


def fitted(features: Array, views: Array, seed: int = 0) -> Heads:
    return fit_heads(features, views, SMALL, seed=seed, threads=1, progress=SILENT)


def head_scores(heads: Heads, queries: Array, seed: int, width: int) -> Array:
    query = queries @ heads.text_weights[seed].T + heads.text_bias[seed]
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    photos = heads.photo_vectors[:, seed * width : (seed + 1) * width]
    return np.asarray(query @ photos.T, dtype=np.float32)


def test_a_text_finds_photos_of_its_own_look() -> None:
    features, views = world(np.random.default_rng(0))
    heads = fitted(features, views)
    assert heads.photo_vectors.shape == (240, 16)
    assert heads.text_weights.shape == (2, 8, 24)
    truth = views[:, 0] @ views[:, 0].T > 0.8  # same look
    for seed in range(2):
        best = head_scores(heads, views[:, 0], seed, 8).argmax(axis=1)
        assert truth[np.arange(240), best].mean() > 0.95  # chance is one in eight
        parts = heads.photo_vectors[:, seed * 8 : (seed + 1) * 8]
        np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1.0, atol=1e-5)


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_global_generator_alone() -> None:
    import torch

    features, views = world(np.random.default_rng(1), items=40)
    torch.manual_seed(5)
    untouched = torch.rand(1)
    torch.manual_seed(5)
    first = fitted(features, views)
    assert torch.rand(1) == untouched
    second, other = fitted(features, views), fitted(features, views, seed=1)
    assert first.photo_vectors.tobytes() == second.photo_vectors.tobytes()
    assert first.text_weights.tobytes() == second.text_weights.tobytes()
    # Seeds count on from the given one: seed 1 is the second of (0, 1) and the first of (1, 2).
    assert first.text_weights[1].tobytes() == other.text_weights[0].tobytes()


def test_items_without_a_photo_are_left_out_and_stay_nan() -> None:
    features, views = world(np.random.default_rng(2), items=40)
    gaps = features.copy()
    gaps[[3, 17]] = np.nan
    heads = fitted(gaps, views)
    assert np.flatnonzero(np.isnan(heads.photo_vectors).any(axis=1)).tolist() == [3, 17]
    without = fitted(np.delete(features, [3, 17], axis=0), np.delete(views, [3, 17], axis=0))
    assert heads.text_weights.tobytes() == without.text_weights.tobytes()


@pytest.mark.parametrize("items", [1, 3])
def test_the_smallest_shops_can_be_fitted(items: int) -> None:
    features, views = world(np.random.default_rng(3), items=items)
    assert np.isfinite(fitted(features, views).photo_vectors).all()


def test_a_shop_without_photos_gives_nan_photos_and_empty_text_heads() -> None:
    _, views = world(np.random.default_rng(4), items=5)
    heads = fitted(np.full((5, DIMENSIONS), np.nan, dtype=np.float32), views)
    assert np.isnan(heads.photo_vectors).all()
    assert not heads.text_weights.any()


def test_features_are_standardised_and_clipped() -> None:
    features = np.zeros((100, DIMENSIONS), dtype=np.float32)
    features[:, 0] = np.arange(100)
    features[0, 1] = 1e6  # an outlier of (1 - .01) / sqrt(.01 * .99) = 9.9 deviations
    features[:50, NETWORK_DIMENSIONS] = 0.25  # square roots .5 and 0: 1 and -1 after scaling
    scaled = standardised(features)
    assert scaled[:, 0].mean() == pytest.approx(0.0, abs=1e-5)
    assert scaled[:, 0].std() == pytest.approx(1.0, abs=1e-5)
    assert scaled[0, 1] == 8.0
    assert scaled[[0, 99], NETWORK_DIMENSIONS].tolist() == pytest.approx([1.0, -1.0])
    assert not scaled[:, 5].any()  # constant: no information, no noise
