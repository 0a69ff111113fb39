"""Ids are text: `007` is not `7`. But `1001` and `1001.0` are one id, where both are numbers."""

from __future__ import annotations

import re
from collections.abc import Set

_INTEGER = re.compile("0|[1-9][0-9]*")


def whole_number(text: str, decimal: str = ".") -> str:
    """`1001` of `1001` and `1001.0`; `""` of any other text, `007` and `1e5` too."""
    digits, point, zeros = text.partition(decimal)
    if not _INTEGER.fullmatch(digits) or zeros.strip("0") or (point and not zeros):
        return ""
    return digits


def as_whole_numbers(texts: Set[str], decimal: str) -> dict[str, str]:
    """The integer of each text that is not empty; `{}` unless all of them are whole numbers."""
    numbers = {text: whole_number(text, decimal) for text in texts if text}
    return numbers if all(numbers.values()) else {}
