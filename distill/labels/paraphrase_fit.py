"""Fits how hard pseudo-queries are worded: as hard as the shop's real train queries.

Per kind of query one number, found by bisection on the teacher's own pseudo-queries: the mean
log-rank of their targets, summed over both branches, must equal that of real train queries, each
of which counts for a kind with P(kind | q). No query's stated kind is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, Intent
from adamroute.catalogue.shop import Shop
from adamroute.progress import Advance, Progress
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.store import Snapshot
from adamroute.teacher.context import Contexts
from adamroute.teacher.evidence_policy import EvidencePolicy
from adamroute.teacher.loop import Ranker
from adamroute.teacher.paraphrase import UNMATCHED, Paraphraser, related_words, vocabulary
from adamroute.teacher.pseudo_queries import PseudoQuery

REQUESTS = 200  # train requests, evenly spaced, whose pseudo-queries are tried
SAMPLE = 120  # pseudo-queries a kind
STEPS = 4  # of bisection: to 1/16
LEAST = 20.0  # real queries of a kind that can be matched


def learn_paraphraser(
    shop: Shop,
    index: SearchIndex,
    verbatim: EvidencePolicy,
    evidence: int,
    real: QueryRanks,
    *,
    ranker: Ranker,
    start: Paraphraser,
    progress: Progress,
) -> Paraphraser:
    """The wording of a shop: `verbatim` writes up to `evidence` queries for each train request.

    `real` are the outcomes of all train requests; without any it stays as it starts.
    """
    queries = shop.split("train")
    if not queries:
        return start
    places = np.unique(np.linspace(0, len(queries) - 1, REQUESTS).round().astype(int))
    contexts = Contexts(index, Snapshot(()), evidence, neighbours=0)
    tasks = contexts.prepare([shop.request(queries[place]) for place in places.tolist()])
    written = [q for rewriting in verbatim.pseudo_queries(tasks) for q in rewriting.queries]
    kinds = verbatim.intents.kinds(real.text_vectors)
    wanted = np.log(real.text) + np.log(real.mm)
    with progress.task("wording of pseudo-queries", len(INTENTS) * STEPS) as advance:
        return fit_paraphraser(start, ranker, written, wanted, kinds, advance=advance)


def catalogue_paraphraser(index: SearchIndex) -> Paraphraser:
    """Words beside each of the catalogue's, at the hardness of a shop without real queries."""
    words = vocabulary(index.texts, index.visual)
    vectors = index.text_encoder.encode(words) if words else np.empty((0, 0), np.float32)
    related = related_words(words, vectors, index.visual)
    return Paraphraser(hardness=dict.fromkeys(INTENTS, UNMATCHED), related=related)


def fit_paraphraser(
    paraphraser: Paraphraser,
    ranker: Ranker,
    written: Sequence[PseudoQuery],
    wanted: NDArray[np.float64],
    kinds: NDArray[np.float64],
    *,
    advance: Advance,
) -> Paraphraser:
    """Hardness per kind; `written` are verbatim. Of R real queries come `wanted`, [R] sums of both
    log-ranks, and `kinds`, [R, 3] P(kind | q).

    A kind that few real queries have, or that no pseudo-query has, keeps what it has.
    """
    hardness = dict(paraphraser.hardness)
    for place, kind in enumerate(INTENTS):
        weights = kinds[:, place]
        sample = [query for query in written if query.kind == kind][:SAMPLE]
        if sample and weights.sum() >= LEAST:
            goal = float(np.average(wanted, weights=weights))
            hardness[kind] = _Dial(paraphraser, ranker, kind, sample, advance).at(goal)
    return paraphraser.at(hardness)


@dataclass(frozen=True)
class _Dial:
    """Difficulty of one kind's pseudo-queries as a function of hardness."""

    paraphraser: Paraphraser
    ranker: Ranker
    kind: Intent
    sample: Sequence[PseudoQuery]
    advance: Advance  # one a step

    def at(self, goal: float) -> float:
        """The hardness whose mean log-rank is nearest to the goal; difficulty rises with it."""
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self._difficulty(middle) > goal else (middle, high)
            self.advance(1)
        return (low + high) / 2.0

    def _difficulty(self, hardness: float) -> float:
        said = self.paraphraser.at({self.kind: hardness})
        texts = [said.reworded(q.text, self.kind, Random(q.text)) for q in self.sample]
        found = self.ranker.target_ranks(texts, np.array([query.row for query in self.sample]))
        return float(np.mean(np.log(found.text) + np.log(found.mm)))
