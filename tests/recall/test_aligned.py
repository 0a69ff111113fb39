"""The multimodal query side: one inner product that equals the two-part score it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.errors import ArtifactError
from adamroute.recall.aligned import AlignedPhotoEncoder, QuerySide, covariance, fuse_items

Array = NDArray[np.float32]
SEEDS, TEXT, HEAD, ITEMS, QUERIES = 3, 6, 4, 50, 7


def unit(array: Array) -> Array:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), dtype=np.float32)


def made(rng: np.random.Generator, text_weight: float = 0.3) -> tuple[Array, QuerySide, Array]:
    """Item vectors, a query side fitted on them, and query text vectors."""
    text = unit(rng.normal(size=(ITEMS, TEXT)).astype(np.float32))
    photo = unit(rng.normal(size=(ITEMS, SEEDS, HEAD)).astype(np.float32)).reshape(ITEMS, -1)
    items = fuse_items(text, photo)
    side = QuerySide(
        weights=rng.normal(size=(SEEDS, HEAD, TEXT)).astype(np.float32),
        bias=rng.normal(size=(SEEDS, HEAD)).astype(np.float32),
        text_covariance=covariance(items[:, :TEXT]),
        photo_covariance=covariance(items[:, TEXT:]),
        text_weight=text_weight,
    )
    return items, side, unit(rng.normal(size=(QUERIES, TEXT)).astype(np.float32))


def standardised_over_items(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray((scores - scores.mean(1, keepdims=True)) / scores.std(1, keepdims=True))


def test_one_inner_product_is_the_weighted_sum_of_standardised_parts() -> None:
    items, side, queries = made(np.random.default_rng(0))
    text_scores = queries @ items[:, :TEXT].T
    photo_scores = np.zeros((QUERIES, ITEMS))
    for s in range(SEEDS):
        head = unit(queries @ side.weights[s].T + side.bias[s])
        block = items[:, TEXT + s * HEAD : TEXT + (s + 1) * HEAD]
        photo_scores += head @ block.T / SEEDS
    wanted = 0.3 * standardised_over_items(text_scores) + 0.7 * standardised_over_items(
        photo_scores
    )
    vectors = AlignedPhotoEncoder(side).encode_queries(["q"] * QUERIES, queries)
    found = vectors @ items.T
    # Equal up to one shift and one positive scale a query: the mean left out, the unit length.
    np.testing.assert_allclose(
        standardised_over_items(found), standardised_over_items(wanted), atol=1e-4
    )


def test_query_vectors_are_float32_of_unit_length_and_do_not_depend_on_the_batch() -> None:
    _, side, queries = made(np.random.default_rng(1))
    encoder = AlignedPhotoEncoder(side)
    vectors = encoder.encode_queries(["q"] * QUERIES, queries)
    assert vectors.shape == (QUERIES, encoder.dimensions) == (QUERIES, TEXT + SEEDS * HEAD)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    alone = np.vstack([encoder.encode_queries(["q"], queries[i : i + 1]) for i in range(QUERIES)])
    assert alone.tobytes() == vectors.tobytes()
    assert encoder.encode_queries([], queries[:0]).shape == (0, encoder.dimensions)


def test_an_item_without_a_photo_gets_the_mean_photo_score() -> None:
    text = np.zeros((3, 2), dtype=np.float32)
    photo = np.array([[1, 0], [0, 1], [np.nan, np.nan]], dtype=np.float32)
    items = fuse_items(text, photo)
    assert items[:, 2:].tolist() == [[1, 0], [0, 1], [0.5, 0.5]]


def test_a_shop_without_any_photo_is_ranked_by_text_alone() -> None:
    rng = np.random.default_rng(2)
    _, side, queries = made(rng)
    text = unit(rng.normal(size=(ITEMS, TEXT)).astype(np.float32))
    items = fuse_items(text, np.full((ITEMS, SEEDS * HEAD), np.nan, dtype=np.float32))
    blank = QuerySide(
        side.weights, side.bias, covariance(text), covariance(items[:, TEXT:]), text_weight=0.3
    )
    vectors = AlignedPhotoEncoder(blank).encode_queries(["q"] * QUERIES, queries)
    assert np.argsort(-(vectors @ items.T)).tolist() == np.argsort(-(queries @ text.T)).tolist()


def test_covariance_is_that_of_the_rows() -> None:
    vectors = np.array([[0, 0], [2, 4]], dtype=np.float32)  # deviations -1, 1 and -2, 2
    assert covariance(vectors).tolist() == [[1.0, 2.0], [2.0, 4.0]]


def test_the_query_side_survives_its_file(tmp_path: Path) -> None:
    _, side, queries = made(np.random.default_rng(3))
    side.save(tmp_path / "side.npz")
    again = QuerySide.load(tmp_path / "side.npz")
    texts = ["q"] * QUERIES
    assert (
        AlignedPhotoEncoder(again).encode_queries(texts, queries).tobytes()
        == AlignedPhotoEncoder(side).encode_queries(texts, queries).tobytes()
    )


def test_a_damaged_or_missing_file_names_itself_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "side.npz"
    with pytest.raises(ArtifactError, match=r"side\.npz.*adamroute build"):
        QuerySide.load(path)
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ArtifactError, match=r"side\.npz.*adamroute build"):
        QuerySide.load(path)


def test_text_vectors_of_another_encoder_are_refused() -> None:
    _, side, _ = made(np.random.default_rng(4))
    with pytest.raises(ArtifactError, match="wanted 6 dimensions"):
        AlignedPhotoEncoder(side).encode_queries(["q"], np.ones((1, 5), dtype=np.float32))
