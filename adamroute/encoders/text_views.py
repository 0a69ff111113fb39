"""Short texts that stand for a shopper's words about an item, written from its own listing.

The alignment learns from them in place of queries, which it never sees.
"""

from __future__ import annotations

import re
from random import Random

from adamroute.catalogue.shop import Item

CLAUSE_END = re.compile(r"[.;,!?]")
OPENINGS = (
    "{}", "{}", "a {}", "i need a {}", "looking for a {}", "i'm after a {}", "do you have a {}?",
    "is there a {}?", "could you show me a {}?", "i'd like a {}", "we want a {} for our home",
    "can you find me a {}?", "my old one broke, so i need a {}",
)  # fmt: skip
JOINS = (" ", ", ", " that ", " with ")
SNIPPET = 6  # words kept where a clause is cut short
LEAST = 3  # words a cut clause must still have


def text_views(item: Item) -> tuple[str, str]:
    """The two short texts a photo is paired with: "colour type", "colour type. first clause".

    Visual values and category make the first; a shop without them falls back to the title. The
    clause is the first of the listing behind its title.
    """
    head = " ".join(part for part in (_looks(item), item.category) if part)
    head = head or item.title or item.text
    clause = next(iter(_clauses(item)), "")
    return head, f"{head}. {clause}" if clause else head


def query_view(item: Item) -> str:
    """A request for the item as a shopper might type it: by looks, by use, or by both.

    Drawn by the item's id, so that an item always gives the same one.
    """
    rng = Random(f"query view|{item.item_id}")
    noun = item.category or item.title or item.text
    seen = " ".join(part for part in (_looks(item), noun) if part)
    clauses = _clauses(item)
    clause = _cut(rng.choice(clauses), rng) if clauses else ""
    bodies = (seen, noun + rng.choice(JOINS) + clause, f"{seen}, {clause}")
    body = rng.choice(bodies) if clause else seen
    return rng.choice(OPENINGS).format(body.lower())


def functional_view(item: Item, number: int) -> str:
    """A request for the item by its use, written from its listing; `number` tells several apart.

    The text branch learns from them how one asks. Drawn by the item's id, as `query_view` is.
    """
    rng = Random(f"functional view|{number}|{item.item_id}")
    noun = item.category or item.title or item.text
    clauses = _clauses(item)
    if not clauses:
        return rng.choice(OPENINGS).format(noun.lower())
    clause = _cut(rng.choice(clauses), rng)
    body = rng.choice((noun + rng.choice(JOINS) + clause, clause, f"{noun} {clause}"))
    return rng.choice(OPENINGS).format(body.lower())


def _looks(item: Item) -> str:
    return " ".join(item.visual.values()).replace(",", " ")


def _clauses(item: Item) -> list[str]:
    rest = item.text.removeprefix(item.title).lstrip(" .,;:-")
    return [clause for part in CLAUSE_END.split(rest) if (clause := part.strip())]


def _cut(clause: str, rng: Random) -> str:
    """The clause, or half of the time a few words of it: shoppers don't quote listings."""
    words = clause.split()
    start = rng.randrange(len(words))
    if rng.random() < 0.5 and len(words) - start >= LEAST:
        return " ".join(words[start : start + SNIPPET])
    return clause
