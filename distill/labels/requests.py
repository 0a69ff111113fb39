"""Stage `ranks`: every request with a known outcome, and where the index ranks what it asks for.

Written once a run, for all splits: queries.jsonl (the synthetic requests) and ranks.parquet (those
and the shop's logged queries). Labels, fitting and reports read them, and so do the folds of a
report, which deal the same requests to other splits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from pydantic import JsonValue

from adamroute.assembly import load_index
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.item_words import catalogue_words
from adamroute.catalogue.known_queries import SYNTHETIC_QUERIES
from adamroute.catalogue.shop import SPLITS, Query
from adamroute.config import Config
from adamroute.distill.labels.synthetic import (
    as_queries_file,
    nothing_to_learn,
    synthetic_requests,
)
from adamroute.pipeline import RANKS
from adamroute.progress import Progress
from adamroute.retrieval.ranks import rank_arrays, save_ranks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, Manifest, Work, write_text

CHUNK = 256  # requests a piece: what a killed run may lose, some two seconds
LISTED = 100  # rows kept of each branch's list, the largest K that every report measures


def run_ranks(config: Config, progress: Progress) -> Manifest:
    """Write ranks/; nothing to do where it is fresh. Stops and resumes at any point."""

    def make(work: Work) -> Counts:
        index = load_index(config.stage("index"))
        return write_ranks(config, read_shop(config.shop).queries, index, work, progress)

    return RANKS.run(config, make)


def write_ranks(
    config: Config, logged: Sequence[Query], index: SearchIndex, work: Work, progress: Progress
) -> Counts:
    """The stage's work, over an index at hand; `logged` are the shop's queries, of all splits."""
    words = catalogue_words(index.titles, index.texts, index.categories, index.visual)
    made = synthetic_requests(
        index.ids, words, count=config.labels.synthetic_requests, seed=config.seed,
        split_items=not logged,
    )  # fmt: skip
    budget = min(config.routing.mean_budget, config.routing.tau, len(index))
    listed = max(LISTED, budget)
    groups = [("synthetic", made, 0 if logged else listed), ("logged", logged, listed)]
    parts = []
    with progress.task("ranks of requests", len(made) + len(logged)) as advance:
        for source, queries, length in groups:
            for name, chunk in _chunks(source, queries):
                rank = partial(rank_arrays, index, chunk, length)
                parts.append((chunk, work.pieces.arrays(name, rank)))
                advance(len(chunk))
    if not parts:
        raise nothing_to_learn(config.labels.synthetic_requests, len(index))
    if made:
        write_text(work.folder / SYNTHETIC_QUERIES, as_queries_file(made))
    save_ranks(work.folder, parts)
    return {"synthetic": _splits(made), "logged": _splits(logged)}


def _chunks(source: str, queries: Sequence[Query]) -> Iterator[tuple[str, Sequence[Query]]]:
    """Named pieces of one split each: what is encoded together, so that vectors stay the same."""
    for split in SPLITS:
        rows = [query for query in queries if query.split == split]
        for start in range(0, len(rows), CHUNK):
            yield f"{source}-{split}-{start:06d}", rows[start : start + CHUNK]


def _splits(queries: Sequence[Query]) -> dict[str, JsonValue]:
    return {**Counter(query.split for query in queries)}
