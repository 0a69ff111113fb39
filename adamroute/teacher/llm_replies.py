"""Forms of the replies, what they say in the loop's values, and what a form can't check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from adamroute.catalogue.item_words import Intent, words_in
from adamroute.catalogue.preferences import PHRASES
from adamroute.catalogue.request import PreferenceProfile
from adamroute.llm.chat import ReplyForm
from adamroute.llm.fence import clean
from adamroute.teacher.context import Evidence
from adamroute.theta import Theta

MAX_PHRASE = 40  # characters
MAX_QUERY = 200
MAX_REASON = 200
Phrase = Annotated[str, Field(min_length=1, max_length=MAX_PHRASE)]
Phrases = Annotated[list[Phrase], Field(max_length=PHRASES)]

Flaw = Literal["empty_query", "copies_query", "copies_title", "copies_listing"]
_WORDING: dict[Flaw, str] = {
    "empty_query": "is marked relevant and has an empty query",
    "copies_query": "has the real query; write one that asks for the product",
    "copies_title": "has the product's name in its query; describe the product instead",
    "copies_listing": "has the product's listing as its query; write a shopper's query",
}


class PreferencesReply(ReplyForm):
    """Three lists of a few short phrases."""

    strong_pref: Phrases
    nice_to_have: Phrases
    dislike: Phrases

    def profile(self) -> PreferenceProfile:
        """Lower case, each phrase in one list only."""
        strong = _phrases(self.strong_pref, ())
        nice = _phrases(self.nice_to_have, strong)
        return PreferenceProfile(strong, nice, _phrases(self.dislike, (*strong, *nice)))


class ThetaReply(ReplyForm):
    """Why, then alpha and budget: in this order, so that the reason can still decide."""

    reason: Annotated[str, Field(max_length=MAX_REASON)]
    alpha: Annotated[float, Field(ge=0, le=1)]
    budget: int  # see theta_form

    @property
    def theta(self) -> Theta:
        return Theta(self.alpha, self.budget)


@cache
def theta_form(budgets: tuple[int, ...]) -> type[ThetaReply]:
    """ThetaReply with one of these budgets."""
    one_of: Any = Literal
    return create_model("ThetaReply", __base__=ThetaReply, budget=(one_of[budgets], ...))


class ItemReply(ReplyForm):
    """One evidence item: does it speak for the request, and what query would find it?"""

    relevant: bool
    query: Annotated[str, Field(max_length=MAX_QUERY)]


class QueriesReply(ReplyForm):
    """The intent of the real query, then one verdict an item."""

    kind: Intent
    items: list[ItemReply]  # see queries_form


@cache
def queries_form(items: int) -> type[QueriesReply]:
    """QueriesReply for so many evidence items."""
    exactly = Field(min_length=items, max_length=items)
    return create_model("QueriesReply", __base__=QueriesReply, items=(list[ItemReply], exactly))


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """What became of one evidence item."""

    relevant: bool
    query: str  # "" where not relevant
    flaw: Flaw | None  # why the query can't be used


@dataclass(frozen=True, slots=True)
class Listing:
    """One item as a model reads it, and the name that a query must not give away."""

    title: str
    text: str


def verdicts(
    reply: QueriesReply, query: str, items: Sequence[Evidence], listings: Sequence[Listing]
) -> list[ItemVerdict]:
    """One an item; `reply` is of queries_form(len(items))."""
    found = []
    for said, item, listing in zip(reply.items, items, listings, strict=True):
        text = clean(said.query, MAX_QUERY) if said.relevant else ""
        flaw = _flaw(text, query, item, listing) if said.relevant else None
        found.append(ItemVerdict(said.relevant, text, flaw))
    return found


def flaws_in_words(found: Sequence[ItemVerdict]) -> str:
    """All flaws in words for the model; "" where there is none."""
    return "; ".join(
        f"product {number} {_WORDING[verdict.flaw]}"
        for number, verdict in enumerate(found, start=1)
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
