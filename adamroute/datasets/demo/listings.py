"""Items of the demo shop: a look, functional facts, and a listing that tells some of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from adamroute.datasets.demo.looks import Look, pick, pick_look
from adamroute.datasets.demo.vocabulary import Fact, in_number, vocabulary

OWN_FACTS = (3, 5)  # from, below


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
    types = list(islice(cycle(vocabulary().types), n_items))
    order = rng.permutation(n_items)
    mentions = set(rng.permutation(n_items)[: n_items // 2].tolist())
    names = _names(n_items, rng)
    return tuple(
        _product(f"d{i:05d}", names[i], types[int(order[i])], i in mentions, rng)
        for i in range(n_items)
    )


def _names(count: int, rng: np.random.Generator) -> list[str]:
    parts = vocabulary().names
    every = [a + b + c for a in parts.starts for b in parts.middles for c in parts.ends]
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
    sentences, plural = vocabulary().listing, vocabulary().types[type_].plural
    opening = in_number(pick(sentences.openings, rng), plural).format(t=type_)
    closing = pick(sentences.closings, rng)
    description = " ".join(s for s in (opening, *body, closing) if s)
    return Product(item_id, name, look, facts, said, mentions_look, description)


def _pick_facts(type_: str, rng: np.random.Generator) -> tuple[Fact, ...]:
    """Facts of the type's own families in random order, half of the time with a common one."""
    kind = vocabulary().types[type_]
    chosen = rng.permutation(len(kind.facts))[: int(rng.integers(*OWN_FACTS))]
    families = [kind.facts[int(k)] for k in chosen]
    if rng.random() < 0.5:
        families.insert(int(rng.integers(len(families) + 1)), pick(vocabulary().common, rng))
    return tuple(pick(family, rng).agreeing(kind.plural) for family in families)


def _look_sentence(look: Look, rng: np.random.Generator) -> str:
    known, kind = vocabulary(), vocabulary().types[look.type]
    return in_number(pick(known.listing.looks, rng), kind.plural).format(
        C=look.colour.capitalize(),
        c=look.colour,
        pattern=known.patterns[look.pattern].said.format(a=look.accent),
        shape=kind.shapes[look.shape].said,
        detail=kind.details[look.detail].said,
    )
