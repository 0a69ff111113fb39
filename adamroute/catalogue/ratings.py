"""Numbers as people and spreadsheets write them, and the rating from which on an item is liked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from adamroute.catalogue.table_files import Row
from adamroute.errors import ShopError, shown

_THOUSANDS = re.compile(r"-?[0-9]{1,3}(\.[0-9]{3})+")
_SCALES = ((1.0, 0.8), (5.0, 4.0), (10.0, 8.0), (100.0, 80.0))  # up to: liked from


def read_number(row: Row, column: str, decimal: str) -> float:
    """A finite number; with decimal commas `4,5` and `1.234,5` are 4.5 and 1234.5."""
    text = row.needed(column)
    plain = text
    if decimal == ",":
        if _THOUSANDS.fullmatch(text):
            raise ShopError(
                f"{row.where}: {column} {shown(text)} may be thousands or a decimal point. Set "
                "decimal: in shop.yaml"
            )
        plain = text.replace(".", "").replace(",", ".") if "," in text else text
    try:
        value = float(plain)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and "_" not in text:
        return value
    hint = ". Set decimal: ',' in shop.yaml" if re.fullmatch("-?[0-9]+,[0-9]+", text) else ""
    raise ShopError(f"{row.where}: {column} {shown(text)}, wanted a finite number{hint}")


def read_rating(row: Row, decimal: str) -> tuple[float, bool]:
    """A rating, and whether it is a percentage."""
    text = row.text("rating")
    if not text.endswith("%"):
        return read_number(row, "rating", decimal), False
    bare = Row(row.where, {"rating": text[:-1].rstrip()})
    return read_number(bare, "rating", decimal), True


@dataclass(frozen=True, slots=True)
class LikedFrom:
    """Ratings from `positive_from` on are liked; `because` says who set it."""

    positive_from: float
    because: str


def liked_from(where: str, ratings: Sequence[float], *, percent: bool = False) -> LikedFrom:
    """The threshold by the scale that the ratings show, where shop.yaml sets none.

    0 and 1 (or -1): 1. Else four fifths of the scale: .8 up to 1, 4 up to 5, 8 up to 10, 80 up to
    100 and of percentages. ShopError where the ratings are of no such scale.
    """
    least, most = min(ratings), max(ratings)
    seen = f"ratings from {least:g} to {most:g}"
    if set(ratings) <= {-1.0, 0.0, 1.0}:
        return LikedFrom(1.0, f"{seen}: yes or no")
    if least < 0 or most > 100:
        raise ShopError(
            f"{where}: {seen} are of no scale that we know, wanted 0 or 1, or up to 5, 10 or 100. "
            "Set positive_from: under interactions in shop.yaml"
        )
    top, threshold = next(s for s in _SCALES if most <= s[0] and not (percent and s[0] < 100))
    return LikedFrom(threshold, f"{seen}: a scale up to {top:g}")
