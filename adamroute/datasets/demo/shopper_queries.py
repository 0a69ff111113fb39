"""Requests in shoppers' words: they paraphrase a look or a function, never the listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from adamroute.datasets.demo.listings import Product
from adamroute.datasets.demo.looks import pick
from adamroute.datasets.demo.shoppers import Person, deal, draw
from adamroute.datasets.demo.vocabulary import in_number, vocabulary

INTENT_SHARES = {"visual": 0.4, "functional": 0.4, "mixed": 0.2}
MAX_WORDS = 25
TRADE_SHARE = 0.85  # of the facts that another wording exists for use it
SLIP_SHARE = 0.04  # of the requests carry a typing slip


@dataclass(frozen=True, slots=True)
class DemoQuery:
    """One row of queries.jsonl."""

    query_id: str
    user_id: str
    query: str
    target_id: str
    kind: str
    split: str


def make_queries(
    people: Sequence[Person],
    products: Sequence[Product],
    liked: Sequence[Sequence[int]],
    n_queries: int,
    rng: np.random.Generator,
) -> tuple[DemoQuery, ...]:
    """Requests dealt over the users in turn; intents in fixed shares.

    `liked` holds the rows of each user's positives: about a third of the targets are among them,
    the others are new to the user but to their taste.
    """
    rounds = range(n_queries // len(people) + 1)
    turns = np.concatenate([rng.permutation(len(people)) for _ in rounds])
    intents = deal(n_queries, INTENT_SHARES, rng)
    queries = []
    for i in range(n_queries):
        who = int(turns[i])
        person = people[who]
        if liked[who] and rng.random() < 0.35:
            row = liked[who][int(rng.integers(len(liked[who])))]
        else:
            row = draw(np.array([person.affinity(p) for p in products]), 1, rng)[0]
        queries.append(
            DemoQuery(
                query_id=f"q{i:04d}",
                user_id=person.user_id,
                query=ask_for(products[row], intents[i], rng),
                target_id=products[row].item_id,
                kind=intents[i],
                split=person.split,
            )
        )
    return tuple(queries)


def ask_for(product: Product, intent: str, rng: np.random.Generator) -> str:
    """A request of that intent for the product, 2 to MAX_WORDS words."""
    for attempt in count():
        style = pick(("terse", "terse", "plain", "plain", "chatty"), rng)
        text = _worded(product, intent, "terse" if attempt > 8 else style, rng)
        if 2 < len(text.split()) <= MAX_WORDS or attempt > 30:
            break
    return _slip(text, rng) if rng.random() < SLIP_SHARE else text


def _worded(product: Product, intent: str, style: str, rng: np.random.Generator) -> str:
    names = vocabulary().types[product.look.type].names
    noun = names[0] if rng.random() < 0.55 else pick(names, rng)
    if intent != "functional":
        noun = _looking(product, noun, rng, sparse=intent == "mixed")
    facts: list[int] = []
    if intent != "visual":
        chances = (0.7, 0.3, 0.0) if intent == "mixed" else (0.03, 0.5, 0.47)
        wanted = int(rng.choice([1, 2, 3], p=chances))
        facts = rng.permutation(len(product.facts))[:wanted].tolist()
    if style == "terse":
        return _terse(product, noun, facts, rng)
    return _sentence(product, noun, facts, style, rng)


def _terse(product: Product, noun: str, facts: list[int], rng: np.random.Generator) -> str:
    frame = pick(vocabulary().request.terse, rng)
    text = frame.format(n=", ".join([noun, *(_tag(product, k, rng) for k in facts)]))
    return text.lower() if rng.random() < 0.6 else text[0].upper() + text[1:]


def _sentence(
    product: Product, noun: str, facts: list[int], style: str, rng: np.random.Generator
) -> str:
    if facts:
        noun = _wishing(product, noun, facts, rng)
    frames, plural = vocabulary().request, vocabulary().types[product.look.type].plural
    frame = in_number(pick(frames.plain if style == "plain" else frames.chatty, rng), plural)
    text = frame.format(a=noun if plural else _with_article(noun))
    return text.lower() if rng.random() < 0.2 else text


def _wishing(product: Product, noun: str, facts: list[int], rng: np.random.Generator) -> str:
    """The noun with its facts: clauses after "that", at times one in trade words at the end."""
    wishes = [pick(product.facts[k].asked, rng) for k in facts]
    trade = _trade(product, facts[-1], rng)
    if trade and rng.random() < TRADE_SHARE:
        wishes.pop()
    else:
        trade = ""
    if len(wishes) > 1:
        wishes = [", ".join(wishes[:-1]) + " and " + wishes[-1]]
    clause = f" that {wishes[0]}" if wishes else ""
    return noun + clause + (f", {trade}" if trade else "")


def _tag(product: Product, k: int, rng: np.random.Generator) -> str:
    """Fact k as a terse phrase, at times in trade words."""
    trade = _trade(product, k, rng)
    return trade if trade and rng.random() < TRADE_SHARE else pick(product.facts[k].tag, rng)


def _trade(product: Product, k: int, rng: np.random.Generator) -> str:
    """Fact k as other sellers put it; empty where only the listing's own words are left."""
    options = tuple(s for s in product.facts[k].said if s != product.said[k])
    return pick(options, rng).rstrip(".").lower() if options else ""


def _looking(product: Product, noun: str, rng: np.random.Generator, *, sparse: bool) -> str:
    """The noun wrapped in words for some of what the photo shows, colour nearly always."""
    look, known = product.look, vocabulary()
    kind = known.types[look.type]
    accent = pick(known.colours[look.accent].words, rng)
    forms = (kind.shapes[look.shape], kind.details[look.detail])
    phrases = [pick(form.asked, rng) for form in forms]
    if look.pattern != "plain" or rng.random() < 0.3:
        phrases.append(pick(known.patterns[look.pattern].asked, rng).replace("{a}", accent))
    keep = 1 if sparse else int(rng.choice([2, 3], p=[0.6, 0.4]))
    order = rng.permutation(len(phrases))[:keep]
    for k in sorted(order.tolist(), reverse=True):
        noun = _wrap(phrases[k], noun)
    if rng.random() < 0.92:
        colour = pick(known.colours[look.colour].words, rng)
        two_tone = look.pattern != "plain" and accent not in noun and rng.random() < 0.4
        noun = f"{colour} and {accent} {noun}" if two_tone else f"{colour} {noun}"
    return noun


def _wrap(phrase: str, noun: str) -> str:
    """Put the noun into the phrase; a second "with ..." becomes "and ..."."""
    if phrase.startswith("_ with ") and " with " in noun:
        return noun + " and " + phrase.removeprefix("_ with ")
    return phrase.replace("_", noun)


def _with_article(noun: str) -> str:
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def _slip(text: str, rng: np.random.Generator) -> str:
    """Two neighbouring letters of a long word change places."""
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 5 and word.isalpha()]
    if not long:
        return text
    i = long[int(rng.integers(len(long)))]
    at = int(rng.integers(1, len(words[i]) - 2))
    word = words[i]
    words[i] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)
