"""What features of a re-ranker read of the catalogue, by row."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from adamroute.catalogue.item_words import STOPWORDS
from adamroute.catalogue.preferences import Traits, item_traits
from adamroute.catalogue.shop import profile_line
from adamroute.encoders.seams import Vectors

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, eq=False)
class ItemFacts:
    """What features read of the catalogue, by row."""

    text_vectors: Vectors  # [N, D]
    profiles: tuple[str, ...]  # s_i
    profiles_without_looks: tuple[str, ...]
    traits: tuple[Traits, ...]
    category_words: tuple[frozenset[str], ...]
    look_words: tuple[frozenset[str], ...]
    listing_words: tuple[frozenset[str], ...]

    def rarities(self, said: Iterable[str]) -> dict[str, float]:
        """Share of each word in what a query says, by how few listings have it; sums to 1."""
        count = len(self.listing_words)
        rarity = {
            word: 0.0 if word in STOPWORDS else math.log((count + 1) / (self._listed[word] + 0.5))
            for word in said
        }
        total = sum(rarity.values())
        return {word: value / total if total else 0.0 for word, value in rarity.items()}

    @cached_property
    def _listed(self) -> Counter[str]:
        """How many listings have a word."""
        return Counter(word for listing in self.listing_words for word in listing)


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
        tuple(words(t) for t in texts),
    )


def words(text: str) -> frozenset[str]:
    """Lower-case words and numbers of a text, without the s of a plural."""
    return frozenset(map(_singular, _WORD.findall(text.lower())))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
