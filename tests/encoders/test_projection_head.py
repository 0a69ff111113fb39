"""A fitted alignment as a file: it embeds photos it never saw, and is refused where it can't."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adamroute.encoders.projection_head import Alignment, ProjectionHead
from adamroute.encoders.query_adapter import WhitenedSpace
from adamroute.errors import ArtifactError

PHOTO, PARTS, HIDDEN, SIZE, SEEDS = 9, 5, 4, 6, 3


def made() -> Alignment:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return rng.normal(size=shape).astype(np.float32)

    head = ProjectionHead(
        draw(PHOTO),
        np.exp(draw(PHOTO)),
        draw(PHOTO, PARTS),
        draw(SEEDS, HIDDEN, PARTS),
        draw(SEEDS, HIDDEN),
        draw(SEEDS, SIZE, HIDDEN),
        draw(SEEDS, SIZE),
    )
    return Alignment(WhitenedSpace.fit(draw(20, SIZE)), head, "minilm", "lite0")


def test_a_photo_is_the_mean_of_what_the_networks_say() -> None:
    head = ProjectionHead(
        mean=np.array([1.0, 0.0], np.float32),
        scale=np.array([2.0, 1.0], np.float32),
        basis=np.eye(2, dtype=np.float32),
        hidden=np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.float32),
        hidden_bias=np.zeros((2, 2), np.float32),
        out=np.array([np.eye(2), np.eye(2)], np.float32),
        out_bias=np.array([[0, 0], [3, 0]], np.float32),
    )
    # (9 - 1) / 2 = 4 and -3: hidden (4, 0) and (0, 4); out (4, 0) and (3, 4), that is (1, 0) and
    # (.6, .8); their sum (1.6, .8) has length 1.78885.
    placed = head.place(np.array([[9.0, -3.0], [np.nan, 0.0]], np.float32))
    np.testing.assert_allclose(placed, [[0.894427, 0.447214], [0.0, 0.0]], atol=1e-5)


def test_features_far_outside_what_was_seen_are_cut_off() -> None:
    head = made().head
    far = head.mean + 8.0 * head.scale
    further = head.mean + 1e6 * head.scale
    np.testing.assert_allclose(head.place(further[None]), head.place(far[None]), atol=1e-6)


def test_an_alignment_survives_its_file(tmp_path: Path) -> None:
    alignment = made()
    alignment.save(tmp_path / "alignment.npz")
    again = Alignment.load(tmp_path / "alignment.npz")
    photos = np.random.default_rng(1).normal(size=(3, PHOTO)).astype(np.float32)
    texts = np.random.default_rng(2).normal(size=(3, SIZE)).astype(np.float32)
    assert again.head.place(photos).tobytes() == alignment.head.place(photos).tobytes()
    assert again.space.place(texts).tobytes() == alignment.space.place(texts).tobytes()
    assert (again.text_encoder, again.photo_features) == ("minilm", "lite0")


def test_a_damaged_missing_or_foreign_file_says_what_to_give(tmp_path: Path) -> None:
    path = tmp_path / "alignment.npz"
    with pytest.raises(ArtifactError, match=r"alignment\.npz.*encoders\.align\.artefact"):
        Alignment.load(path)
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ArtifactError, match=r"alignment\.npz.*encoders\.align\.artefact"):
        Alignment.load(path)
    np.savez(path, format=np.array(2))
    with pytest.raises(ArtifactError, match="format 2, wanted 1"):
        Alignment.load(path)


def test_an_alignment_of_other_encoders_is_refused() -> None:
    alignment = made()
    alignment.check(Path("a.npz"), "minilm", "lite0")
    with pytest.raises(ArtifactError, match="fitted on 'minilm', but this build uses 'qwen3'"):
        alignment.check(Path("a.npz"), "qwen3", "lite0")
    with pytest.raises(ArtifactError, match="fitted on 'lite0', but this build uses 'lite4'"):
        alignment.check(Path("a.npz"), "minilm", "lite4")
