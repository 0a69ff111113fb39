"""What features of a re-ranker read of the catalogue, by row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adamroute.catalogue.preferences import Traits, item_traits
from adamroute.catalogue.shop import profile_line
from adamroute.encoders.seams import Vectors

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class ItemFacts:
    """What features read of the catalogue, by row."""

    text_vectors: Vectors  # [N, D]
    profiles: tuple[str, ...]  # s_i
    profiles_without_looks: tuple[str, ...]
    traits: tuple[Traits, ...]
    category_words: tuple[frozenset[str], ...]
    look_words: tuple[frozenset[str], ...]


def item_facts(
    text_vectors: Vectors,
    texts: Sequence[str],
    categories: Sequence[str],
    visual: Sequence[Mapping[str, str]],
) -> ItemFacts:
    """Facts from the arrays and columns of an index."""
    traits = tuple(item_traits(c, v) for c, v in zip(categories, visual, strict=True))
    return ItemFacts(
        text_vectors,
        tuple(profile_line(t, v) for t, v in zip(texts, visual, strict=True)),
        tuple(profile_line(t, {}) for t in texts),
        traits,
        tuple(words(t.category) for t in traits),
        tuple(words(" ".join(t.looks)) for t in traits),
    )


def words(text: str) -> frozenset[str]:
    """Lower-case words and numbers of a text."""
    return frozenset(_WORD.findall(text.lower()))
