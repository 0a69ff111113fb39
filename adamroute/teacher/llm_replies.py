"""Replies that fit their schema, read as the loop's values, and what a schema can't check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from adamroute.catalogue.item_words import Intent, words_in
from adamroute.catalogue.request import PreferenceProfile
from adamroute.llm.fence import clean
from adamroute.teacher.context import Evidence
from adamroute.teacher.llm_schemas import MAX_PHRASE, MAX_QUERY, MAX_REASON
from adamroute.theta import Theta

Flaw = Literal["empty_query", "copies_query", "copies_title", "copies_listing"]
_WORDING: dict[Flaw, str] = {
    "empty_query": "is marked relevant and has an empty query",
    "copies_query": "has the real query; write one that asks for the product",
    "copies_title": "has the product's name in its query; describe the product instead",
    "copies_listing": "has the product's listing as its query; write a shopper's query",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A theta with its reason."""

    theta: Theta
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one evidence item."""

    relevant: bool
    query: str  # "" where not relevant
    flaw: Flaw | None  # why the query can't be used


@dataclass(frozen=True, slots=True)
class Stand:
    """Pseudo-queries as the model wrote them."""

    kind: Intent
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """One item as a model reads it, and the name that a query must not give away."""

    title: str
    text: str


def read_setting(value: JsonValue) -> Setting:
    """Of a reply that fits `theta_schema`."""
    reply: Any = value
    theta = Theta(float(reply["alpha"]), int(reply["budget"]))
    return Setting(theta, clean(reply["reason"], MAX_REASON))


def read_profile(value: JsonValue) -> PreferenceProfile:
    """Of a reply that fits `preferences_schema`: lower case, each phrase in one list only."""
    reply: Any = value
    strong = _phrases(reply["strong_pref"], ())
    nice = _phrases(reply["nice_to_have"], strong)
    return PreferenceProfile(strong, nice, _phrases(reply["dislike"], (*strong, *nice)))


def read_stand(
    value: JsonValue, query: str, items: Sequence[Evidence], listings: Sequence[Listing]
) -> Stand:
    """Of a reply that fits `pseudo_query_schema` for these items."""
    reply: Any = value
    verdicts = []
    for said, item, listing in zip(reply["items"], items, listings, strict=True):
        text = clean(said["query"], MAX_QUERY) if said["relevant"] else ""
        flaw = _flaw(text, query, item, listing) if said["relevant"] else None
        verdicts.append(Verdict(said["relevant"], text, flaw))
    return Stand(reply["kind"], tuple(verdicts))


def stand_problem(stand: Stand) -> str:
    """All flaws in words for the model; "" where there is none."""
    return "; ".join(
        f"product {number} {_WORDING[verdict.flaw]}"
        for number, verdict in enumerate(stand.verdicts, start=1)
        if verdict.flaw
    )


def _flaw(text: str, query: str, item: Evidence, listing: Listing) -> Flaw | None:
    words = words_in(text)
    title = words_in(listing.title)
    if not words:
        return "empty_query"
    if words == words_in(query):
        return "copies_query"
    if words == words_in(listing.text):
        return "copies_listing"
    named = set(title) - set(item.words.noun.split())  # a title that is its category is no name
    return "copies_title" if named and _holds(words, title) else None


def _holds(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the phrase stands somewhere in the words, unbroken."""
    size = len(phrase)
    return any(list(words[s : s + size]) == list(phrase) for s in range(len(words) - size + 1))


def _phrases(said: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    phrases = (clean(phrase, MAX_PHRASE).lower() for phrase in said)
    return tuple(dict.fromkeys(p for p in phrases if p and p not in taken))
