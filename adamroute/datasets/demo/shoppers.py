"""Requests in shoppers' words: they paraphrase a look or a function, never the listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from adamroute.datasets.demo.facts import PLURAL
from adamroute.datasets.demo.listings import Product, pick
from adamroute.datasets.demo.people import Person, draw
from adamroute.datasets.demo.words import COLOURS, FORMS, PATTERNS_ASKED, TYPES

KIND_SHARES = {"visual": 0.4, "functional": 0.4, "mixed": 0.2}
MAX_WORDS = 25
TRADE_SHARE = 0.85  # of the facts that another wording exists for use it
SLIP_SHARE = 0.04  # of the requests carry a typing slip

_TERSE = ("{n}", "{n}", "{n} please", "{n} any ideas?", "need {n}")
_PLAIN = (
    "Looking for {a}.",
    "Do you have {a}?",
    "I'd like {a}",
    "Could you show me {a}?",
    "Is there {a}?",
    "Can you find me {a}?",
    "I want {a}.",
    "After {a}, preferably something nice.",
)
_CHATTY = (
    "My sister has her birthday soon and she would adore {a}.",
    "The old one gave up last week, so now I want {a}.",
    "A friend let me borrow {a} and I have to get the same.",
    "We are moving in together and we still lack {a}.",
    "I've searched three shops already for {a}.",
    "I have been dreaming of {a} ever since the holidays.",
    "Hi there, my daughter keeps asking for {a}, can you help?",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One row of queries.jsonl."""

    query_id: str
    user_id: str
    query: str
    target_id: str
    kind: str
    split: str


def make_asks(
    people: Sequence[Person],
    products: Sequence[Product],
    liked: Sequence[Sequence[int]],
    n_queries: int,
    rng: np.random.Generator,
) -> tuple[Ask, ...]:
    """Requests dealt over the users in turn; kinds in fixed shares.

    `liked` holds the rows of each user's positives: about a third of the targets are among them,
    the others are new to the user but to their taste.
    """
    rounds = range(n_queries // len(people) + 1)
    turns = np.concatenate([rng.permutation(len(people)) for _ in rounds])
    kinds = _deal_kinds(n_queries, rng)
    asks = []
    for i in range(n_queries):
        who = int(turns[i])
        person = people[who]
        if liked[who] and rng.random() < 0.35:
            row = liked[who][int(rng.integers(len(liked[who])))]
        else:
            row = draw(np.array([person.affinity(p) for p in products]), 1, rng)[0]
        text = ask_for(products[row], kinds[i], rng)
        asks.append(Ask(f"q{i:04d}", person.user_id, text, products[row].item_id, kinds[i],
                        person.split))  # fmt: skip
    return tuple(asks)


def _deal_kinds(n_queries: int, rng: np.random.Generator) -> list[str]:
    visual = round(n_queries * KIND_SHARES["visual"])
    functional = visual + round(n_queries * KIND_SHARES["functional"])
    names = ["visual" if i < visual else "functional" if i < functional else "mixed"
             for i in range(n_queries)]  # fmt: skip
    return [names[int(k)] for k in rng.permutation(n_queries)]


def ask_for(product: Product, kind: str, rng: np.random.Generator) -> str:
    """A request of that kind for the product, 2 to MAX_WORDS words."""
    for attempt in count():
        style = pick(("terse", "terse", "plain", "plain", "chatty"), rng)
        text = _worded(product, kind, "terse" if attempt > 8 else style, rng)
        if 2 < len(text.split()) <= MAX_WORDS or attempt > 30:
            break
    if rng.random() < SLIP_SHARE:
        text = _slip(text, rng)
    return text


def _worded(product: Product, kind: str, style: str, rng: np.random.Generator) -> str:
    names = TYPES[product.look.type]
    noun = names[0] if rng.random() < 0.55 else pick(names, rng)
    if kind != "functional":
        noun = _looking(product, noun, rng, sparse=kind == "mixed")
    facts: list[int] = []
    if kind != "visual":
        chances = (0.7, 0.3, 0.0) if kind == "mixed" else (0.03, 0.5, 0.47)
        wanted = int(rng.choice([1, 2, 3], p=chances))
        order = rng.permutation(len(product.facts))[:wanted]
        facts = order.tolist()
    if style == "terse":
        text = pick(_TERSE, rng).format(
            n=", ".join([noun, *(_tag(product, k, rng) for k in facts)])
        )
        return text.lower() if rng.random() < 0.6 else text[0].upper() + text[1:]
    if facts:
        noun = _wishing(product, noun, facts, rng)
    template = pick(_PLAIN if style == "plain" else _CHATTY, rng)
    if product.look.type in PLURAL:
        template = template.replace("Is there", "Are there")
    text = template.format(a=_with_article(noun, product.look.type))
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
    look, forms = product.look, FORMS[product.look.type]
    accent = pick(COLOURS[look.accent], rng)
    phrases = [pick(forms[name].asked, rng) for name in (look.shape, look.detail)]
    if look.pattern != "plain" or rng.random() < 0.3:
        phrases.append(pick(PATTERNS_ASKED[look.pattern], rng).replace("{a}", accent))
    keep = 1 if sparse else int(rng.choice([2, 3], p=[0.6, 0.4]))
    order = rng.permutation(len(phrases))[:keep]
    for k in sorted(order.tolist(), reverse=True):
        noun = _wrap(phrases[k], noun)
    if rng.random() < 0.92:
        colour = pick(COLOURS[look.colour], rng)
        two_tone = look.pattern != "plain" and accent not in noun and rng.random() < 0.4
        noun = f"{colour} and {accent} {noun}" if two_tone else f"{colour} {noun}"
    return noun


def _wrap(phrase: str, noun: str) -> str:
    """Put the noun into the phrase; a second "with ..." becomes "and ..."."""
    if phrase.startswith("_ with ") and " with " in noun:
        return noun + " and " + phrase.removeprefix("_ with ")
    return phrase.replace("_", noun)


def _with_article(noun: str, type_: str) -> str:
    if type_ in PLURAL:
        return noun
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
