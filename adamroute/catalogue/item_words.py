"""What an item gives a query writer to work with: a noun, how it looks, what its listing claims.

Claims keep to what a photo does not show: values of the visual attributes are taken out of them,
and so is every word of the title that is no part of the category, since a query that repeats the
title finds its item first in the text index whatever it was meant to ask (DESIGN, section 4).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Intent = Literal["visual", "functional", "mixed"]
INTENTS: tuple[Intent, ...] = ("visual", "functional", "mixed")  # order of every array over kinds

_SMALL_WORDS = (
    "a an the and or but so as because which that this these those it its they them their there "
    "is are was be been being has have had do does can could will would may must should "
    "of in on at by for from to with without into onto over under up out off than then when "
    "where while if not no also both each all any some you your yours our we us i me my he she "
    "very more most just only even too such"
)
STOPWORDS = frozenset(_SMALL_WORDS.split())
MIN_CLAIM = 2  # content words that make a clause worth asking for
SEEN_ITEMS = 3  # items that have a word as a look before it counts as one throughout the shop
BOILERPLATE = 0.05  # a clause that this share of all listings has tells no item from another

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CLAUSE = re.compile(r"[.;:!?()\n]+|,\s*|\s[-–—]\s")
_VALUE = re.compile(r"[,;/|]")
_QUALIFIER = re.compile(r",| with | for | in | on ")


@dataclass(frozen=True, slots=True)
class ItemWords:
    """Word material of one item, lower case."""

    noun: str  # "reversible bed"; may be "" where neither category nor title says one
    short_noun: str  # "bed"
    looks: tuple[str, ...]  # values of the visual attributes, "white,pine" as two
    claims: tuple[tuple[str, ...], ...]  # clauses of the listing, word by word

    @property
    def kinds(self) -> tuple[Intent, ...]:
        """Kinds of query that can be asked for this item; at least `visual` or `functional`."""
        if self.looks and self.claims:
            return INTENTS
        return ("visual",) if self.looks else ("functional",)


def item_words(
    title: str,
    text: str,
    category: str,
    visual: Mapping[str, str],
    seen: frozenset[str] = frozenset(),
) -> ItemWords:
    """Material from the fields of a listing; any of them may be empty, not title and text both.

    `seen` are words that the shop uses for looks; like the item's own they leave its claims.
    """
    looks = _looks(visual)
    noun = category or (words_in(title)[-1] if words_in(title) else "")
    head = words_in(_QUALIFIER.split(noun.lower(), maxsplit=1)[0])
    hidden = {w for look in looks for w in look.split()}
    hidden |= set(words_in(title)) - set(words_in(category))
    hidden |= seen
    return ItemWords(
        noun=" ".join(words_in(noun)),
        short_noun=head[-1] if head else "",
        looks=looks,
        claims=_claims(text, hidden - STOPWORDS, set(words_in(noun))),
    )


def catalogue_words(
    titles: Sequence[str],
    texts: Sequence[str],
    categories: Sequence[str],
    visual: Sequence[Mapping[str, str]],
) -> tuple[ItemWords, ...]:
    """Material of all items, by row, without the clauses that are boilerplate of the shop.

    An item that has nothing else keeps them. Words that several items have as looks, and no
    category as a noun, leave all claims: "steel" is a look even where one listing states it.
    """
    seen = _seen(visual) - {word for category in set(categories) for word in words_in(category)}
    fields = zip(titles, texts, categories, visual, strict=True)
    items = [item_words(*listing, seen) for listing in fields]
    counts = Counter(claim for item in items for claim in item.claims)
    most = max(1.0, BOILERPLATE * len(items))
    return tuple(
        replace(item, claims=tuple(c for c in item.claims if counts[c] <= most) or item.claims)
        for item in items
    )


def without_claim(text: str, claim: Sequence[str]) -> str:
    """A listing without the clauses that state a claim; "" where nothing else is said."""
    stated = frozenset(claim) - STOPWORDS
    parts = (part.strip() for part in _CLAUSE.split(text))
    return ". ".join(part for part in parts if part and not stated <= frozenset(words_in(part)))


def words_in(text: str) -> list[str]:
    """Words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def _looks(visual: Mapping[str, str]) -> tuple[str, ...]:
    phrases = (" ".join(words_in(p)) for value in visual.values() for p in _VALUE.split(value))
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))


def _seen(visual: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Words that at least `SEEN_ITEMS` items have among their looks."""
    counts = Counter(
        word for values in visual for word in {w for look in _looks(values) for w in look.split()}
    )
    return frozenset(w for w, count in counts.items() if count >= SEEN_ITEMS) - STOPWORDS


def _claims(text: str, hidden: set[str], noun: set[str]) -> tuple[tuple[str, ...], ...]:
    clauses: dict[tuple[str, ...], None] = {}
    for clause in _CLAUSE.split(text):
        words = tuple(w for w in words_in(clause) if w not in hidden)
        if len(set(words) - STOPWORDS - noun) >= MIN_CLAIM:
            clauses[words] = None
    return tuple(clauses)
