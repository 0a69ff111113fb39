"""Dual retrieval: both branches searched with their share of the budget, and the union of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex, Hits, Ranks, Rows
from adamroute.theta import Theta

Origin = Literal["text", "multimodal", "both", "collaborative"]


@dataclass(frozen=True)
class Candidates:
    """Items to score, each with its rank and score in both branches, found there or not.

    Routed items come first, by their better rank; of equal ones the text branch's first, then the
    lower row. Collaborative items follow in the order they were given.
    """

    rows: Rows  # [K]
    text_ranks: Ranks  # [K], 1-based
    mm_ranks: Ranks
    text_scores: NDArray[np.float32]  # [K]
    mm_scores: NDArray[np.float32]
    origin: tuple[Origin, ...]

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def routed(self) -> int:
        """How many came from the branches and not from neighbours."""
        return sum(origin != "collaborative" for origin in self.origin)

    def take(self, places: Sequence[int]) -> Candidates:
        """Those at the given places, in that order."""
        at = np.array(places, np.int64)
        return Candidates(
            rows=self.rows[at],
            text_ranks=self.text_ranks[at],
            mm_ranks=self.mm_ranks[at],
            text_scores=self.text_scores[at],
            mm_scores=self.mm_scores[at],
            origin=tuple(self.origin[k] for k in places),
        )


class DualRetriever:
    """Text and multimodal branch over the same items."""

    def __init__(self, text: BranchIndex, mm: BranchIndex) -> None:
        if len(text) != len(mm):
            raise ArtifactError(
                f"index: {len(text)} items by text, {len(mm)} multimodal. "
                "Rebuild: adamroute build CONFIG"
            )
        self.text = text
        self.mm = mm

    def __len__(self) -> int:
        return len(self.text)

    def search(
        self,
        text_query: NDArray[np.float32],
        mm_query: NDArray[np.float32],
        theta: Theta,
        extra_rows: Sequence[int] = (),
    ) -> Candidates:
        """Items of text rank <= n_txt or multimodal rank <= n_mm, then the other `extra_rows`.

        No back-fill: an item that both branches found takes a place in each (replay needs this).
        """
        n_text, n_mm = theta.split()
        found_text = self.text.search(text_query, n_text)
        found_mm = self.mm.search(mm_query, n_mm)
        routed = np.union1d(found_text.rows, found_mm.rows)
        extra = list(dict.fromkeys(row for row in extra_rows if row not in set(routed.tolist())))
        rows = np.concatenate([routed, np.array(extra, dtype=np.int64)])
        text_ranks, text_scores = _complete(self.text, text_query, found_text, rows)
        mm_ranks, mm_scores = _complete(self.mm, mm_query, found_mm, rows)
        by_text = np.isin(rows, found_text.rows)
        by_mm = np.isin(rows, found_mm.rows)
        first = np.lexsort((routed, (mm_ranks < text_ranks)[: len(routed)],
                            np.minimum(text_ranks, mm_ranks)[: len(routed)]))  # fmt: skip
        order = np.concatenate([first, np.arange(len(routed), len(rows))])
        return Candidates(
            rows=rows[order],
            text_ranks=text_ranks[order],
            mm_ranks=mm_ranks[order],
            text_scores=text_scores[order],
            mm_scores=mm_scores[order],
            origin=tuple(_origin(bool(by_text[i]), bool(by_mm[i])) for i in order),
        )

    def ranks(self, text_queries: Vectors, mm_queries: Vectors, rows: Rows) -> tuple[Ranks, Ranks]:
        """[B] text and [B] multimodal rank of item rows[b] for query b."""
        return self.text.ranks(text_queries, rows), self.mm.ranks(mm_queries, rows)

    def pessimistic_ranks(
        self, text_queries: Vectors, mm_queries: Vectors, rows: Rows
    ) -> tuple[Ranks, Ranks]:
        """As `ranks`, every tie lost."""
        return (
            self.text.pessimistic_ranks(text_queries, rows),
            self.mm.pessimistic_ranks(mm_queries, rows),
        )


def _origin(by_text: bool, by_mm: bool) -> Origin:
    if by_text:
        return "both" if by_mm else "text"
    return "multimodal" if by_mm else "collaborative"


def _complete(
    branch: BranchIndex, query: NDArray[np.float32], found: Hits, rows: Rows
) -> tuple[Ranks, NDArray[np.float32]]:
    """Rank and score of all rows in one branch; only those it did not find are looked up."""
    place = {row: i for i, row in enumerate(found.rows.tolist())}
    known = np.array([place.get(row, -1) for row in rows.tolist()], dtype=np.int64)
    ranks = np.zeros(len(rows), np.int64)
    scores = np.zeros(len(rows), np.float32)
    ranks[known >= 0] = found.ranks[known[known >= 0]]
    scores[known >= 0] = found.scores[known[known >= 0]]
    if (known < 0).any():
        ranks[known < 0], scores[known < 0] = branch.scored(query, rows[known < 0])
    return ranks, scores
