"""Photo features: what is read from a photo, and what happens without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from adamroute.models.photos import (
    DIMENSIONS,
    NETWORK_DIMENSIONS,
    SIDE,
    colour_histogram,
    photo_features,
    read_photo,
)
from adamroute.progress import SILENT


def drawn(path: Path, size: tuple[int, int], colour: str | tuple[int, ...]) -> Path:
    mode = "RGBA" if isinstance(colour, tuple) and len(colour) == 4 else "RGB"
    Image.new(mode, size, colour).save(path)
    return path


def test_the_histogram_counts_shares_of_pixels_that_are_not_white() -> None:
    pixels = np.full((SIDE, SIDE, 3), 255, dtype=np.uint8)
    pixels[0, 0] = (255, 0, 0)  # cell (3, 0, 0) = 48
    pixels[0, 1] = (250, 10, 60)  # the same cell: 250 // 64, 10 // 64, 60 // 64
    pixels[0, 2] = (0, 64, 128)  # cell (0, 1, 2) = 6
    pixels[0, 3] = (240, 241, 255)  # white
    histogram = colour_histogram(pixels)
    assert histogram.shape == (64,)
    assert histogram[48] == pytest.approx(2 / 3)
    assert histogram[6] == pytest.approx(1 / 3)
    assert histogram.sum() == pytest.approx(1.0)


def test_a_white_photo_has_an_empty_histogram() -> None:
    assert colour_histogram(np.full((SIDE, SIDE, 3), 255, dtype=np.uint8)).sum() == 0.0


def test_a_photo_is_fitted_into_a_white_square(tmp_path: Path) -> None:
    pixels = read_photo(drawn(tmp_path / "wide.png", (64, 32), "blue"))
    assert pixels is not None
    assert pixels.shape == (SIDE, SIDE, 3)
    assert pixels[SIDE // 2, SIDE // 2].tolist() == [0, 0, 255]
    assert pixels[0, 0].tolist() == pixels[-1, -1].tolist() == [255, 255, 255]
    assert (pixels == (0, 0, 255)).all(axis=2).any(axis=1).sum() == SIDE // 2  # rows of the photo


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = read_photo(drawn(tmp_path / "clear.png", (8, 8), (10, 200, 10, 0)))
    assert pixels is not None
    assert (pixels == 255).all()


def test_features_depend_on_the_photo_alone_and_missing_ones_are_nan(tmp_path: Path) -> None:
    red = drawn(tmp_path / "red.png", (32, 32), "red")
    blue = drawn(tmp_path / "blue.png", (300, 200), "blue")
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff not a photo")
    features = photo_features([red, None, blue, broken, red], 1, SILENT)
    assert features.shape == (5, DIMENSIONS)
    assert features.dtype == np.float32
    assert np.isnan(features).all(axis=1).tolist() == [False, True, False, True, False]
    assert features[0].tobytes() == features[4].tobytes()
    assert features[0, NETWORK_DIMENSIONS + 48] == 1.0  # pure red
    assert features[2, NETWORK_DIMENSIONS + 3] == 1.0  # pure blue
    assert photo_features([red], 1, SILENT)[0].tobytes() == features[0].tobytes()


def test_without_any_photo_the_network_is_not_even_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_threads: int) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr("adamroute.models.photos.load_network", refuse)
    assert np.isnan(photo_features([None, None], 1, SILENT)).all()
