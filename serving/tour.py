"""The last act of the demo: serve the run, ask it a few things, time it, stop it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.errors import ServingError
from adamroute.recommender import Recommendation
from adamroute.serving.app import served
from adamroute.serving.client import Body, ask_server, client

TIMED = 60  # requests an endpoint, one client
SHOWN = 5  # items of the recommendation that is printed
INTENTS = ("visual", "functional")


def tour(config: Config) -> Iterator[str]:
    """Lines to print: a recommendation of each kind, then p50 and p95; then the server stops.

    Queries come from the test split, whose users no part of the run was fitted on.
    """
    shop = read_shop(config.shop)
    queries = known_queries(shop, config.stage("ranks"), "test")
    with served(config) as url:
        yield f"serving '{config.name}' on {url}"
        for query in _one_of_each_kind(queries):
            body: Body = {"user_id": query.user_id, "query": query.text, "n": SHOWN}
            yield from describe(shop, query, ask_server(url, body))
        yield ""
        for path in ("/v1/route", "/v1/recommend"):
            p50, p95 = np.percentile(_timed(url, path, queries), [50, 95])
            yield f"{path:<14} p50 {p50:5.1f} ms  p95 {p95:5.1f} ms  ({TIMED} requests, 1 client)"


def describe(shop: Shop, query: Query, answer: Recommendation) -> Iterator[str]:
    """One recommendation as a person would want to read it."""
    n_text, n_mm = answer.theta.split()
    sure = "-" if answer.confidence is None else f"{answer.confidence:.2f}"
    bar = "-" if answer.threshold is None else f"{answer.threshold:.2f}"
    yield ""
    yield f'"{query.text}"  (user {query.user_id}, {query.kind or "kind unknown"})'
    spent = (
        f"the first by {answer.theta.alpha:.1f} text + {1.0 - answer.theta.alpha:.1f} photos"
        if answer.combine == "fused"
        else f"{n_text} from text, {n_mm} from photos and text"
    )
    yield f"  theta: alpha {answer.theta.alpha:.1f}, budget {answer.theta.budget}: {spent}"
    yield (
        f"  source: {answer.source}, confidence {sure} (threshold {bar}), "
        f"fallback: {answer.fallback or 'none'}"
    )
    stages = ", ".join(f"{name} {ms:.1f}" for name, ms in answer.timings_ms.items())
    yield f"  ms: {stages}"
    for place, item in enumerate(answer.items, start=1):
        wanted = "  <- asked for" if item.item_id == query.target_id else ""
        photo = _photo(shop, item.image)
        yield (
            f"  {place}. {item.title:<28} level {item.score:.2f}  text #{item.text_rank:<4} "
            f"photo #{item.mm_rank:<4} {photo}{wanted}"
        )


def _photo(shop: Shop, image: str | None) -> str:
    if image is None:
        return "(no photo)"
    path = shop.folder / image
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _one_of_each_kind(queries: Sequence[Query]) -> list[Query]:
    found = [next((q for q in queries if q.kind == kind), None) for kind in INTENTS]
    return [query for query in found if query is not None] or list(queries[:1])


def _timed(url: str, path: str, queries: Sequence[Query]) -> list[float]:
    """Milliseconds of TIMED requests, one by one; ServingError unless all are answered."""
    times = []
    with client(url, 30.0) as asker:
        for place in range(TIMED):
            query = queries[place % len(queries)]
            reply = asker.post(path, json={"user_id": query.user_id, "query": query.text})
            if reply.status_code != httpx.codes.OK:
                raise ServingError(f"{url}{path}: HTTP {reply.status_code}: {reply.text[:500]}")
            times.append(1000.0 * reply.elapsed.total_seconds())
    return times
