"""Query-free protocol of MLLM-MSR: the last positive against 1,000 sampled items.

Users and items with fewer than five interactions are taken out until none is left. A user's last
positive is the target; the preference is built from strictly earlier interactions only, so what
happened at the same moment is not read either. A fifth of the users is tested: those whose
sha256 lies highest, which are all of the split `test` wherever a split is derived.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.queries import place_of
from adamroute.catalogue.request import Interaction, Request
from adamroute.catalogue.shop import Shop
from adamroute.errors import ShopError

Histories = Mapping[str, tuple[Interaction, ...]]
Rows = NDArray[np.int64]
CORE, NEGATIVES, TESTED = 5, 1000, 0.2


@dataclass(frozen=True)
class Choice:
    """One user's task: find the target among the candidates."""

    request: Request  # without a query; history strictly before the target
    target_id: str
    rows: Rows  # [1 + negatives] catalogue rows, rising: the target's place says nothing


@dataclass(frozen=True)
class Choices:
    """All tasks, and what was counted on the way."""

    tasks: tuple[Choice, ...]
    counts: Mapping[str, int]


def k_core(histories: Histories, k: int = CORE) -> Histories:
    """The largest part in which every user has k items and every item k users."""
    kept = {user: tuple(history) for user, history in histories.items()}
    while True:
        items = Counter(i for h in kept.values() for i in {x.item_id for x in h})
        left = {u: tuple(x for x in h if items[x.item_id] >= k) for u, h in kept.items()}
        left = {u: h for u, h in left.items() if len({x.item_id for x in h}) >= k}
        if left == kept:
            return left
        kept = left


def choices(
    shop: Shop, *, seed: int, core: int = CORE, negatives: int = NEGATIVES, tested: float = TESTED
) -> Choices:
    """The tasks of a shop in the order of user id; equal shop and seed give equal tasks.

    A user's negatives depend on the seed and the user id alone, and are items of the core the user
    never took. ShopError where times are no clock, or there are too few users or items.
    """
    if shop.time == "none":
        raise ShopError(
            f"{shop.folder}: interactions.time is 'none', but a last positive needs an order. "
            "Give timestamps and time 'global' or 'order', or a shop with queries"
        )
    histories = k_core(shop.histories, core)
    rows = np.array(
        sorted({shop.catalogue.row(x.item_id) for h in histories.values() for x in h}), np.int64
    )
    chosen = sorted(user for user in histories if place_of(user) >= 1.0 - tested)
    tasks = [_task(shop, histories[user], user, rows, seed, negatives) for user in chosen]
    counts = {
        "users": len(histories),
        "items": len(rows),
        "users_tested": len(chosen),
        "users_without_positive": sum(task is None for task in tasks),
    }
    if not any(tasks):
        raise ShopError(
            f"{shop.folder}: {len(shop.histories)} users, {len(histories)} of them in the "
            f"{core}-core and {len(chosen)} to be tested, none with a positive. Give more data"
        )
    return Choices(tuple(task for task in tasks if task is not None), counts)


def _task(
    shop: Shop,
    history: Sequence[Interaction],
    user: str,
    rows: Rows,
    seed: int,
    negatives: int,
) -> Choice | None:
    target = max((x for x in history if x.positive), key=lambda x: x.timestamp, default=None)
    if target is None:
        return None
    row_of = shop.catalogue.row_of
    taken = [row_of[x.item_id] for x in shop.histories[user]]
    unseen = np.setdiff1d(rows, np.array(taken, np.int64))
    if len(unseen) < negatives:
        raise ShopError(
            f"{shop.folder}: user {user!r} has {len(unseen)} unseen items of {len(rows)}, wanted "
            f"{negatives} to sample. Give a larger shop"
        )
    sampled = _rng(seed, user).choice(unseen, negatives, replace=False)
    earlier = tuple(
        x for x in history if x.timestamp < target.timestamp and x.item_id != target.item_id
    )
    return Choice(
        request=Request(f"query-free:{user}", user, "", earlier),
        target_id=target.item_id,
        rows=np.sort(np.append(sampled, row_of[target.item_id])),
    )


def _rng(seed: int, user: str) -> np.random.Generator:
    return np.random.default_rng([seed, *hashlib.sha256(user.encode()).digest()[:8]])
