"""Writes queries that ask for one known item: the teacher's pseudo-queries, synthetic requests.

A pseudo-query must match the real one in kind, length and difficulty (DESIGN, section 4). The
writer gets kind and length, never the words of the real query. Difficulty comes after it: pseudo-
queries are reworded (wording.py), and the ranks of synthetic requests are matched by a factor.

Limits: the wording is that of templates around the listing's own words.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, STOPWORDS, Intent, ItemWords

MIN_WORDS, MAX_WORDS = 3, 20  # length of a query that is written; real ones outside are clipped
TERSE = 6  # up to here shoppers type keywords, beyond they write sentences

# What shoppers put before the thing they want, by rising number of words.
_OPENERS = (
    "a", "need a", "looking for a", "i need a", "show me a", "do you have a", "i would like a",
    "could you find me a", "i am looking for a", "i'm hoping to find a", "we are after a good",
    "is there anywhere i can find a", "i have been searching everywhere for a",
    "we just moved and now we need a", "my old one broke so i am looking for a",
)  # fmt: skip
_JOINTS = (", ", ", ", " that ", " where ", " - ")


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A query that asks for one item of the user's history."""

    item_id: str
    row: int
    kind: Intent
    text: str
    fallback: str | None = None  # what its writer had to do without


def write_query(words: ItemWords, kind: Intent, length: int, rng: Random) -> str:
    """A query of about `length` words for the item; `kind` must be among `words.kinds`.

    Visual queries name looks and noun, functional ones claims of the listing, mixed ones both.
    Looks are few, so a long visual query is long by its opening words.
    """
    length = min(max(length, MIN_WORDS), MAX_WORDS)
    noun = words.short_noun if rng.random() < 0.6 else words.noun
    looks = _some_looks(words, length, rng) if kind != "functional" else ""
    left = length - len(looks.split()) - len(noun.split())
    claim = _claim(words, left, length, rng) if kind != "visual" else ""
    if kind == "functional" and claim and rng.random() < 0.25:
        noun = "something" if length > TERSE else ""
    thing = _thing(looks, noun, rng)
    return _sentence(thing, claim, length, rng)


def kind_schedule(probabilities: NDArray[np.float64], count: int) -> tuple[Intent, ...]:
    """`count` kinds in the proportions of P(kind), [3]: each next one is the furthest behind."""
    given = np.zeros(len(INTENTS))
    schedule = []
    for step in range(1, count + 1):
        kind = int(np.argmax(probabilities * step - given))
        given[kind] += 1.0
        schedule.append(INTENTS[kind])
    return tuple(schedule)


def nearest_kind(words: ItemWords, wanted: Intent, probabilities: NDArray[np.float64]) -> Intent:
    """The wanted kind, or the most probable one that this item's listing allows."""
    if wanted in words.kinds:
        return wanted
    return max(words.kinds, key=lambda kind: float(probabilities[INTENTS.index(kind)]))


def _some_looks(words: ItemWords, length: int, rng: Random) -> str:
    most = min(len(words.looks), max(1, length // 3))
    chosen = rng.sample(words.looks, rng.randint(1, most))
    joint = " and " if len(chosen) == 2 and length > TERSE else " "
    return joint.join(chosen)


def _claim(words: ItemWords, left: int, length: int, rng: Random) -> str:
    """A stretch of one claim: its keywords in a terse query, its own wording in a sentence."""
    if not words.claims:
        return ""
    clause = rng.choice(words.claims)
    if length <= TERSE or rng.random() < 0.3:
        clause = tuple(w for w in clause if w not in STOPWORDS)
    size = max(2, left)
    start = rng.randint(0, max(0, len(clause) - size))
    return " ".join(_trimmed(clause[start : start + size]))


def _trimmed(clause: tuple[str, ...]) -> tuple[str, ...]:
    """Without the small words at either end that a cut leaves hanging."""
    kept = [place for place, word in enumerate(clause) if word not in STOPWORDS]
    return clause[kept[0] : kept[-1] + 1] if kept else clause


def _thing(looks: str, noun: str, rng: Random) -> str:
    if looks and noun and rng.random() < 0.25:
        return f"{noun} in {looks}"
    return " ".join(part for part in (looks, noun) if part)


def _sentence(thing: str, claim: str, length: int, rng: Random) -> str:
    if length <= TERSE:
        parts = [thing, claim] if rng.random() < 0.7 else [claim, thing]
        return " ".join(part for part in parts if part)
    joint = rng.choice(_JOINTS) if claim and thing else ""
    body = thing + joint + claim
    return _opened(body, length - len(body.split()), rng)


def _opened(body: str, room: int, rng: Random) -> str:
    """The body with an opening of about `room` words, and an article that fits."""
    fitting = [opener for opener in _OPENERS if abs(len(opener.split()) - room) <= 1]
    if not fitting and room < 3:
        return body
    opener = rng.choice(fitting or _OPENERS[-2:])
    first = body.split()[0]
    if first.startswith("something"):
        opener = opener.removesuffix(" good").removesuffix(" a")
    elif opener.endswith(" a") and first[0] in "aeiou":
        opener += "n"
    text = f"{opener} {body}" if opener != "a" else body
    return text + "?" if opener.startswith(("do you", "could you", "is there")) else text
