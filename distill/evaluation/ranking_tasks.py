"""What protocols ask: logged queries by exact id, or the last positive against sampled items.

Exact id: each query against the whole catalogue. Its target is taken out of the history before
anything looks at the request; rows that repeat another one are ranked once and counted as often as
they stand in the file.

Query-free (MLLM-MSR): the last positive against 1,000 sampled items. Users and items with fewer
than five interactions are taken out until none is left. The preference is built from strictly
earlier interactions only, so what happened at the same moment is not read either. A fifth of the
users is tested: those whose sha256 lies highest, all of the split `test` wherever a split
is derived.
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
from adamroute.catalogue.shop import Query, Shop
from adamroute.catalogue.shop_yaml import SHOP_YAML, parse_shop_yaml
from adamroute.catalogue.table_files import read_table
from adamroute.errors import ShopError

Histories = Mapping[str, tuple[Interaction, ...]]
Rows = NDArray[np.int64]
CORE, NEGATIVES, TESTED = 5, 1000, 0.2


@dataclass(frozen=True, slots=True)
class RankingTask:
    """Find the target in the catalogue, or among some of its rows."""

    request: Request  # without a query: history strictly before the target
    target_id: str
    rows: Rows | None = None  # [1 + negatives], rising: the target's place says nothing
    copies: int = 1  # rows of the file that ask the same


def exact_tasks(shop: Shop, queries: Sequence[Query]) -> tuple[RankingTask, ...]:
    """Each different (user, text, target) once, in file order."""
    copies = _copies(shop)
    first: dict[tuple[str, str, str], Query] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for query in queries:
        key = (query.user_id, query.text, query.target_id)
        first.setdefault(key, query)
        counts[key] += copies.get(query.query_id, 1)
    return tuple(
        RankingTask(shop.request(query), query.target_id, copies=counts[key])
        for key, query in first.items()
    )


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


def query_free_tasks(
    shop: Shop, *, seed: int, core: int = CORE, negatives: int = NEGATIVES, tested: float = TESTED
) -> tuple[tuple[RankingTask, ...], dict[str, int]]:
    """The tasks of a shop in the order of user id, and what was counted on the way.

    Equal shop and seed give equal tasks. A user's negatives depend on the seed and the user id
    alone, and are items of the core the user never took. ShopError where times are no clock, or
    there are too few users or items.
    """
    if shop.time == "none":
        raise ShopError(
            f"{shop.folder}: interactions.time is 'none', but a last positive needs an order. "
            "Give timestamps and time 'global' or 'order', or a shop with queries"
        )
    histories = k_core(shop.histories, core)
    items = {shop.catalogue.row(x.item_id) for h in histories.values() for x in h}
    sampler = Sampler(shop, np.array(sorted(items), np.int64), seed, negatives)
    chosen = sorted(user for user in histories if place_of(user) >= 1.0 - tested)
    tasks = [sampler.task(histories[user], user) for user in chosen]
    found = tuple(task for task in tasks if task is not None)
    if not found:
        raise ShopError(
            f"{shop.folder}: {len(shop.histories)} users, {len(histories)} of them in the "
            f"{core}-core and {len(chosen)} to be tested, none with a positive. Give more data"
        )
    return found, {
        "users": len(histories),
        "items": len(items),
        "users_tested": len(chosen),
        "users_without_positive": len(tasks) - len(found),
    }


@dataclass(frozen=True)
class Sampler:
    """Draws every user's negatives from the rows of the core."""

    shop: Shop
    rows: Rows
    seed: int
    negatives: int

    def task(self, history: Sequence[Interaction], user: str) -> RankingTask | None:
        """None for a user without a positive."""
        positives = (x for x in history if x.positive)
        target = max(positives, key=lambda x: x.timestamp, default=None)
        if target is None:
            return None
        row_of = self.shop.catalogue.row_of
        taken = [row_of[x.item_id] for x in self.shop.histories[user]]
        unseen = np.setdiff1d(self.rows, np.array(taken, np.int64))
        if len(unseen) < self.negatives:
            raise ShopError(
                f"{self.shop.folder}: user {user!r} has {len(unseen)} unseen items of "
                f"{len(self.rows)}, wanted {self.negatives} to sample. Give a larger shop"
            )
        rng = np.random.default_rng([self.seed, *hashlib.sha256(user.encode()).digest()[:8]])
        sampled = rng.choice(unseen, self.negatives, replace=False)
        earlier = tuple(
            x for x in history if x.timestamp < target.timestamp and x.item_id != target.item_id
        )
        rows = np.sort(np.append(sampled, row_of[target.item_id]))
        request = Request(f"query-free:{user}", user, "", earlier)
        return RankingTask(request, target.item_id, rows)


def _copies(shop: Shop) -> Mapping[str, int]:
    """Column `copies` of the queries table, where it has one (adamroute data writes it)."""
    path = shop.folder / SHOP_YAML
    spec = parse_shop_yaml(path, path.read_bytes())
    if spec.queries is None:
        return {}
    table = read_table(
        shop.folder / spec.queries.file,
        spec.queries.form("queries"),
        columns=("query_id", "copies"),
        ids=("query_id",),
    )
    rows = table.with_ids("query_id")
    told = {query_id: (row.where, row.text("copies") or "1") for query_id, row in rows}
    for where, text in told.values():
        if not text.isdecimal() or int(text) < 1:
            raise ShopError(f"{where}: copies {text!r}, wanted a whole number from 1. Correct it")
    return {query_id: int(text) for query_id, (_, text) in told.items()}
