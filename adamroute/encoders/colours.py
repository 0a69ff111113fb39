"""Colours of a photo as a person names them: shares of 36 named colours, by distance in CIE Lab.

A listing says "beige" or "teal", a network's features hardly do. Each pixel of the object is dealt
to the named colours softly, by how near they look; four regions are counted apart: the object,
its middle, its upper and its lower half. About 4 ms a photo, by a table over coarse RGB cells.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # [H, W, 3]
Mask = NDArray[np.bool_]  # [H, W]

NEAR_GROUND = 15  # levels; a pixel whose channels all lie this near may be background
GRADES = 32  # RGB levels a channel in the table
NEARNESS = 9.0  # Lab units at which a colour counts exp(-1/2) as much as the nearest
# sRGB centres, written by eye; what counts is that shop words fall near one of them.
NAMED = {
    "white": (250, 250, 250), "off-white": (240, 236, 225), "light grey": (205, 205, 205),
    "grey": (140, 140, 140), "dark grey": (80, 80, 82), "black": (20, 20, 20),
    "silver": (185, 188, 192), "red": (200, 25, 35), "dark red": (120, 20, 30),
    "pink": (240, 160, 180), "magenta": (200, 40, 120), "orange": (240, 130, 40),
    "peach": (245, 200, 165), "yellow": (250, 215, 60), "mustard": (200, 155, 50),
    "light yellow": (250, 240, 170), "gold": (190, 160, 100), "beige": (222, 205, 175),
    "tan": (200, 165, 120), "brown": (120, 75, 45), "dark brown": (65, 42, 30),
    "pine": (225, 185, 130), "oak": (190, 150, 105), "khaki": (150, 145, 100),
    "olive": (100, 100, 50), "lime": (165, 205, 70), "green": (50, 140, 60),
    "dark green": (30, 75, 50), "mint": (180, 225, 200), "teal": (20, 130, 130),
    "turquoise": (70, 190, 195), "light blue": (165, 205, 235), "blue": (35, 90, 180),
    "navy": (25, 35, 80), "lilac": (195, 170, 215), "purple": (105, 50, 130),
}  # fmt: skip
REGIONS = 4
DIMENSIONS = REGIONS * len(NAMED)
SMALLEST = 30  # pixels; a smaller object is taken for dirt and the whole photo counts


def colour_features(pixels: Pixels, ground: int = 255) -> NDArray[np.float32]:
    """[144] square roots of the shares of each named colour, region after region.

    `ground` is the grey level around the object. The squares of a region sum to 1; roots, since a
    small share of red says more than its area.
    """
    levels = pixels.astype(np.int64) * GRADES // 256
    cells = (levels[..., 0] * GRADES + levels[..., 1]) * GRADES + levels[..., 2]
    shares = [_shares(cells[region]) for region in regions(object_mask(pixels, ground))]
    return np.sqrt(np.concatenate(shares)).astype(np.float32)


def object_mask(pixels: Pixels, ground: int = 255) -> Mask:
    """Where the object is: between the outermost pixels of its row and column that aren't ground.

    So the white inside a white chair belongs to the chair. All of a photo that is white is object.
    """
    apart = np.abs(pixels.astype(np.int16) - ground)
    ink = np.asarray((apart > NEAR_GROUND).any(axis=2))
    mask = _between(ink, 0) & _between(ink, 1)
    return mask if mask.sum() >= SMALLEST else np.ones_like(mask)


def regions(mask: Mask) -> tuple[Mask, Mask, Mask, Mask]:
    """The object, its middle, upper and lower half; a part that holds no pixel is the object."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    high, wide, half = bottom - top, right - left, (top + bottom) // 2
    boxes = (
        (slice(top + high // 4, bottom - high // 4), slice(left + wide // 4, right - wide // 4)),
        (slice(top, half), slice(left, right)),
        (slice(half, bottom), slice(left, right)),
    )
    middle, upper, lower = (_within(mask, box) for box in boxes)
    return mask, middle, upper, lower


def lab(rgb: NDArray[np.floating]) -> NDArray[np.float64]:
    """sRGB 0 to 255, [..., 3], to CIE Lab under D65 (IEC 61966-2-1 and CIE 15)."""
    value = np.asarray(rgb, dtype=np.float64) / 255.0
    linear = np.where(value > 0.04045, ((value + 0.055) / 1.055) ** 2.4, value / 12.92)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    xyz = linear @ to_xyz.T / to_xyz.sum(axis=1)
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def _between(ink: Mask, axis: int) -> Mask:
    before = np.logical_or.accumulate(ink, axis)
    after = np.flip(np.logical_or.accumulate(np.flip(ink, axis), axis), axis)
    return np.asarray(before & after)


def _within(mask: Mask, box: tuple[slice, slice]) -> Mask:
    part = np.zeros_like(mask)
    part[box] = mask[box]
    return part if part.any() else mask


def _shares(cells: NDArray[np.int64]) -> NDArray[np.float64]:
    found, counts = np.unique(cells, return_counts=True)
    return np.asarray(counts @ _table()[found] / counts.sum())


@cache
def _table() -> NDArray[np.float64]:
    """[32768, 36]: how each RGB cell is dealt to the named colours; rows sum to 1."""
    middles = (np.arange(GRADES) + 0.5) * 256 / GRADES
    grid = np.stack(np.meshgrid(middles, middles, middles, indexing="ij"), axis=-1)
    cells, names = lab(grid.reshape(-1, 3)), lab(np.array(list(NAMED.values())))
    apart = np.square(cells[:, None] - names).sum(axis=-1)
    near = np.exp((apart.min(axis=1, keepdims=True) - apart) / (2 * NEARNESS**2))
    return np.asarray(near / near.sum(axis=1, keepdims=True))
