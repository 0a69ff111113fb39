"""Ids are text: `007` is not `7`. But `1001` and `1001.0` are one id, where both are numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable


def whole_number(text: str, decimal: str = ".") -> str:
    """`1001` of `1001` and `1001.0`; `""` of any other text, `007` and `1e5` too."""
    digits, _, zeros = text.partition(decimal)
    if not re.fullmatch("0|[1-9][0-9]*", digits) or zeros.strip("0") or text.endswith(decimal):
        return ""
    return digits


def as_whole_numbers(texts: Iterable[str], decimal: str) -> dict[str, str]:
    """The integer of each text that is not empty; `{}` unless all of them are whole numbers."""
    numbers = {text: whole_number(text, decimal) for text in texts if text}
    return numbers if all(numbers.values()) else {}
