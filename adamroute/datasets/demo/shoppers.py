"""Shoppers of the demo shop: tastes, and the history that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.datasets.demo.listings import Product
from adamroute.datasets.demo.patterns import PATTERNS
from adamroute.datasets.demo.vocabulary import TRAITS, vocabulary

COLD_SHARE = 0.05  # users with at most two interactions
EPOCH_S = 1_735_689_600  # 2025-01-01, the shop's first day
SPLIT_SHARES = {"train": 0.55, "calibration": 0.20, "test": 0.25}

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Person:
    """One user: what attracts and repels them, and the split their queries belong to."""

    user_id: str
    split: str
    types: frozenset[str]
    liked: frozenset[str]  # colours, patterns and traits of facts
    disliked: frozenset[str]
    cold: bool

    def affinity(self, product: Product) -> float:
        """How much they would like it; wrong product types lose first."""
        look = product.look
        marks = [look.colour, look.colour, look.pattern, *(fact.trait for fact in product.facts)]
        score = sum((m in self.liked) - 1.5 * (m in self.disliked) for m in marks)
        return float(score if look.type in self.types else score - 4)


@dataclass(frozen=True, slots=True)
class Event:
    """One row of interactions.csv."""

    user_id: str
    item_id: str
    label: str
    timestamp: int


def make_people(n_users: int, rng: np.random.Generator) -> tuple[Person, ...]:
    """Users with tastes; splits and cold users are dealt in fixed shares."""
    splits = deal(n_users, SPLIT_SHARES, rng)
    n_cold = round(n_users * COLD_SHARE)
    cold = set(rng.permutation(n_users)[:n_cold].tolist())
    return tuple(_person(i, splits[i], i in cold, rng) for i in range(n_users))


def deal(count: int, shares: Mapping[str, float], rng: np.random.Generator) -> list[str]:
    """Names in fixed shares, shuffled; the last name gets what rounding leaves."""
    *firsts, last = shares
    names = [name for name in firsts for _ in range(round(count * shares[name]))]
    names += [last] * (count - len(names))
    return [names[int(k)] for k in rng.permutation(count)]


def _person(index: int, split: str, cold: bool, rng: np.random.Generator) -> Person:
    colours = rng.permutation(list(vocabulary().colours)).tolist()
    patterns = rng.permutation(list(PATTERNS)).tolist()
    traits = rng.permutation(list(TRAITS)).tolist()
    types = rng.permutation(list(vocabulary().types)).tolist()[: int(rng.integers(4, 8))]
    return Person(
        user_id=f"u{index:03d}",
        split=split,
        types=frozenset(types),
        liked=frozenset([*colours[:3], *patterns[:2], *traits[:2]]),
        disliked=frozenset([*colours[-3:], patterns[-1], traits[-1]]),
        cold=cold,
    )


def make_history(
    person: Person, products: Sequence[Product], rng: np.random.Generator
) -> list[Event]:
    """6 to 25 positives they find attractive, 1 to 6 negatives they don't, in global time."""
    appeal = np.array([person.affinity(p) for p in products])
    n_pos, n_neg = int(rng.integers(6, 26)), int(rng.integers(1, 7))
    if person.cold:
        n_pos, n_neg = int(rng.integers(0, 3)), 0
    n_pos = min(n_pos, max(1, len(products) // 4)) if n_pos else 0
    good = draw(appeal, n_pos, rng)
    repelled = -appeal - 8 * np.array([p.look.type not in person.types for p in products])
    repelled[good] = -np.inf
    bad = draw(repelled, min(n_neg, len(products) - n_pos), rng)
    labelled = [(row, "pos") for row in good] + [(row, "neg") for row in bad]
    start = EPOCH_S + rng.uniform(0, 150 * 86_400)
    moments = start + np.cumsum(rng.exponential(2.5 * 86_400, len(labelled)) + 60)
    return [
        Event(person.user_id, products[labelled[int(k)][0]].item_id, labelled[int(k)][1], int(t))
        for k, t in zip(rng.permutation(len(labelled)), moments, strict=True)
    ]


def draw(appeal: Vector, count: int, rng: np.random.Generator) -> list[int]:
    """Rows without repetition, by a softmax of the appeal (Gumbel top-k)."""
    noisy = appeal * 1.4 + rng.gumbel(size=len(appeal))
    return [int(row) for row in np.argsort(-noisy, kind="stable")[:count]]
