"""Stage `ranks`: every request with a known outcome, and where the index ranks what it asks for.

Written once a run, for all splits: queries.jsonl (the synthetic requests) and ranks.parquet (those
and the shop's logged queries). Labels, fitting and reports read them, and so do the folds of a
report, which deal the same requests to other splits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.assembly import load_index
from adamroute.catalogue.folds import whole_shop
from adamroute.catalogue.known_queries import SYNTHETIC_QUERIES
from adamroute.catalogue.shop import SPLITS, Query
from adamroute.config import Config
from adamroute.distill.labels.paraphrase_fit import catalogue_paraphraser
from adamroute.distill.labels.synthetic import Writer, as_queries_file, nothing_to_learn
from adamroute.pipeline import RANKS
from adamroute.progress import Progress
from adamroute.retrieval.cross_fit import CrossFitted, load_folds
from adamroute.retrieval.ranks import Arrays, query_arrays, rank_arrays, rank_fields, save_ranks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, Manifest, Work, write_text
from adamroute.teacher.paraphrase import Paraphraser

CHUNK = 256  # requests a piece: what a killed run may lose, some two seconds
LISTED = 100  # rows kept of each branch's list, the largest K that every report measures


def run_ranks(config: Config, progress: Progress) -> Manifest:
    """Write ranks/; nothing to do where it is fresh. Stops and resumes at any point."""

    def make(work: Work) -> Counts:
        index = load_index(config.stage("index"))
        return write_ranks(config, whole_shop(config).queries, index, work, progress)

    return RANKS.run(config, make)


def write_ranks(
    config: Config, logged: Sequence[Query], index: SearchIndex, work: Work, progress: Progress
) -> Counts:
    """The stage's work, over an index at hand; `logged` are the shop's queries, of all splits."""
    proof = load_folds(config.stage("index"), index.branches, index.text_encoder)
    words = Paraphraser.model_validate(
        work.pieces.records(
            "wording", lambda: [catalogue_paraphraser(index).model_dump(mode="json")]
        )[0]
    )
    made = Writer(index.ids, index.words, proof.claims, words).write(
        count=config.labels.synthetic_requests, seed=config.seed, split_items=not logged
    )
    out_of_sample = config.labels.out_of_sample
    budget = min(config.routing.mean_budget, config.routing.tau, len(index))
    listed = max(LISTED, budget)
    hidden = {request.query.query_id: request.unstated for request in made}
    requests = tuple(request.query for request in made)

    def rank(chunk: Sequence[Query], source: str) -> Arrays:
        if source == "logged":
            return rank_arrays(index, chunk, listed)
        unstated = np.array([hidden[query.query_id] for query in chunk])
        length = 0 if logged else listed
        return _written_ranks(index, proof if out_of_sample else None, chunk, unstated, length)

    parts = []
    with progress.task("ranks of requests", len(requests) + len(logged)) as advance:
        for source, queries in (("synthetic", requests), ("logged", logged)):
            for name, chunk in _chunks(source, queries):
                parts.append((chunk, work.pieces.arrays(name, partial(rank, chunk, source))))
                advance(len(chunk))
    if not parts:
        raise nothing_to_learn(config.labels.synthetic_requests, len(index))
    if made:
        write_text(work.folder / SYNTHETIC_QUERIES, as_queries_file(made))
    words.save(work.folder)
    save_ranks(work.folder, parts)
    return {"synthetic": _splits(requests), "logged": _splits(logged)}


def _written_ranks(
    index: SearchIndex,
    proof: CrossFitted | None,
    queries: Sequence[Query],
    unstated: NDArray[np.bool_],
    length: int,
) -> Arrays:
    """Ranks by parts that never saw the items; by the index itself where `proof` is None."""
    if proof is None:
        return rank_arrays(index, queries, length)
    texts = [query.text for query in queries]
    targets = np.array([index.row(query.target_id) for query in queries], np.int64)
    encoded = index.encode(texts)
    rank = partial(proof.ranks, texts, encoded.e_txt, targets, unstated=unstated)
    fields = rank_fields(rank(), rank(worst=True))
    return {**query_arrays(index, encoded, targets, length), **fields}


def _chunks(source: str, queries: Sequence[Query]) -> Iterator[tuple[str, Sequence[Query]]]:
    """Named pieces of one split each: what is encoded together, so that vectors stay the same."""
    for split in SPLITS:
        rows = [query for query in queries if query.split == split]
        for start in range(0, len(rows), CHUNK):
            yield f"{source}-{split}-{start:06d}", rows[start : start + CHUNK]


def _splits(queries: Sequence[Query]) -> dict[str, JsonValue]:
    return {**Counter(query.split for query in queries)}
