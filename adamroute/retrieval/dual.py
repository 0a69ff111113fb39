"""Dual retrieval: both branches searched with their share of the budget, or both as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex, Hits, Ranks, Rows
from adamroute.retrieval.replay import TargetRanks
from adamroute.theta import ALPHAS, Combine, Theta

SPREAD_SAMPLE = 20_000  # items that tell how far scores spread
LEAST_SPREAD = 1e-6  # below it the items of a branch count as all alike

Origin = Literal["text", "multimodal", "both", "collaborative"]


@dataclass(frozen=True)
class Candidates:
    """Items to score, each with its rank and score in both branches, found there or not.

    Routed items come first. Those of a split by their better rank; of equal ones the text branch's
    first, then the lower row. Fused ones in their one order. Collaborative items follow in the
    order they were given.
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

    def with_one(self, other: Candidates, place: int) -> Candidates:
        """These with another candidate at a place."""
        arrays = ("rows", "text_ranks", "mm_ranks", "text_scores", "mm_scores")
        joined = {
            name: np.insert(getattr(self, name), place, getattr(other, name)) for name in arrays
        }
        origin = (*self.origin[:place], *other.origin, *self.origin[place:])
        return Candidates(**joined, origin=origin)


@dataclass(frozen=True)
class Spread:
    """How far a query's scores of the catalogue lie from their mean."""

    covariance: NDArray[np.float64]  # [D, D] of the item vectors

    @classmethod
    def of(cls, vectors: Vectors) -> Spread:
        """From [N, D]; of many items an even sample."""
        sample = vectors[:: max(1, len(vectors) // SPREAD_SAMPLE)].astype(np.float64)
        centred = sample - sample.mean(axis=0)
        return cls(centred.T @ centred / len(sample))

    def deviations(self, queries: Vectors) -> NDArray[np.float64]:
        """[B] standard deviation of q . x over the items, for unit vectors [B, D].

        Infinite where all items are alike, so that their branch weighs nothing.
        """
        # vecdot: a query's value must not depend on its batch.
        exact = queries.astype(np.float64)
        turned = np.vecdot(self.covariance, exact[:, None, :])
        variances = np.vecdot(exact, turned)
        return np.where(variances > LEAST_SPREAD**2, np.sqrt(np.maximum(variances, 0.0)), np.inf)


class DualRetriever:
    """Text and multimodal branch over the same items, and both as one.

    Fused retrieval is one inner product: an item is both its vectors end to end, a query both of
    its own, each weighed and divided by the deviation of its scores. What z takes off, the mean,
    shifts all items alike. So fused ranks are as exact as those of a branch.
    """

    def __init__(self, text: BranchIndex, mm: BranchIndex) -> None:
        if len(text) != len(mm):
            raise ArtifactError(
                f"index: {len(text)} items by text, {len(mm)} multimodal. "
                "Rebuild: adamroute build CONFIG"
            )
        self.text = text
        self.mm = mm

    @cached_property
    def fused(self) -> BranchIndex:
        """Both vectors of every item end to end; made when first needed, a copy of them."""
        both = np.hstack([self.text.vectors, self.mm.vectors])
        return BranchIndex(both, self.text.device)

    def warm_up(self, combine: Combine) -> None:
        """Make what is derived from all items, or the first request would wait for it."""
        _ = self._spreads
        if combine == "fused":
            _ = self.fused

    @cached_property
    def _spreads(self) -> tuple[Spread, Spread]:
        return Spread.of(self.text.vectors), Spread.of(self.mm.vectors)

    def deviations(self, text: Vectors, mm: Vectors) -> NDArray[np.float64]:
        """[B, 2] how far the scores of each query spread over the catalogue, text and mm."""
        by_text, by_mm = self._spreads
        return np.stack([by_text.deviations(text), by_mm.deviations(mm)], axis=1)

    def fused_queries(self, text: Vectors, mm: Vectors, alpha: float) -> Vectors:
        """[B, D + D_mm] of unit length, which rank items by alpha z(text) + (1 - alpha) z(mm)."""
        spread = self.deviations(text, mm)
        weighed = np.hstack([text * (alpha / spread[:, :1]), mm * ((1.0 - alpha) / spread[:, 1:])])
        length = np.maximum(np.linalg.norm(weighed, axis=1, keepdims=True), LEAST_SPREAD)
        return np.asarray(weighed / length, np.float32)

    def search(
        self,
        text_query: NDArray[np.float32],
        mm_query: NDArray[np.float32],
        theta: Theta,
        extra_rows: Sequence[int] = (),
        combine: Combine = "split",
    ) -> Candidates:
        """The candidates of theta, then the other `extra_rows`.

        A split holds the items of text rank <= n_txt or multimodal rank <= n_mm. No back-fill: an
        item that both branches found takes a place in each (replay needs this). Fused, the K items
        that lie highest in both together; all of them are `both`'s.
        """
        if combine == "fused":
            return self._fused(text_query, mm_query, theta, extra_rows)
        n_text, n_mm = theta.split()
        found_text = self.text.search(text_query, n_text)
        found_mm = self.mm.search(mm_query, n_mm)
        routed = np.union1d(found_text.rows, found_mm.rows)
        rows = _with_others(routed, extra_rows)
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

    def _fused(
        self,
        text_query: NDArray[np.float32],
        mm_query: NDArray[np.float32],
        theta: Theta,
        extra_rows: Sequence[int],
    ) -> Candidates:
        routed = self._fused_rows(text_query, mm_query, theta)
        rows = _with_others(routed, extra_rows)
        text_ranks, text_scores = self.text.scored(text_query, rows)
        mm_ranks, mm_scores = self.mm.scored(mm_query, rows)
        origin: list[Origin] = ["both"] * len(routed)
        origin += ["collaborative"] * (len(rows) - len(routed))
        return Candidates(rows, text_ranks, mm_ranks, text_scores, mm_scores, tuple(origin))

    def _fused_rows(
        self, text_query: NDArray[np.float32], mm_query: NDArray[np.float32], theta: Theta
    ) -> Rows:
        if theta.alpha == 1.0:
            return self.text.search(text_query, theta.budget).rows
        if theta.alpha == 0.0:
            return self.mm.search(mm_query, theta.budget).rows
        query = self.fused_queries(text_query[None], mm_query[None], theta.alpha)[0]
        return self.fused.search(query, theta.budget).rows

    def ranks(
        self,
        text_queries: Vectors,
        mm_queries: Vectors,
        rows: Rows,
        *,
        worst: bool = False,
        stand_ins: tuple[Vectors, Vectors] | None = None,
    ) -> TargetRanks:
        """Of item rows[b] for query b, in each branch and fused at every alpha bin.

        `worst`: every tie is lost. `stand_ins` are vectors, by text and multimodal, that take the
        places of those items' own.
        """
        by_text, by_mm = stand_ins or (None, None)
        text = self.text.ranks(text_queries, rows, worst=worst, stand_ins=by_text)
        mm = self.mm.ranks(mm_queries, rows, worst=worst, stand_ins=by_mm)
        both = None if stand_ins is None else np.hstack(stand_ins)
        inner = [
            self.fused.ranks(
                self.fused_queries(text_queries, mm_queries, alpha), rows,
                worst=worst, stand_ins=both,
            )
            for alpha in ALPHAS[1:-1]
        ]  # fmt: skip
        return TargetRanks(text, mm, np.stack([mm, *inner, text], axis=1))


def _with_others(routed: Rows, extra_rows: Sequence[int]) -> Rows:
    """The routed rows, then those of `extra_rows` that are not among them, each once."""
    known = set(routed.tolist())
    extra = [row for row in dict.fromkeys(extra_rows) if row not in known]
    return np.concatenate([routed, np.array(extra, dtype=np.int64)])


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
