"""The words of an item: its title from a template, its listing from the text columns."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

_TAG = re.compile(r"<[/!a-zA-Z][^<>]*>")
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
    """Plain text on one line: HTML tags and entities resolved, single spaces."""
    return clean_spaces(_INVISIBLE.sub("", _TAG.sub(" ", html.unescape(text))))


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
