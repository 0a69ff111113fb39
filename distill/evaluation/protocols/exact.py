"""Exact-id protocol: each query against the whole catalogue, one wanted item.

The target is taken out of the history before anything looks at the request. Rows that repeat
another one are ranked once and counted as often as they stand in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Query, Shop
from adamroute.catalogue.shop_yaml import SHOP_YAML, parse_shop_yaml
from adamroute.catalogue.table_files import read_table
from adamroute.errors import ShopError


@dataclass(frozen=True, slots=True)
class Asked:
    """One different query, as a request, and how many rows of the file are it."""

    query: Query
    request: Request
    copies: int


def asked_queries(shop: Shop, queries: Sequence[Query]) -> tuple[Asked, ...]:
    """Each different (user, text, target) once, in file order."""
    copies = _copies(shop)
    first: dict[tuple[str, str, str], Query] = {}
    counts: dict[tuple[str, str, str], int] = {}
    for query in queries:
        key = (query.user_id, query.text, query.target_id)
        first.setdefault(key, query)
        counts[key] = counts.get(key, 0) + copies.get(query.query_id, 1)
    return tuple(Asked(query, shop.request(query), counts[key]) for key, query in first.items())


def repeats(asked: Sequence[Asked]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """[B] copies."""
    return np.array([one.copies for one in asked], np.int64)


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
