"""Requests whose outcome is known: logged queries, or synthetic ones for a shop of items alone."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from adamroute.catalogue.folder import read_queries
from adamroute.catalogue.shop import Query, Shop, Split

SYNTHETIC_QUERIES = "queries.jsonl"  # written by the label stage where a shop logs no queries


def known_queries(shop: Shop, labels: Path, *splits: Split) -> tuple[Query, ...]:
    """Queries of the named splits; from the label stage's folder where the shop has none."""
    queries = shop.queries or read_queries(labels / SYNTHETIC_QUERIES, shop.catalogue)
    return tuple(q for q in queries if q.split in splits)


def outcome_source(shop: Shop) -> Literal["outcomes", "synthetic"]:
    """What every output that rests on known outcomes must say: `outcomes` or `synthetic`."""
    return "outcomes" if shop.queries else "synthetic"
