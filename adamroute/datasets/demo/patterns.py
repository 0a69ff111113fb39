"""The cloth patterns of the demo shop as pixels, and what colours do to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RGB = tuple[int, int, int]

Grid = NDArray[np.float32]


def luminance(colour: RGB) -> float:
    """Perceived brightness, 0 to 255."""
    return 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2]


def weave(
    pattern: str, across: Grid, down: Grid, density: float, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """How much of the accent shows, 0 to 255, over product coordinates [H, W] each."""
    shift = rng.uniform(0, 1, 2)
    scale = np.float32(density * rng.uniform(0.88, 1.12))
    x = across * scale + np.float32(shift[0])
    y = down * scale + np.float32(shift[1])
    return np.asarray(_MARKS[pattern](x, y) * 255, np.uint8)


def dyed(weight: Image.Image, colour: RGB, accent: RGB, shade: float) -> NDArray[np.uint8]:
    """Pixels [H, W, 3] mixed by a grey weight image; `shade` is this copy's own brightness."""
    share = np.linspace(0, 1, 256)
    bands = []
    for own, other in zip(colour, accent, strict=True):
        ramp = min(own * shade, 250.0) * (1 - share) + other * share
        bands.append(weight.point([int(v) for v in ramp]))  # a lookup in C, one per channel
    return np.asarray(Image.merge("RGB", bands))


def _inside(distance: Grid, sharpness: float = 20.0) -> Grid:
    """1 where the distance is positive, 0 where negative, with a ramp of about one pixel."""
    return np.asarray(np.clip(distance * np.float32(sharpness) + 0.5, 0, 1), np.float32)


def _band(t: Grid, width: float) -> Grid:
    """A band of that width in each period of 1."""
    return _inside(np.float32(width / 2) - np.abs(t % 1 - 0.5))


def _plain(x: Grid, _y: Grid) -> Grid:
    return np.zeros_like(x)


def _striped(_x: Grid, y: Grid) -> Grid:
    return _band(y * 4.2, 0.45)


def _dotted(x: Grid, y: Grid) -> Grid:
    row = np.floor(y * 4.4)
    dx = (x * 4.4 + 0.5 * (row % 2)) % 1 - 0.5
    dy = (y * 4.4) % 1 - 0.5
    return _inside(0.275 - np.hypot(dx, dy))


def _checked(x: Grid, y: Grid) -> Grid:
    """Gingham: bands of half strength both ways, full where they cross."""
    return np.asarray((_band(x * 3.6, 0.5) + _band(y * 3.6, 0.5)) * np.float32(0.46), np.float32)


def _zigzag(x: Grid, y: Grid) -> Grid:
    wave = np.abs((x * 3.2) % 1 - 0.5) * 0.9
    return _band(y * 3.4 + wave, 0.42)


def _floral(x: Grid, y: Grid) -> Grid:
    """Five-petalled flowers with an open heart, in offset rows."""
    row = np.floor(y * 2.7)
    dx = (x * 2.7 + 0.5 * (row % 2)) % 1 - 0.5
    dy = (y * 2.7) % 1 - 0.5
    radius, angle = np.hypot(dx, dy), np.arctan2(dy, dx) + row
    petals = _inside(0.22 + 0.13 * np.cos(5 * angle) - radius)
    return np.asarray(petals * _inside(radius - 0.065), np.float32)


def _speckled(x: Grid, y: Grid) -> Grid:
    """Round flecks of uneven size, scattered: one per cell, placed by a hash of the cell."""
    column, row = np.floor(x * 6.5), np.floor(y * 6.5)
    hash_ = np.sin(column * 127.1 + row * 311.7) * 43758.5
    a = hash_ - np.floor(hash_)
    b = (a * 57.31) % 1
    dx = x * 6.5 - column - (0.3 + 0.4 * a)
    dy = y * 6.5 - row - (0.3 + 0.4 * b)
    return _inside(0.1 + 0.2 * ((a + b * 3) % 1) - np.hypot(dx, dy))


_MARKS = {
    "plain": _plain,
    "striped": _striped,
    "dotted": _dotted,
    "checked": _checked,
    "zigzag": _zigzag,
    "floral": _floral,
    "speckled": _speckled,
}
PATTERNS = tuple(_MARKS)
