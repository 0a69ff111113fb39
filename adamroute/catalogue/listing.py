"""The words of an item: its title from a template, its listing from the text columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

from adamroute.catalogue.markup import plain

# cells that say "nothing" in words, as databases and spreadsheets write them
_NOTHING = frozenset(("null", "(null)", "nan", "n/a", "#n/a", "<na>", "none", "nil", "-", "--"))
_NOTHING_AS_WRITTEN = frozenset(("NA", r"\N"))
# letters and signs that show nothing: fillers of Hangul, the empty pattern of Braille
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_UNSEEN = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf", "Mn", "Me"))
# control characters save whitespace, soft hyphen, zero-width space, byte order mark
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\ufeff]")


@dataclass(frozen=True, slots=True)
class TitleTemplate:
    """`{name} {type}`, or a bare column name."""

    parts: tuple[tuple[str, str | None], ...]  # literal text, then the column that follows it

    @classmethod
    def parse(cls, text: str) -> TitleTemplate:
        """ValueError where braces don't enclose plain column names."""
        if "{" not in text and "}" not in text:
            return cls((("", text.strip()),))
        parts = []
        for literal, column, spec, conversion in Formatter().parse(text):
            if column == "" or spec or conversion:
                raise ValueError(f"{text!r}: wanted a column name and nothing else in each {{}}")
            parts.append((literal, column.strip() if column else None))
        return cls(tuple(parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it names, in order."""
        return tuple(column for _, column in self.parts if column is not None)

    def render(self, cells: Mapping[str, str]) -> str:
        """The title; `""` where every cell it names is empty."""
        values = {column: clean(cells.get(column, "")) for column in self.columns}
        if not any(values.values()):
            return ""
        return clean_spaces(
            "".join(text + values.get(name or "", "") for text, name in self.parts)
        )


def clean(text: str) -> str:
    """Plain text on one line: markup resolved, single spaces; `""` where nothing is said."""
    if says_nothing(text):
        return ""
    words = clean_spaces(_INVISIBLE.sub("", plain(text)))
    return "" if says_nothing(words) else words


def says_nothing(text: str) -> bool:
    """Whether a cell is empty, invisible, or a word such as NULL, nan or N/A.

    Not for ids: someone may be called Null.
    """
    return text.lower() in _NOTHING or text in _NOTHING_AS_WRITTEN or is_invisible(text)


def is_invisible(text: str) -> bool:
    """Whether a person sees nothing of it: whitespace, zero-width and control characters."""
    return all(sign in _FILLERS or unicodedata.category(sign) in _UNSEEN for sign in text)


def clean_spaces(text: str) -> str:
    """Every run of whitespace as one space, none outside."""
    return " ".join(text.split())


def listing(cells: Mapping[str, str], columns: Iterable[str], title: TitleTemplate) -> str:
    """What the text index reads: "name type. description" (DESIGN.md, section 4).

    Those of `columns` that the title uses come first, joined by spaces; each other one is a
    sentence of its own. Empty cells are skipped, and no column outside `columns` is read.
    """
    values = {column: clean(cells.get(column, "")) for column in columns}
    head = " ".join(text for column, text in values.items() if column in title.columns and text)
    rest = [text for column, text in values.items() if column not in title.columns]
    return sentences([head, *rest])


def sentences(parts: Iterable[str]) -> str:
    """The parts that are not empty, with one full stop between where none ends the part."""
    line = ""
    for part in filter(None, parts):
        gap = "" if not line else " " if line[-1] in ".!?" else ". "
        line += gap + part
    return line
