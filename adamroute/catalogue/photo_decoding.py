"""One way to open a photo: whoever looks at one sees the same upright 8-bit RGB picture.

Feeds hold sideways phone pictures, 16-bit scans, cut-out white mugs, banners that fade in and
half downloads. A plain 8-bit photo comes out as it is; whatever else was done is in `changes`.
Only formats that are decoded in this process are read: an EPS file would start Ghostscript.

Limits: 89 megapixels; a WebP or AVIF file that was cut is unreadable, since their decoders give
all or nothing; colour profiles are not applied.
"""

from __future__ import annotations

import io
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from adamroute.errors import PhotoDefectError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

Change = Literal[
    "photos_rotated",  # by the orientation in EXIF or XMP
    "photos_scaled_to_8_bit",
    "photos_on_dark_ground",
    "photos_truncated",  # more than half of it was there
    "photos_later_frame",  # the first one was blank
]

WHITE = 255
DARK = (64, 0, 128)  # grounds for what vanishes on white; the first that shows most of it
NEAR = 24  # levels of a channel; a pixel that differs less from its ground can't be told from it
BLANK = 8  # levels between the least and the most of a channel; lossy frames are never quite even
MOST_PIXELS = 89_478_485  # where Pillow begins to warn of a decompression bomb
MOST_FRAMES = 100  # looked at for one that is not blank
FORMATS = (
    "JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "AVIF", "JPEG2000", "PPM", "TGA", "ICO", "DIB",
    "PCX", "PSD", "QOI",
)  # fmt: skip
_ORIENTATION = 0x0112
# A JPEG scan's data ends at a marker that is neither a stuffed zero, a restart nor filling.
_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
_END = b"\xff\xd9"
_DECODING = Lock()  # warnings are silenced for the whole process


@dataclass(frozen=True)
class OpenedPhoto:
    """A photo as every part sees it."""

    image: Image  # RGB, upright
    ground: int = WHITE  # grey level behind what was transparent
    changes: tuple[Change, ...] = ()
    stored: str | None = None  # JPEG or PNG where any reader makes the same of the file's bytes


def open_photo(path: Path, side: int | None = None) -> OpenedPhoto:
    """The photo, decoded at its size; a JPEG may come smaller, down to `side` px.

    PhotoDefectError, with the name to count it under, where it can't be used.
    """
    from PIL import Image

    with _DECODING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _opened(path.read_bytes(), side)
        except PhotoDefectError:
            raise
        except Image.DecompressionBombError as error:
            raise PhotoDefectError("photos_too_large", f"{path}: {error}") from error
        except Exception as error:  # decoders raise nearly anything on damaged bytes
            raise PhotoDefectError(
                "unreadable_photos", f"{path}: photo can't be read ({type(error).__name__})"
            ) from error


def as_shown(source: ImageFile) -> Image:
    """A picture that is open and whole, as `open_photo` shows it."""
    return _upright(_first_seen(source).image, _orientation(source))[0]


def _opened(data: bytes, side: int | None) -> OpenedPhoto:
    source = _header(data, side)
    turned = source.format == "TIFF" and _orientation(source) > 1  # Pillow turns it as it loads
    try:
        source.load()
        plain = source.format in ("JPEG", "PNG") and source.mode in ("RGB", "L")
        stored = source.format if plain and not source.has_transparency_data else None
        photo = _first_seen(source)
    except Exception:  # as above
        stored, photo = None, _cut(data, side)
    image, upright = _upright(photo.image, _orientation(source))
    changes = {*photo.changes, *(("photos_rotated",) if turned or not upright else ())}
    return replace(
        photo,
        image=image,
        changes=tuple(change for change in get_args(Change) if change in changes),
        stored=None if changes else stored,
    )


def _header(data: bytes, side: int | None) -> ImageFile:
    from PIL import Image

    image = Image.open(io.BytesIO(data), "r", _formats())
    if image.width * image.height > MOST_PIXELS:
        raise Image.DecompressionBombError(f"{image.width} x {image.height} px")
    if side is not None:
        image.draft("RGB", (side, side))  # a large JPEG is decoded at a lower scale
    return image


@cache
def _formats() -> list[str]:
    """Those that this Pillow has."""
    from PIL import Image

    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _first_seen(source: ImageFile) -> OpenedPhoto:
    """The first frame of an animation that shows something; the first where none does."""
    first = _as_rgb(source)
    if not getattr(source, "is_animated", False) or not _blank(first.image):
        return first
    for number in range(1, MOST_FRAMES):
        try:
            source.seek(number)
            frame = _as_rgb(source)
        except Exception:  # the end, or damage: what came before it counts
            break
        if not _blank(frame.image):
            return replace(frame, changes=(*frame.changes, "photos_later_frame"))
    return first


def _blank(image: Image) -> bool:
    return all(most - least <= BLANK for least, most in np.reshape(image.getextrema(), (-1, 2)))


def _as_rgb(image: Image) -> OpenedPhoto:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return OpenedPhoto(_scaled(image).convert("RGB"), WHITE, ("photos_scaled_to_8_bit",))
    if image.mode == "LAB":
        return OpenedPhoto(_from_lab(image))
    if image.has_transparency_data:
        return _on_ground(image)
    return OpenedPhoto(image.convert("RGB"))


def _scaled(image: Image) -> Image:
    """Grey levels of more than 8 bits as 8, the darkest of the photo 0 and the lightest 255."""
    from PIL import Image

    levels = np.asarray(image).astype(np.float64)
    known = levels[np.isfinite(levels)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    if low == high:  # of one level, which only the whole scale can place
        low, high = 0.0, 1.0 if image.mode == "F" else 65535.0
    share = np.nan_to_num((levels - low) / (high - low), posinf=1.0, neginf=0.0)
    return Image.fromarray((share.clip(0, 1) * 255 + 0.5).astype(np.uint8))


def _from_lab(image: Image) -> Image:
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    found = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
    assert found is not None  # only where it works in place
    return found


def _on_ground(image: Image) -> OpenedPhoto:
    """What shows through is white, or a grey where most of the object would vanish on white."""
    from PIL import Image

    straight = image.convert("LA") if image.mode == "La" else image
    rgba = straight.convert("RGBA")
    ground = _ground(rgba)
    below = Image.new("RGBA", rgba.size, (ground, ground, ground, 255))
    changes: tuple[Change, ...] = () if ground == WHITE else ("photos_on_dark_ground",)
    return OpenedPhoto(Image.alpha_composite(below, rgba).convert("RGB"), ground, changes)


def _ground(rgba: Image) -> int:
    from PIL import Image

    small = rgba.copy()
    small.thumbnail((128, 128), Image.Resampling.NEAREST)
    pixels = np.asarray(small).reshape(-1, 4).astype(np.int64)
    weights = pixels[:, 3]
    if not 0 < weights.sum() < WHITE * len(weights):  # nothing to see, or nothing behind it
        return WHITE

    def lost(ground: int) -> float:
        apart = np.abs(pixels[:, :3] - ground).max(axis=1)
        return float(weights[apart < NEAR].sum() / weights.sum())

    return WHITE if lost(WHITE) < 0.5 else min(DARK, key=lost)


def _orientation(source: ImageFile) -> int:
    """1 to 8 as in EXIF; 1 where the file says nothing that can be read."""
    try:
        return int(source.getexif().get(_ORIENTATION, 1))
    except Exception:  # EXIF is damaged more often than pixels
        return 1


def _upright(image: Image, orientation: int) -> tuple[Image, bool]:
    """The photo as it is to be seen, and whether it was so already."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE, 6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }  # fmt: skip
    turn = turns.get(orientation)
    return (image, True) if turn is None else (image.transpose(turn), False)


def _cut(data: bytes, side: int | None) -> OpenedPhoto:
    """What was decoded before the file broke off, the rest white.

    Decoded twice over another filling each: a pixel that differs was never written.
    PhotoDefectError where less than half was.
    """
    from PIL import Image

    frame, other = (_decoded_over(_ended(data), side, filling) for filling in (0, WHITE))
    written = np.asarray(frame) == np.asarray(other)
    missing = ~written.reshape(*written.shape[:2], -1).all(axis=2)
    if missing.mean() > 0.5:
        raise PhotoDefectError(
            "unreadable_photos", f"photo broken off after {1 - missing.mean():.0%} of it"
        )
    photo = _as_rgb(frame)
    photo.image.paste((WHITE,) * 3, mask=Image.fromarray(missing))
    return replace(photo, changes=(*photo.changes, "photos_truncated"))


def _decoded_over(data: bytes, side: int | None, filling: int) -> Image:
    """As far as the decoder comes, on an image of one value."""
    source = _header(data, side)
    prepare = source.load_prepare

    def prepare_filled() -> None:
        prepare()
        source.im.paste(filling, (0, 0, *source.im.size))

    source.load_prepare = prepare_filled  # type: ignore[method-assign]  # Pillow has no other way
    with suppress(Exception):  # the damage that brought us here
        source.load()
    return source._new(source.im)


def _ended(data: bytes) -> bytes:
    """A progressive JPEG that shows all of itself, if coarsely, brought to an orderly end.

    Its second scan has begun, so the first is whole. All else as it is.
    """
    if not data.startswith(b"\xff\xd8"):
        return data
    markers, place = [], 2
    while found := _MARKER.search(data, place):
        place = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
        if place > len(data):  # its segment is cut: libjpeg would wait for the rest of it
            data = data[: found.start()]
            break
        markers.append(found.group(1)[0])
    whole = 0xC2 in markers and markers.count(0xDA) > 1
    return data + _END if whole else data
