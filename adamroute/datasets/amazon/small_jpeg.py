"""One fetched picture: looked at, and made the small JPEG that a shop folder holds."""

from __future__ import annotations

import io
from typing import Literal

from PIL import Image, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from adamroute.catalogue.photo_decoding import as_shown

LONG_SIDE = 224  # px, what the encoders read
SMALLEST = 16  # px; shops answer with a blank dot where a photo is gone
MAX_PIXELS = 50_000_000
_FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
_QUALITY = 90

Problem = Literal[
    "wrong_type", "unreadable", "too_small", "too_large",  # of the bytes
    "bad_address", "refused_address", "not_found", "refused_by_server", "server_error",
    "too_many_redirects", "timed_out", "unreachable",  # on the way to them
]  # fmt: skip


class PhotoError(Exception):
    """No usable photo; `problem` is the name to count it under."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem: Problem = problem


def small_jpeg(data: bytes) -> bytes:
    """A JPEG of at most 224 px a side; the bytes themselves where they are one already.

    The pixels are decoded, so truncated files are found. PhotoError says what is wrong.
    """
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            _check_size(image.size)
            image.load()
            if image.format == "JPEG" and max(image.size) <= LONG_SIDE and image.mode == "RGB":
                return data
            return _shrunk(image)
    except PhotoError:
        raise
    except UnidentifiedImageError as error:
        raise PhotoError("wrong_type") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PhotoError("too_large") from error
    except Exception as error:  # decoders raise nearly anything on damaged bytes
        raise PhotoError("unreadable") from error


def _check_size(size: tuple[int, int]) -> None:
    width, height = size
    if min(width, height) < SMALLEST:
        raise PhotoError("too_small")
    if width * height > MAX_PIXELS:
        raise PhotoError("too_large")


def _shrunk(image: ImageFile) -> bytes:
    drawn = as_shown(image)  # the JPEG has neither EXIF nor other frames to make up for it later
    drawn.thumbnail((LONG_SIDE, LONG_SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    drawn.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
