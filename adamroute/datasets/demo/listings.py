"""Items of the demo shop: a look, functional facts, and a listing that tells some of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from adamroute.datasets.demo.facts import COMMON, FACTS, PLURAL, Fact, Family
from adamroute.datasets.demo.looks import INTENTS, Look, pick_look
from adamroute.datasets.demo.words import FORMS, PATTERNS_SAID

T = TypeVar("T")
OWN_FACTS = (3, 5)  # from, below

_OPENINGS = (
    "An honest {t} for everyday use.",
    "A favourite with our own staff.",
    "Back in stock after many requests.",
    "Designed in a small studio and made in short runs.",
    "The {t} you stop noticing because nothing about it annoys you.",
    "New this season.",
    "We have sold this one for years and see few returns.",
    "Small maker, careful finish.",
    "Simple idea, well made.",
    "Made for people who use their things hard.",
    "Our answer to a long list of customer letters.",
    "Not the cheapest in our range, and worth it.",
)
_PLURAL_OPENINGS = {
    "An honest {t} for everyday use.": "Honest {t} for everyday use.",
    "The {t} you stop noticing because nothing about it annoys you.":
        "The {t} you stop noticing because nothing about them annoys you.",
    "We have sold this one for years and see few returns.":
        "We have sold these for years and see few returns.",
}  # fmt: skip
_CLOSINGS = (
    "",
    "",
    "Usually sent within two days.",
    "Returns are free for a month.",
    "Ask us if you are unsure.",
    "Sold singly.",
    "See the care leaflet for details.",
)
_LOOK_SENTENCES = (
    "{C} {pattern}, {shape} and {detail}.",
    "This one comes in {c} {pattern}; it has {shape} and {detail}.",
    "Shown here: {c} {pattern}, with {shape}, {detail}.",
    "{C} {pattern}. Note {shape} and {detail}.",
)
_STARTS = ("Bra", "Dro", "Fen", "Gul", "Hol", "Jor", "Kvi", "Lum", "Mav", "Nor", "Osk", "Pel",
           "Rys", "Sku", "Tov", "Ulv", "Vex", "Wim", "Ygg", "Zan")  # fmt: skip
_MIDDLES = ("da", "le", "mi", "no", "ru", "sto", "va", "ki", "bre", "lo")
_ENDS = ("vik", "ska", "nor", "bryn", "dal", "qvist", "holm", "fjel", "rud", "zen")


@dataclass(frozen=True, slots=True)
class Product:
    """An item with all that is true of it; only `name`, type and `description` are its listing."""

    item_id: str
    name: str
    look: Look
    facts: tuple[Fact, ...]
    said: tuple[str, ...]  # the sentence of the listing that states each fact
    mentions_look: bool
    description: str

    @property
    def image(self) -> str:
        return f"images/{self.item_id}.jpg"


def make_products(n_items: int, rng: np.random.Generator) -> tuple[Product, ...]:
    """Products of all types in equal shares; exactly half of them mention their look."""
    types = [list(INTENTS)[i % len(INTENTS)] for i in range(n_items)]
    order = rng.permutation(n_items)
    mentions = set(rng.permutation(n_items)[: n_items // 2].tolist())
    names = _names(n_items, rng)
    return tuple(
        _product(f"d{i:05d}", names[i], types[int(order[i])], i in mentions, rng)
        for i in range(n_items)
    )


def _names(count: int, rng: np.random.Generator) -> list[str]:
    every = [a + b + c for a in _STARTS for b in _MIDDLES for c in _ENDS]
    picked = rng.permutation(len(every))
    rounds = range(1 + count // len(every))
    numbered = [every[int(p)] + (f" {r + 1}" if r else "") for r in rounds for p in picked]
    return numbered[:count]


def _product(
    item_id: str, name: str, type_: str, mentions_look: bool, rng: np.random.Generator
) -> Product:
    look = pick_look(type_, rng)
    facts = _pick_facts(type_, rng)
    said = tuple(pick(fact.said, rng) for fact in facts)
    body = list(said)
    if mentions_look:
        body.insert(int(rng.integers(len(body) + 1)), _look_sentence(look, rng))
    opening, closing = pick(_OPENINGS, rng), pick(_CLOSINGS, rng)
    if type_ in PLURAL:
        opening = _PLURAL_OPENINGS.get(opening, opening)
    description = " ".join(s for s in (opening.format(t=type_), *body, closing) if s)
    return Product(item_id, name, look, facts, said, mentions_look, description)


def _pick_facts(type_: str, rng: np.random.Generator) -> tuple[Fact, ...]:
    """Facts of the type's own families in random order, half of the time with a common one."""
    own = FACTS[type_]
    chosen = rng.permutation(len(own))[: int(rng.integers(*OWN_FACTS))]
    families: list[Family] = [own[int(k)] for k in chosen]
    if rng.random() < 0.5:
        families.insert(int(rng.integers(len(families) + 1)), pick(COMMON[type_], rng))
    return tuple(pick(family, rng) for family in families)


def _look_sentence(look: Look, rng: np.random.Generator) -> str:
    forms = FORMS[look.type]
    template = pick(_LOOK_SENTENCES, rng)
    if look.type in PLURAL:
        template = template.replace("This one comes", "These come").replace("it has", "they have")
    return template.format(
        C=look.colour.capitalize(),
        c=look.colour,
        pattern=PATTERNS_SAID[look.pattern].format(a=look.accent),
        shape=forms[look.shape].said,
        detail=forms[look.detail].said,
    )


def pick(options: tuple[T, ...], rng: np.random.Generator) -> T:
    """One of the options, uniformly."""
    return options[int(rng.integers(len(options)))]
