"""Photos as feeds hold them, each opened as the upright 8-bit picture that it is meant to be."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, features

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.photo_decoding import open_photo
from adamroute.catalogue.photo_files import decoded
from adamroute.errors import PhotoDefectError
from tests.catalogue.pictures import (
    BLUE,
    RED,
    WHITE,
    at,
    bytes_of,
    cut_out,
    near,
    red_above_blue,
    saved,
    turned,
)

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270,
}  # fmt: skip


def upright(picture: Image.Image) -> bool:
    """Red above and blue below."""
    return near(at(picture, 0.5, 0.15), RED) and near(at(picture, 0.5, 0.7), BLUE)


def test_a_plain_photo_is_left_as_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (60, 90, 3)).astype(np.uint8))
    for name in ("a.png", "a.jpg", "a.bmp", "a.tif"):
        path = saved(tmp_path / name, noise)
        opened = open_photo(path)
        with Image.open(path) as stored:
            assert np.array_equal(np.asarray(opened.image), np.asarray(stored.convert("RGB")))
        assert (opened.ground, opened.changes) == (255, ())
    assert open_photo(tmp_path / "a.png").stored == "PNG"
    assert open_photo(tmp_path / "a.jpg").stored == "JPEG"
    assert open_photo(tmp_path / "a.tif").stored is None  # which few models can read


@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("orientation", [2, 3, 4, 5, 6, 7, 8])
def test_a_photo_is_turned_as_its_orientation_says(
    tmp_path: Path, orientation: int, ending: str
) -> None:
    lying = red_above_blue().resize((96, 72)).transpose(TURNS[orientation])
    opened = open_photo(saved(tmp_path / f"a.{ending}", lying, **turned(orientation)))
    assert opened.image.size == (96, 72)
    assert upright(opened.image)
    assert (opened.changes, opened.stored) == (("photos_rotated",), None)


@pytest.mark.parametrize("orientation", [0, 1, 9, 65535])
def test_an_orientation_that_says_nothing_changes_nothing(
    tmp_path: Path, orientation: int
) -> None:
    opened = open_photo(saved(tmp_path / "a.jpg", red_above_blue(), **turned(orientation)))
    assert upright(opened.image)
    assert opened.changes == ()


def test_damaged_exif_is_no_reason_to_lose_a_photo(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.jpg", red_above_blue(), exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff")
    assert upright(open_photo(path).image)


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("a.png", np.array([[1000, 3000], [2000, 3000]], np.uint16)),
        ("a.tif", np.array([[1000, 3000], [2000, 3000]], np.uint16)),
        ("a.tif", np.array([[0.25, 0.75], [0.5, 0.75]], np.float32)),
        ("a.tif", np.array([[-9000, 9000], [0, 9000]], np.int32)),
        ("a.tif", np.array([[-np.inf, np.inf], [0.5, 1.0]], np.float32)),
    ],
)
def test_grey_of_more_than_8_bits_keeps_its_shades(
    tmp_path: Path, name: str, levels: np.ndarray
) -> None:
    opened = open_photo(saved(tmp_path / name, Image.fromarray(levels)))
    found = np.asarray(opened.image)[..., 0].tolist()
    middle = 0 if np.isinf(levels).any() else 128
    assert found == [[0, 255], [middle, 255]]
    assert opened.changes == ("photos_scaled_to_8_bit",)


@pytest.mark.parametrize(
    ("level", "kind", "shown"),
    [(257 * 90, np.uint16, 90), (0.25, np.float32, 64), (np.nan, np.float32, 0)],
)
def test_a_deep_photo_of_one_level_has_its_place_on_the_whole_scale(
    tmp_path: Path, level: float, kind: type, shown: int
) -> None:
    picture = Image.fromarray(np.full((4, 4), level, kind))
    image = open_photo(saved(tmp_path / "a.tif", picture)).image
    assert np.unique(np.asarray(image)).tolist() == [shown]


@pytest.mark.parametrize("alpha", [255, 160])
@pytest.mark.parametrize("ending", ["png", "webp", "tif"])
def test_a_white_object_on_nothing_stands_on_a_dark_ground(
    tmp_path: Path, ending: str, alpha: int
) -> None:
    opened = open_photo(saved(tmp_path / f"a.{ending}", cut_out(WHITE, alpha)))
    assert opened.changes == ("photos_on_dark_ground",)
    assert at(opened.image, 0, 0) == (opened.ground,) * 3 == (64, 64, 64)
    assert min(at(opened.image, 0.5, 0.5)) - opened.ground > 100


@pytest.mark.parametrize("colour", [RED, BLUE, (0, 0, 0), (190, 190, 190), (255, 240, 200)])
def test_an_object_that_shows_on_white_stands_on_white(
    tmp_path: Path, colour: tuple[int, ...]
) -> None:
    opened = open_photo(saved(tmp_path / "a.png", cut_out(colour)))
    assert (opened.ground, opened.changes, opened.stored) == (255, (), None)
    assert at(opened.image, 0, 0) == WHITE
    assert near(at(opened.image, 0.5, 0.5), colour, 0)


def test_a_ground_is_chosen_that_hides_no_part_of_an_object_of_two_tones(tmp_path: Path) -> None:
    mug = cut_out(WHITE)
    mug.paste((64, 64, 64, 255), (40, 40, 60, 60))  # 400 of about 1,800 pixels
    assert open_photo(saved(tmp_path / "a.png", mug)).ground == 0


def test_what_hides_below_full_transparency_counts_for_nothing(tmp_path: Path) -> None:
    picture = cut_out(RED)
    alpha = picture.getchannel("A")
    picture.paste((255, 255, 255), (0, 0, 96, 96))
    picture.putalpha(alpha)
    picture.paste((*RED, 255), (30, 30, 66, 66))
    opened = open_photo(saved(tmp_path / "a.png", picture))
    assert at(opened.image, 0, 0) == WHITE


def test_a_photo_with_an_alpha_that_hides_nothing_is_as_without(tmp_path: Path) -> None:
    opened = open_photo(saved(tmp_path / "a.png", Image.new("RGBA", (8, 8), (*WHITE, 255))))
    assert (opened.changes, at(opened.image, 0.5, 0.5)) == ((), WHITE)


def test_a_photo_of_nothing_is_white(tmp_path: Path) -> None:
    opened = open_photo(saved(tmp_path / "a.png", Image.new("RGBA", (8, 8), (*RED, 0))))
    assert (opened.changes, at(opened.image, 0.5, 0.5)) == ((), WHITE)


def test_colours_multiplied_by_their_alpha_are_divided_again(tmp_path: Path) -> None:
    """A TIFF may store them so: ExtraSamples 1 where Pillow writes 2."""
    halved = Image.merge("RGBA", [Image.new("L", (8, 8), v) for v in (105, 10, 15, 128)])
    entry = b"\x52\x01\x03\x00\x01\x00\x00\x00"
    whole = bytes_of(halved, "TIFF")
    assert whole.count(entry + b"\x02") == 1
    path = tmp_path / "a.tif"
    path.write_bytes(whole.replace(entry + b"\x02", entry + b"\x01"))
    assert near(at(open_photo(path).image, 0.5, 0.5), (232, 137, 142), 4)  # half red, half white


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "L", "P", "1", "LA", "LAB"])
def test_colours_of_every_mode_come_out_right(tmp_path: Path, mode: str) -> None:
    kind = {"CMYK": "jpg", "YCbCr": "jpg", "LAB": "tif"}.get(mode, "png")
    if mode == "LAB":
        srgb, lab = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        made = ImageCms.profileToProfile(red_above_blue(), srgb, lab, outputMode="LAB")
        assert made is not None
        picture = made
    else:
        picture = red_above_blue().quantize(4) if mode == "P" else red_above_blue(mode)
    image = open_photo(saved(tmp_path / f"a.{kind}", picture)).image
    if mode in ("L", "LA"):
        assert near(at(image, 0.5, 0.15), (78, 78, 78), 2)
        assert near(at(image, 0.5, 0.7), (52, 52, 52), 2)
    elif mode == "1":  # dithered
        assert set(np.unique(np.asarray(image)).tolist()) == {0, 255}
    else:
        assert upright(image)


def test_a_palette_with_a_clear_colour_is_laid_on_a_ground(tmp_path: Path) -> None:
    picture = cut_out(WHITE).convert("RGB").quantize(2)
    clear = int(np.asarray(picture)[0, 0])
    for name in ("a.png", "a.gif"):
        opened = open_photo(saved(tmp_path / name, picture, transparency=clear))
        assert (opened.ground, opened.changes) == (64, ("photos_on_dark_ground",))


def animation(path: Path, *frames: Image.Image) -> Path:
    exact = path.suffix == ".webp"
    return saved(
        path, frames[0], save_all=True, append_images=frames[1:], duration=50, lossless=exact
    )


@pytest.mark.parametrize("ending", ["gif", "png", "webp", "tif"])
@pytest.mark.parametrize("blank", [WHITE, (0, 0, 0)])
def test_of_an_animation_the_first_frame_with_something_on_it_is_seen(
    tmp_path: Path, ending: str, blank: tuple[int, ...]
) -> None:
    empty, other = Image.new("RGB", (96, 96), blank), Image.new("RGB", (96, 96), "green")
    path = animation(tmp_path / f"a.{ending}", empty, empty, red_above_blue(), other)
    opened = open_photo(path)
    assert upright(opened.image)
    assert opened.changes == ("photos_later_frame",)


def test_an_animation_that_begins_well_or_shows_nothing_at_all_is_its_first_frame(
    tmp_path: Path,
) -> None:
    plain = [Image.new("RGB", (96, 96), colour) for colour in ("white", "green")]
    opened = open_photo(animation(tmp_path / "a.gif", red_above_blue(), *plain))
    assert upright(opened.image)
    assert opened.changes == ()
    opened = open_photo(animation(tmp_path / "b.gif", *plain))
    assert (at(opened.image, 0.5, 0.5), opened.changes) == (WHITE, ())


def noisy(side: int = 128) -> Image.Image:
    """Red above, blue below, with noise, so that half the file is half the picture."""
    picture = np.asarray(red_above_blue(side=side)).astype(np.int64)
    picture += np.random.default_rng(0).integers(-9, 10, picture.shape)
    return Image.fromarray(picture.clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("JPEG", {}), ("PNG", {}), ("GIF", {}), ("BMP", {}), ("TIFF", {}), ("JPEG", {"quality": 95})],
)
def test_of_a_file_cut_past_half_what_is_there_is_seen(
    tmp_path: Path, kind: str, options: dict[str, int]
) -> None:
    whole = bytes_of(noisy(), kind, **options)
    path = tmp_path / "photo"
    path.write_bytes(whole[: len(whole) * 4 // 5])
    opened = open_photo(path)
    assert opened.changes == ("photos_truncated",)
    below = 0.98 if kind != "BMP" else 0.02  # BMP begins at the bottom
    assert at(opened.image, 0.5, below) == WHITE
    assert near(at(opened.image, 0.5, 0.6), BLUE, 40)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.35])
def test_a_file_cut_before_half_is_unreadable(tmp_path: Path, kind: str, share: float) -> None:
    whole = bytes_of(noisy(), kind)
    path = tmp_path / "photo"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(PhotoDefectError) as caught:
        open_photo(path)
    assert caught.value.defect == "unreadable_photos"


def test_a_progressive_jpeg_shows_all_of_itself_once_its_first_scan_is_there(
    tmp_path: Path,
) -> None:
    whole = bytes_of(noisy(), "JPEG", progressive=True)
    scans = [place for place in range(len(whole)) if whole[place : place + 2] == b"\xff\xda"]
    path = tmp_path / "photo.jpg"
    path.write_bytes(whole[: scans[1] + 200])
    opened = open_photo(path)
    assert upright(opened.image)
    assert opened.changes == ("photos_truncated",)
    path.write_bytes(whole[: scans[1] - 50])
    with pytest.raises(PhotoDefectError):
        open_photo(path)


def test_a_cut_photo_is_turned_too(tmp_path: Path) -> None:
    whole = bytes_of(noisy().transpose(TURNS[6]), "JPEG", **turned(6))
    path = tmp_path / "photo.jpg"
    path.write_bytes(whole[:-100])
    opened = open_photo(path)
    assert opened.changes == ("photos_rotated", "photos_truncated")
    assert near(at(opened.image, 0.5, 0.15), RED, 40)


def test_a_photo_of_too_many_pixels_is_refused_by_name(tmp_path: Path) -> None:
    bomb = bytearray(bytes_of(Image.new("1", (8, 8)), "BMP"))
    for side in ((10_000).to_bytes(4, "little"), (60_000).to_bytes(4, "little")):
        bomb[18:26] = (10_000).to_bytes(4, "little") + side  # 100 and 600 megapixels
        path = tmp_path / "bomb.bmp"
        path.write_bytes(bomb)
        with pytest.raises(PhotoDefectError) as caught:
            open_photo(path)
        assert caught.value.defect == "photos_too_large"


def test_a_format_that_another_program_would_draw_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(bytes_of(red_above_blue(), "EPS"))
    with pytest.raises(PhotoDefectError):
        open_photo(path)


@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"\xff\xd8\xff not a photo"])
def test_what_is_no_photo_is_unreadable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    with pytest.raises(PhotoDefectError, match=r"a\.jpg: photo can't be read"):
        open_photo(tmp_path / "a.jpg")
    with pytest.raises(PhotoDefectError):
        open_photo(tmp_path / "none.jpg")


SEEDS = [
    bytes_of(noisy(32), "JPEG"), bytes_of(noisy(32), "JPEG", progressive=True, **turned(6)),
    bytes_of(noisy(32), "PNG"), bytes_of(cut_out(WHITE, side=32), "PNG"),
    bytes_of(noisy(32), "GIF"), bytes_of(Image.new("I;16", (32, 32), 700), "PNG"),
    bytes_of(noisy(32), "TIFF", compression="tiff_lzw", **turned(3)),
    bytes_of(red_above_blue(side=32), "GIF", save_all=True, append_images=[noisy(32)]),
    *([bytes_of(noisy(32), "WEBP")] if features.check("webp") else []),
]  # fmt: skip


@given(st.data())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_damage_raises_anything_but_the_defect(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    damaged = bytearray(data.draw(st.sampled_from(SEEDS)))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=8)):
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    del damaged[data.draw(st.integers(0, len(damaged))) :]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(damaged)
    with suppress(PhotoDefectError):
        assert open_photo(path, data.draw(st.sampled_from([None, 16]))).image.mode == "RGB"


KNOWN = {
    "photo_anim_gif": {"photos_later_frame": 1},
    "photo_exif6_jpg": {"photos_rotated": 1},
    "photo_exif6_png": {"photos_rotated": 1},
    "photo_float_tif": {"photos_scaled_to_8_bit": 1},
    "photo_grey16_png": {"photos_scaled_to_8_bit": 1},
    "photo_names": {"missing_photos": 1, "photos_found_by_other_name": 6},
    "photo_trunc1_jpg": {"photos_truncated": 1},
    "photo_white_on_transparent_png": {"photos_on_dark_ground": 1},
}


@pytest.mark.realdata
@pytest.mark.skipif(not CASES.is_dir(), reason="no ../shared/cases")
@pytest.mark.parametrize("name", sorted({p.name for p in CASES.glob("photo_*")} | set(KNOWN)))
def test_the_reported_photos_read_as_they_should(name: str) -> None:
    shop = decoded(read_shop(CASES / name))
    assert shop.problems == KNOWN[name]
    photo = shop.catalogue.items[0].image
    assert photo is not None
    image = open_photo(photo).image
    above, below = at(image, 0.5, 0.2), at(image, 0.5, 0.8)
    if name in ("photo_float_tif", "photo_grey16_png"):
        assert (above, below) == (WHITE, (0, 0, 0))
    elif name == "photo_white_on_transparent_png":
        assert (at(image, 0.5, 0.5), above) == (WHITE, (64, 64, 64))
    else:
        assert upright(image)
