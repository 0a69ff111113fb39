"""Requests whose outcome is known: logged queries, or synthetic ones for a shop of items alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from adamroute.catalogue.folder import read_queries
from adamroute.catalogue.shop import Query, Shop, Split

WRITTEN = "synthetic:"  # how ids of synthetic requests begin
SYNTHETIC_QUERIES = "queries.jsonl"  # of stage `ranks`: the synthetic requests


def known_queries(shop: Shop, ranks: Path, *splits: Split) -> tuple[Query, ...]:
    """Queries of the named splits: the shop's own, or the synthetic ones where it logs none.

    `ranks` is the folder of that stage.
    """
    queries = shop.queries or synthetic_queries(shop, ranks)
    return tuple(q for q in queries if q.split in splits)


def synthetic_queries(shop: Shop, ranks: Path) -> tuple[Query, ...]:
    """The synthetic requests of all splits; all are train rows where the shop logs queries."""
    path = ranks / SYNTHETIC_QUERIES
    return read_queries(path, shop.catalogue) if path.is_file() else ()


def unstated_queries(ranks: Path) -> frozenset[str]:
    """Ids of synthetic requests that ask for what the listing does not state."""
    path = ranks / SYNTHETIC_QUERIES
    if not path.is_file():
        return frozenset()
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return frozenset(row["query_id"] for row in rows if row["unstated"])


def outcome_source(shop: Shop) -> Literal["outcomes", "synthetic"]:
    """What every output that rests on known outcomes must say: `outcomes` or `synthetic`."""
    return "outcomes" if shop.queries else "synthetic"
