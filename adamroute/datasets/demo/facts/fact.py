"""What a functional attribute is, and the short notation in which the vocabulary is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Trait = Literal["outdoor", "easy", "green", "comfort", "travel", "lasting", "clever", "safe"]
TRAITS: tuple[Trait, ...] = (
    "outdoor", "easy", "green", "comfort", "travel", "lasting", "clever", "safe",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing a product does, in the seller's words and in the shopper's."""

    trait: Trait  # what kind of shopper cares
    said: tuple[str, ...]  # sentences a listing uses, one of them per item
    asked: tuple[str, ...]  # what follows "one that ..." in a request
    tag: tuple[str, ...]  # the same as a terse search phrase


Family = tuple[Fact, ...]  # alternatives: an item has at most one of them


def one(trait: Trait, said: str, asked: str, tag: str) -> Family:
    """A family of one fact; variants of a wording are separated by ` | `."""
    return (Fact(trait, _variants(said), _variants(asked), _variants(tag)),)


def either(*families: Family) -> Family:
    """Facts that exclude each other."""
    return tuple(fact for family in families for fact in family)


def graded(trait: Trait, said: str, asked: str, tag: str, values: Mapping[str, str]) -> Family:
    """One fact per value: `{v}` is the seller's wording (the key), `{w}` the shopper's."""
    return tuple(
        Fact(
            trait,
            tuple(s.replace("{v}", v) for s in _variants(said)),
            tuple(s.replace("{w}", w) for s in _variants(asked)),
            tuple(s.replace("{w}", w) for s in _variants(tag)),
        )
        for v, w in values.items()
    )


def _variants(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))
