"""Letters that were lost before the table came here, and text that was encoded twice.

`CafÃ©` is `Café` in UTF-8, read as Windows-1252 and written again. One such cell may be meant so,
and is only named; where they are common the table is refused, because the words of its index
would be wrong. After a capital nothing is suspected: `NOUVEAUTÉ®` is good French.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from adamroute.catalogue.left_out import LeftOut
from adamroute.errors import ShopError, shown

_FEW = 3  # cells
_SHARE = 0.5  # of the cells that hold more than ASCII


def check_letters(
    path: Path, rows: Iterable[tuple[str, Mapping[str, str]]]
) -> dict[str, JsonValue]:
    """Cells whose letters are in doubt, for a manifest; ShopError where the whole table is."""
    accented, twice, lost = 0, LeftOut(), LeftOut()
    lines = ((where, cells) for where, cells in rows if not "".join(cells.values()).isascii())
    for where, text in ((where, text) for where, cells in lines for text in cells.values()):
        if text.isascii():
            continue
        accented += 1
        if meant := encoded_twice(text):
            twice.add(f"{where}: {shown(text)} for {shown(meant)}")
        if "\ufffd" in text:
            lost.add(f"{where}: {shown(text)}")
    if twice.count >= _FEW and twice.count >= _SHARE * accented:
        raise ShopError(
            f"{twice.first[0]}: encoded twice, as are {twice.count} of the {accented} cells of "
            f"{path.name} that hold accents. Export the table anew as UTF-8"
        )
    found = {"cells_encoded_twice": twice, "cells_with_lost_letters": lost}
    return {name: named.facts(path) for name, named in found.items() if named.count}


def encoded_twice(text: str) -> str:
    """What the text was meant to be; `""` where nothing in it looks encoded twice."""
    meant = _pattern().sub(lambda found: _decoded_again(found[0]), text)
    return "" if meant == text else meant


def _decoded_again(text: str) -> str:
    try:
        return bytes(_signs().index(sign) for sign in text).decode("utf-8")
    except UnicodeDecodeError:
        return text


@cache
def _signs() -> str:
    """The 256 characters of Windows-1252 as the web reads it."""
    return "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in range(256))


@cache
def _pattern() -> re.Pattern[str]:
    """Latin letters and signs of UTF-8 in Windows-1252; Cyrillic and Greek from two letters on."""
    later = f"[{re.escape(_signs()[0x80:0xC0])}]"
    return re.compile(
        f"(?<![A-Z\u00c0-\u00de])(?:[\u00c2\u00c3]{later}|\u00e2{later}{{2}}|\u00f0{later}{{3}}"
        f"|(?:[\u00ce\u00cf\u00d0\u00d1]{later}){{2,}})"
    )
