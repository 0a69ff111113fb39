"""Preference profiles: p_u in the paper, made from a history without a language model.

The embedded profiler counts. What a user's items share (category, values of the shop's visual
columns) is what the user is taken to want; nothing is read from queries or from other users.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import Interaction, PreferenceProfile
from adamroute.errors import RequestError

PHRASES = 4  # kept in each part: a student's prompt has 64 tokens for everything
STRONG_HITS = 2  # items that must agree before a wish is strong, or a rejection a dislike

_SEPARATORS = re.compile(r"[,;/|]")


@dataclass(frozen=True, slots=True)
class Traits:
    """What the profiler may count of one item: lower-case phrases, each once."""

    category: str  # "" where the shop names none
    looks: tuple[str, ...]  # values of the visual attributes, "black,white" as two

    @property
    def phrases(self) -> tuple[str, ...]:
        """Looks first: they are what the multimodal branch can act on."""
        return tuple(dict.fromkeys((*self.looks, *([self.category] if self.category else ()))))


def item_traits(category: str, visual: Mapping[str, str]) -> Traits:
    """Traits of one item from its category and visual attributes."""
    values = (_phrase(v) for text in visual.values() for v in _SEPARATORS.split(text))
    return Traits(_phrase(category), tuple(dict.fromkeys(v for v in values if v)))


def traits_by_id(
    ids: Sequence[str], categories: Sequence[str], visual: Sequence[Mapping[str, str]]
) -> Mapping[str, Traits]:
    """Traits of every item of a catalogue or an index, by item id."""
    return {i: item_traits(c, v) for i, c, v in zip(ids, categories, visual, strict=True)}


def profile_of(history: Sequence[Interaction], traits: Mapping[str, Traits]) -> PreferenceProfile:
    """p_u from a history, earliest interaction first.

    strong_pref: phrases of two or more positives; nice_to_have: the positives' other phrases;
    dislike: phrases of two or more negatives that no positive has. Each part is ordered by count,
    then by the latest occurrence, then by spelling, and cut at four phrases.
    RequestError names an item that `traits` does not know.
    """
    liked = _ranked(history, traits, positive=True)
    rejected = _ranked(history, traits, positive=False)
    strong = [phrase for phrase, count in liked.items() if count >= STRONG_HITS][:PHRASES]
    nice = [phrase for phrase in liked if phrase not in strong][:PHRASES]
    dislike = [p for p, count in rejected.items() if count >= STRONG_HITS and p not in liked]
    return PreferenceProfile(tuple(strong), tuple(nice), tuple(dislike[:PHRASES]))


def liked_items(history: Sequence[Interaction], row_of: Mapping[str, int]) -> NDArray[np.int64]:
    """Rows of a history's positives, [H]; the latest label of an item counts."""
    return _labelled(history, row_of, positive=True)


def disliked_items(history: Sequence[Interaction], row_of: Mapping[str, int]) -> NDArray[np.int64]:
    """The same of its negatives."""
    return _labelled(history, row_of, positive=False)


def preference_text(profile: PreferenceProfile) -> str:
    """The wishes as one short line: e_pref is its embedding, and query-free requests ask it.

    Dislikes are left out, since an embedding of "not red" lies beside "red". "" where no wish is
    known.
    """
    return ", ".join(dict.fromkeys((*profile.strong_pref, *profile.nice_to_have)))


def _labelled(
    history: Sequence[Interaction], row_of: Mapping[str, int], *, positive: bool
) -> NDArray[np.int64]:
    labels = {x.item_id: x.positive for x in history}
    return np.array([row_of[item] for item, said in labels.items() if said == positive], np.int64)


def _ranked(
    history: Iterable[Interaction], traits: Mapping[str, Traits], *, positive: bool
) -> dict[str, int]:
    """Phrases of one label with their counts: frequent first, then recent, then by spelling."""
    counts: Counter[str] = Counter()
    last: dict[str, int] = {}
    for place, interaction in enumerate(history):
        if interaction.positive != positive:
            continue
        for phrase in _known(interaction.item_id, traits).phrases:
            counts[phrase] += 1
            last[phrase] = place
    order = sorted(counts, key=lambda phrase: (-counts[phrase], -last[phrase], phrase))
    return {phrase: counts[phrase] for phrase in order}


def _known(item_id: str, traits: Mapping[str, Traits]) -> Traits:
    try:
        return traits[item_id]
    except KeyError:
        raise RequestError(
            "history", f"item {item_id!r}: not among the {len(traits)} items of the catalogue"
        ) from None


def _phrase(text: str) -> str:
    return " ".join(text.lower().split())
