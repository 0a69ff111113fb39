"""The common space: how texts, items and queries are placed, and the query side's file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.encoders.query_adapter import (
    FLOOR,
    RIDGE,
    AlignedPhotoEncoder,
    QueryAdapter,
    WhitenedSpace,
    fuse_items,
    unit,
)
from adamroute.errors import ArtifactError

Array = NDArray[np.float32]
SIZE, ITEMS, QUERIES = 6, 400, 7


def rows(rng: np.random.Generator, count: int) -> Array:
    """Unit vectors around a common mean, wider along the first axes."""
    spread = 0.4 / np.arange(1, SIZE + 1)
    return unit(1.0 + spread * rng.normal(size=(count, SIZE)))


def made(rng: np.random.Generator) -> tuple[WhitenedSpace, Array, QueryAdapter]:
    space = WhitenedSpace.fit(rows(rng, ITEMS))
    items = space.place(rows(rng, ITEMS))
    return space, items, QueryAdapter.fit(space, rows(rng, ITEMS), items)


def test_placing_takes_off_the_mean_and_flattens_a_little() -> None:
    vectors = np.array([[1, 0], [-1, 0], [0, 0.1], [0, -0.1]], dtype=np.float32) + 3
    space = WhitenedSpace.fit(vectors)
    assert space.mean.tolist() == [3.0, 3.0]
    wanted = [(0.5 + FLOOR) ** -0.1, (0.005 + FLOOR) ** -0.1]  # variances of the two axes
    np.testing.assert_allclose(np.diag(space.flatten), wanted, rtol=1e-5)
    assert space.flatten[0, 1] == pytest.approx(0.0, abs=1e-6)
    placed = space.place(np.array([[4, 4]], dtype=np.float32))
    assert placed[0, 1] / placed[0, 0] == pytest.approx(wanted[1] / wanted[0], rel=1e-5)


def test_what_sits_at_the_mean_is_placed_at_zero() -> None:
    space, _, _ = made(np.random.default_rng(0))
    assert not space.place(space.mean[None]).any()


def test_an_item_is_the_weighted_sum_of_its_parts() -> None:
    parts = np.eye(3, dtype=np.float32)
    item = fuse_items(parts[:1], parts[1:2], parts[2:], 0.2, 0.3)
    np.testing.assert_allclose(item, unit(np.array([[0.2, 0.3, 0.5]])), atol=1e-6)


def test_an_item_without_a_photo_counts_by_its_words() -> None:
    parts = np.eye(2, dtype=np.float32)
    item = fuse_items(parts[:1], parts[1:], np.zeros((1, 2), np.float32), 0.2, 0.2)
    np.testing.assert_allclose(item, unit(np.array([[1.0, 1.0]])), atol=1e-6)


def test_with_few_written_queries_a_query_is_only_placed() -> None:
    rng = np.random.default_rng(1)
    space, items, _ = made(rng)
    asked, queries = rows(rng, 1), rows(rng, QUERIES)
    side = QueryAdapter.fit(space, asked, items[:1])
    vectors = AlignedPhotoEncoder(side).encode_queries(["q"] * QUERIES, queries)
    # One row against a ridge of 30 moves a query by at most |item - asked| / (1 + 30).
    assert np.abs(vectors - space.place(queries)).max() < 2 * 2 / (1 + RIDGE)


def test_the_ridge_is_what_no_correction_counts_as() -> None:
    # One placed query (1, 0) that asks for an item at (0, 1), with a ridge of r: the correction is
    # (1 / (1 + r)) (1, 0)^T ((0, 1) - (1, 0)), so (1, 0) becomes (1 - c, c) with c = 1 / (1 + r).
    space = WhitenedSpace(np.zeros(2, np.float32), np.eye(2, dtype=np.float32))
    asked, item = np.eye(2, dtype=np.float32)[:1], np.eye(2, dtype=np.float32)[1:]
    for ridge in (1.0, 3.0, RIDGE):
        side = QueryAdapter.fit(space, asked, item, ridge)
        c = 1 / (1 + ridge)
        np.testing.assert_allclose(side.weights @ asked[0], [1 - c, c], atol=1e-6)
        np.testing.assert_allclose(side.weights @ item[0], [0, 1], atol=1e-6)  # never asked
    default = QueryAdapter.fit(space, asked, item)
    assert (
        default.weights.tobytes() == QueryAdapter.fit(space, asked, item, RIDGE).weights.tobytes()
    )


def test_many_written_queries_teach_how_one_asks() -> None:
    """Queries turned by a fixed rotation are turned back."""
    rng = np.random.default_rng(2)
    space, _, _ = made(rng)
    turn = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
    asked = rows(rng, 5000)
    items = unit(space.place(asked) @ turn)
    side = QueryAdapter.fit(space, asked, items)
    fresh = rows(rng, 200)
    found = AlignedPhotoEncoder(side).encode_queries(["q"] * 200, fresh)
    wanted = space.place(fresh) @ turn
    assert np.sum(found * wanted, axis=1).mean() > 0.99
    assert np.sum(space.place(fresh) * wanted, axis=1).mean() < 0.7


def test_query_vectors_are_float32_of_unit_length_and_do_not_depend_on_the_batch() -> None:
    rng = np.random.default_rng(3)
    _, _, side = made(rng)
    queries = rows(rng, QUERIES)
    encoder = AlignedPhotoEncoder(side)
    vectors = encoder.encode_queries(["q"] * QUERIES, queries)
    assert vectors.shape == (QUERIES, encoder.dimensions) == (QUERIES, SIZE)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    alone = np.vstack([encoder.encode_queries(["q"], queries[i : i + 1]) for i in range(QUERIES)])
    assert alone.tobytes() == vectors.tobytes()
    assert encoder.encode_queries([], queries[:0]).shape == (0, SIZE)


def test_the_query_side_survives_its_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    _, _, side = made(rng)
    side.save(tmp_path / "side.npz")
    again = QueryAdapter.load(tmp_path / "side.npz")
    assert again.mean.tobytes() == side.mean.tobytes()
    assert again.weights.tobytes() == side.weights.tobytes()


def test_a_damaged_or_missing_file_names_itself_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "side.npz"
    with pytest.raises(ArtifactError, match=r"side\.npz.*adamroute build"):
        QueryAdapter.load(path)
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ArtifactError, match=r"side\.npz.*adamroute build"):
        QueryAdapter.load(path)


def test_text_vectors_of_another_encoder_are_refused() -> None:
    _, _, side = made(np.random.default_rng(5))
    with pytest.raises(ArtifactError, match="wanted 6 dimensions"):
        AlignedPhotoEncoder(side).encode_queries(["q"], np.ones((1, 5), dtype=np.float32))
