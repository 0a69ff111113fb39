"""A picture that is red above and blue below, and files of it as feeds hold them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

RED, BLUE, WHITE = (210, 20, 30), (20, 40, 200), (255, 255, 255)


def red_above_blue(mode: str = "RGB", side: int = 96) -> Image.Image:
    """Upper third red, the rest blue, so that every turn of it looks another way."""
    picture = Image.new("RGB", (side, side), BLUE)
    picture.paste(RED, (0, 0, side, side // 3))
    return picture.convert(mode)


def cut_out(colour: tuple[int, ...], alpha: int = 255, side: int = 96) -> Image.Image:
    """A disc on nothing."""
    picture = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    box = (side // 4, side // 4, side * 3 // 4, side * 3 // 4)
    ImageDraw.Draw(picture).ellipse(box, fill=(*colour, alpha))
    return picture


def bytes_of(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def saved(path: Path, picture: Image.Image, **options: Any) -> Path:
    picture.save(path, **options)
    return path


def turned(orientation: int) -> dict[str, Any]:
    """Options of `save` that write this EXIF orientation."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return {"exif": exif.tobytes()}


def at(picture: Image.Image, across: float, down: float) -> tuple[int, ...]:
    """The colour at a place, in shares of width and height."""
    x, y = int(across * picture.width), int(down * picture.height)
    return tuple(np.asarray(picture)[y, x].tolist())


def near(colour: tuple[int, ...], wanted: tuple[int, ...], apart: int = 12) -> bool:
    found: NDArray[np.int64] = np.subtract(colour, wanted)
    return bool(np.abs(found).max() <= apart)
