"""The photo networks: that they learn what texts say of photos, generalise, and repeat."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from adamroute.config import AlignConfig
from adamroute.encoders.projection_fit import fit_alignment
from adamroute.encoders.projection_head import Alignment
from adamroute.progress import SILENT

Array = NDArray[np.float32]
SMALL = AlignConfig(seeds=2, epochs=30, hidden=32, dimensions=16)
FEATURES, SIZE = 60, 24


def world(rng: np.random.Generator, items: int = 240) -> tuple[Array, Array]:
    """Photos of eight looks, noisy, and two texts each that name the look."""
    look = rng.integers(0, 8, items)
    features = rng.normal(size=(8, FEATURES))[look] + rng.normal(size=(items, FEATURES))
    words = rng.normal(size=(8, SIZE))
    views = words[look][:, None] + 0.1 * rng.normal(size=(items, 2, SIZE))
    views /= np.linalg.norm(views, axis=2, keepdims=True)
    return features.astype(np.float32), views.astype(np.float32)


def fitted(features: Array, views: Array, seed: int = 0, config: AlignConfig = SMALL) -> Alignment:
    return fit_alignment(
        features,
        views,
        config,
        text_encoder="t",
        photo_features="p",
        seed=seed,
        progress=SILENT,
    )


def test_weights_that_leave_nothing_for_the_photo_and_more_are_refused() -> None:
    AlignConfig(text_weight=0.5, look_weight=0.5)
    with pytest.raises(ValidationError, match="wanted at most 1 together"):
        AlignConfig(text_weight=0.7, look_weight=0.4)


def same_look(views: Array) -> NDArray[np.bool_]:
    return np.asarray(views[:, 0] @ views[:, 0].T > 0.8)


def test_a_text_finds_photos_of_its_own_look_among_items_never_seen() -> None:
    features, views = world(np.random.default_rng(0), items=360)
    alignment = fitted(features[:240], views[:240])
    for part in (slice(0, 240), slice(240, 360)):
        photos = alignment.head.place(features[part])
        best = (alignment.space.place(views[part, 0]) @ photos.T).argmax(axis=1)
        right = same_look(views[part])[np.arange(len(best)), best]
        assert right.mean() > 0.9  # chance is one in eight
        np.testing.assert_allclose(np.linalg.norm(photos, axis=1), 1.0, atol=1e-5)


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_global_generator_alone() -> None:
    import torch

    features, views = world(np.random.default_rng(1), items=40)
    torch.manual_seed(5)
    untouched = torch.rand(1)
    torch.manual_seed(5)
    first = fitted(features, views)
    assert torch.rand(1) == untouched
    second, other = fitted(features, views), fitted(features, views, seed=1)
    assert first.head.place(features).tobytes() == second.head.place(features).tobytes()
    assert first.head.hidden.shape == (2, 32, 16)
    assert first.head.hidden[0].tobytes() != first.head.hidden[1].tobytes()
    assert first.head.hidden.tobytes() != other.head.hidden.tobytes()


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_five_items_make_few_steps_and_a_network_all_the_same(epochs: int) -> None:
    features, views = world(np.random.default_rng(2), items=5)
    config = SMALL.model_copy(update={"epochs": epochs, "dimensions": 2})
    assert np.isfinite(fitted(features, views, config=config).head.place(features)).all()


def test_items_without_a_photo_are_left_out_and_placed_at_zero() -> None:
    features, views = world(np.random.default_rng(2), items=40)
    gaps = features.copy()
    gaps[[3, 17]] = np.nan
    alignment = fitted(gaps, views)
    placed = alignment.head.place(gaps)
    assert np.flatnonzero(~placed.any(axis=1)).tolist() == [3, 17]
    assert alignment.head.mean == pytest.approx(np.nanmean(gaps, axis=0), abs=1e-5)


@pytest.mark.parametrize("items", [1, 3])
def test_the_smallest_shops_can_be_fitted(items: int) -> None:
    features, views = world(np.random.default_rng(3), items=items)
    alignment = fitted(features, views)
    assert np.isfinite(alignment.head.place(features)).all()
    assert np.isfinite(alignment.space.place(views)).all()


def test_a_shop_without_photos_gets_a_head_that_sees_nothing() -> None:
    features, views = world(np.random.default_rng(4), items=5)
    alignment = fitted(np.full_like(features, np.nan), views)
    assert not alignment.head.place(features).any()


def test_components_are_turned_and_keep_what_photos_differ_in() -> None:
    features, views = world(np.random.default_rng(5))
    head = fitted(features, views).head
    values = (features - head.mean) / head.scale
    components = values @ head.basis
    assert components.shape == (240, 16)
    assert components.std() == pytest.approx(1.0, abs=1e-3)
    # No worse than the exact ones: they hold most of the variance that any 16 directions can hold.
    axes = head.basis / np.linalg.norm(head.basis, axis=0)
    exact = np.linalg.svd(values, full_matrices=False)[1][:16]
    kept = np.square(values @ axes).sum()
    assert 0.95 < kept / np.square(exact).sum() <= 1.0 + 1e-5
    # Turned: no direction holds what the first principal one would.
    assert np.square(values @ axes).sum(axis=0).max() < 0.8 * np.square(exact[0])
