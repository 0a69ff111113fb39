"""What becomes of the bytes of one photo."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from adamroute.datasets.amazon.small_jpeg import PhotoError, small_jpeg
from tests.datasets.amazon.conftest import picture


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(small_jpeg(data)))


def test_a_large_photo_shrinks_to_a_long_side_of_224() -> None:
    made = opened(picture(448, 300))
    assert (made.format, made.size) == ("JPEG", (224, 150))


def test_a_small_jpeg_stays_the_bytes_it_is() -> None:
    data = picture(224, 100)
    assert small_jpeg(data) == data


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "LA"), ("GIF", "P"), ("WEBP", "RGB")])
def test_other_kinds_become_jpeg_in_rgb(kind: str, mode: str) -> None:
    made = opened(picture(100, 50, kind, mode))
    assert (made.format, made.mode, made.size) == ("JPEG", "RGB", (100, 50))


@pytest.mark.parametrize("mode", ["1", "P", "L"])
def test_shrinking_mixes_colours_of_any_mode(mode: str) -> None:
    lines = np.tile(np.array([0, 255], np.uint8), (448, 224))  # columns black and white in turn
    out = io.BytesIO()
    Image.fromarray(lines).convert(mode).save(out, "PNG")
    assert opened(out.getvalue()).getpixel((100, 100)) == pytest.approx((127, 127, 127), abs=8)


def test_grey_jpeg_becomes_rgb() -> None:
    assert opened(picture(100, 50, mode="L")).mode == "RGB"


def test_see_through_parts_are_white() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (32, 32), (200, 0, 0, 0)).save(out, "PNG")
    assert opened(out.getvalue()).getpixel((16, 16)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (b"<html>gone</html>", "wrong_type"),
        (b"", "wrong_type"),
        (picture(300, 150)[:-2000], "unreadable"),
        (picture(1, 1, "GIF"), "too_small"),
        (picture(300, 15), "too_small"),
    ],
)
def test_what_is_no_photo_is_named(data: bytes, flaw: str) -> None:
    with pytest.raises(PhotoError) as caught:
        small_jpeg(data)
    assert caught.value.problem == flaw


def test_more_pixels_than_anyone_needs_are_not_decoded() -> None:
    out = io.BytesIO()
    Image.new("1", (10_000, 5_001)).save(out, "PNG")  # 50,010,000 of them in 6 kB
    with pytest.raises(PhotoError, match="too_large"):
        small_jpeg(out.getvalue())


def test_a_photo_that_exif_turns_is_written_upright() -> None:
    sideways = Image.new("RGB", (600, 300), "red")
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    out = io.BytesIO()
    sideways.save(out, "JPEG", exif=exif)
    with Image.open(io.BytesIO(small_jpeg(out.getvalue()))) as small:
        assert small.size == (112, 224)


def test_what_the_jpeg_can_not_say_later_is_done_as_for_any_photo() -> None:
    deep = np.linspace(2_000, 60_000, 100 * 100).reshape(100, 100).astype(np.uint16)
    mug = np.zeros((100, 100, 4), np.uint8)
    mug[20:80, 20:80] = 255  # white, around it nothing
    shown = Image.fromarray(np.tile(np.array([0, 255], np.uint8), (100, 50)))
    blank = Image.new("L", (100, 100), 255)
    for kind, frames in (
        ("PNG", [Image.fromarray(deep)]),
        ("PNG", [Image.fromarray(mug)]),
        ("GIF", [blank, shown]),
    ):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=len(frames) > 1, append_images=frames[1:])
        grey = np.asarray(opened(out.getvalue()).convert("L"))
        assert int(grey.max()) - int(grey.min()) > 150  # white all over is 0
