"""Amazon review files of 2014 and 2018 (the 5-core ones), as MLLM-MSR uses them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adamroute.datasets.amazon.lines import Record, read_lines
from adamroute.errors import ShopError
from adamroute.progress import Advance


@dataclass(frozen=True, slots=True)
class Review:
    """Who rated which item, how, and when."""

    user_id: str
    item_id: str
    rating: float  # 1 to 5
    time_s: int  # seconds since 1970, whole days in these files


def read_reviews(path: Path, advance: Advance) -> Iterator[Review]:
    """Reviews in file order; ShopError names the line that lacks a field or holds no number."""
    for record in read_lines(path, advance):
        rating = _number(record, "overall")
        if not 1.0 <= rating <= 5.0:
            raise ShopError(f"{record.where}: 'overall' is {rating:g}, wanted 1 to 5. Mend it")
        yield Review(
            user_id=str(record.needed("reviewerID")).strip(),
            item_id=str(record.needed("asin")).strip(),
            rating=rating,
            time_s=int(_number(record, "unixReviewTime")),
        )


def _number(record: Record, name: str) -> float:
    value = record.needed(name)
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ShopError(f"{record.where}: {name!r} is {value!r:.60}, wanted a number. Mend it")
    return number
