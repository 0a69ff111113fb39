"""Named colours of a photo: the conversion, the object's outline and the shares."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.encoders.colours import (
    DIMENSIONS,
    NAMED,
    colour_features,
    lab,
    object_mask,
    regions,
)

NAMES = list(NAMED)
SIDE = 64


def white() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.full((SIDE, SIDE, 3), 255, dtype=np.uint8)


def test_lab_has_its_published_values() -> None:
    rgb = np.array([[255, 255, 255], [0, 0, 0], [255, 0, 0], [0, 0, 255]])
    wanted = [[100.0, 0.0, 0.0], [0.0, 0.0, 0.0], [53.24, 80.09, 67.20], [32.30, 79.19, -107.86]]
    np.testing.assert_allclose(lab(rgb), wanted, atol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_of_a_named_colour_is_called_by_its_name(name: str) -> None:
    pixels = white()
    pixels[16:48, 16:48] = NAMED[name]
    shares = np.square(colour_features(pixels)).reshape(4, -1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)
    assert [NAMES[best] for best in shares.argmax(axis=1)] == [name] * 4


def test_shares_follow_the_areas_and_the_halves() -> None:
    pixels = white()
    pixels[16:40, 16:48] = NAMED["teal"]  # 24 of 32 rows
    pixels[40:48, 16:48] = NAMED["orange"]
    whole, middle, upper, lower = np.square(colour_features(pixels)).reshape(4, -1)
    teal, orange = NAMES.index("teal"), NAMES.index("orange")
    lone = white()
    lone[16:48, 16:48] = NAMED["teal"]
    pure = np.square(colour_features(lone))[teal]  # a patch is dealt to its neighbours a little
    assert whole[teal] == pytest.approx(0.75 * pure, abs=0.01)
    assert middle[orange] < 0.01
    assert upper[orange] < 0.01
    assert lower[teal] == pytest.approx(0.5 * pure, abs=0.01)


def test_white_inside_an_object_belongs_to_it_and_outside_does_not() -> None:
    pixels = white()
    pixels[10:50, 20:44] = 0
    pixels[20:40, 28:36] = 255
    mask = object_mask(pixels)
    assert mask[10:50, 20:44].all()
    assert mask.sum() == 40 * 24


def test_a_white_photo_is_all_object_and_white() -> None:
    assert object_mask(white()).all()
    features = colour_features(white())
    assert features.shape == (DIMENSIONS,) == (144,)
    assert NAMES[features[:36].argmax()] == "white"


def test_a_part_without_a_pixel_is_the_whole_object() -> None:
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    mask[30, 5:60] = True  # one row: its upper half holds none; 13 columns off either end
    assert [int(part.sum()) for part in regions(mask)] == [55, 55 - 2 * 13, 55, 55]
