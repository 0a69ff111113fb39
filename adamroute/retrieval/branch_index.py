"""One branch: items ranked by inner product, with exact ranks.

FAISS and float32 matrix products only propose. The truth is the float64 inner product of the
stored float32 vectors, and every comparison that float32 cannot settle (scores closer than a
margin) is decided again in float64, one pair at a time, so that `search`, `ranks` and `ranks_of`
always agree: replay equals recall. Duplicated items are common (in the ikea shop 381 of 967
targets share their listing text), so ties are the normal case, not the corner.

Rank (CONTRACTS): 1 + #{score > s + 1e-6} + #{|score - s| <= 1e-6 and lower row}. Because a
tolerance is not transitive, two items may share a rank; `search(n)` returns every item of rank
<= n, in the order of rank, then row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError, ConfigError, RequestError

Ranks = NDArray[np.int64]
Rows = NDArray[np.int64]

TIE = 1e-6  # scores this close are equal (CONTRACTS)
MARGIN = 1e-5  # float32 settles what differs by more, for a product of norms of 1
QUERY_BLOCK = 256  # queries a matrix product in `ranks`, bounds memory to 256 x N floats
PAIR_BLOCK = 8_192  # pairs decided in float64 at a time
GPU_SCRATCH = 256 * 2**20  # bytes; FAISS would take 1.5 GB of a GPU that others share
GPU_MOST = 2_048  # hits a search that FAISS finds on a GPU; many ties ask for more: then the CPU


@dataclass(frozen=True)
class Hits:
    """What one search found, in the order of rank, then row."""

    rows: Rows  # [n]
    ranks: Ranks  # [n], 1-based
    scores: NDArray[np.float32]  # [n]


class BranchIndex:
    """Exact inner-product search over [N, D] float32 vectors; a row is an item's place."""

    def __init__(self, vectors: Vectors, device: Literal["cpu", "gpu"] = "cpu") -> None:
        """`gpu` proposes there and decides here; ConfigError where FAISS sees no GPU.

        FAISS copies the vectors when something is first searched for: ranks need no copy.
        """
        if vectors.ndim != 2 or vectors.dtype != np.float32 or len(vectors) == 0:
            raise ArtifactError(
                f"index: vectors {vectors.shape} {vectors.dtype}, wanted [N >= 1, D] float32"
            )
        self.device = device
        self._vectors = np.ascontiguousarray(vectors)
        norm = float(np.sqrt(np.einsum("nd,nd->n", self._vectors, self._vectors).max()))
        if not np.isfinite(norm):
            raise ArtifactError("index: vectors hold NaN or infinity. Rebuild: adamroute build")
        self._largest_norm = norm
        self._on_gpu = _on_gpu(self._faiss) if device == "gpu" else None

    @cached_property
    def _faiss(self) -> Any:
        import faiss

        index = faiss.IndexFlatIP(self.dimensions)
        index.add(self._vectors)
        return index

    @property
    def vectors(self) -> Vectors:
        """[N, D], by row."""
        return self._vectors

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    def search(self, query: NDArray[np.float32], n: int) -> Hits:
        """Every item of rank <= n (n beyond N is N), best first. `query` is [D]."""
        query = self._checked(query[None])[0]
        n = min(n, len(self))
        if n <= 0:
            return Hits(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
        rows, scores = self._propose(query, n)
        settled = self._settled(query, rows, scores)
        ranks = _ranks_among(settled, rows)
        order = np.lexsort((rows, ranks))[: int((ranks <= n).sum())]
        return Hits(rows[order], ranks[order], scores[order])

    def ranks(
        self,
        queries: Vectors,
        rows: Rows,
        *,
        worst: bool = False,
        stand_ins: Vectors | None = None,
    ) -> Ranks:
        """[B] rank of item rows[b] for queries[b]; `worst`: every tie is lost, whatever its row.

        `stand_ins` [B, D] are ranked in the places of those items' own vectors.
        """
        above, ties_before, ties = self._counts(queries, rows, stand_ins)
        return 1 + above + (ties if worst else ties_before)

    def ranks_of(self, query: NDArray[np.float32], rows: Rows) -> Ranks:
        """[M] rank of each of the rows for one query [D]."""
        return self.scored(query, rows)[0]

    def scored(self, query: NDArray[np.float32], rows: Rows) -> tuple[Ranks, NDArray[np.float32]]:
        """[M] rank and [M] score of each of the rows for one query [D]."""
        query = self._checked(query[None])[0]
        rows = self._checked_rows(rows)
        scores = np.vecdot(self._vectors, query)  # as fast as BLAS here, and wakes no threads
        order = np.argsort(-scores)
        rising = -scores[order]
        margin = self._margin(query)
        first = np.searchsorted(rising, -scores[rows] - margin, side="left")
        last = np.searchsorted(rising, -scores[rows] + margin, side="right")
        # Everything before `first` is surely better. What lies from `first` to `last` is too close
        # for float32; usually that is the item alone.
        ranks = 1 + first.astype(np.int64)
        close = np.flatnonzero(last - first > 1)
        widths = (last - first)[close]
        owners = np.repeat(np.arange(len(close)), widths)
        starts = np.repeat(first[close] - np.cumsum(widths) + widths, widths)
        members = order[starts + np.arange(len(owners))]
        truth = self._truth(query, np.concatenate([members, rows[close]]))
        better, ties_before, _ = _compare(
            truth[: len(members)], truth[len(members) :][owners], members, rows[close][owners]
        )
        ranks[close] += np.bincount(owners[better | ties_before], minlength=len(close))
        return ranks, scores[rows]

    def _propose(self, query: NDArray[np.float32], n: int) -> tuple[Rows, NDArray[np.float32]]:
        """Rows and float32 scores that hold every item of rank <= n and all that ties with it."""
        margin = self._margin(query)
        wanted = min(len(self), n + 16)
        while True:
            on_gpu = self._on_gpu if wanted <= GPU_MOST else None
            scores, rows = (on_gpu or self._faiss).search(query[None], wanted)
            floor = scores[0, n - 1] - margin
            if wanted == len(self) or scores[0, -1] < floor:
                keep = scores[0] >= floor
                return rows[0][keep].astype(np.int64), scores[0][keep]
            wanted = min(len(self), 2 * wanted)

    def _settled(
        self, query: NDArray[np.float32], rows: Rows, scores: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Falling scores, with the truth put in for all that have a near neighbour."""
        near = -np.diff(scores) <= self._margin(query)
        close = np.concatenate([near, [False]]) | np.concatenate([[False], near])
        settled = scores.astype(np.float64)
        settled[close] = self._truth(query, rows[close])
        return settled

    def _counts(
        self, queries: Vectors, rows: Rows, stand_ins: Vectors | None
    ) -> tuple[Ranks, Ranks, Ranks]:
        """Per query: items above the target, ties with a lower row, other items that tie."""
        wanted = self._vectors if stand_ins is None else self._checked(stand_ins)
        queries = self._checked(queries)
        rows = self._checked_rows(rows)
        if len(rows) != len(queries):
            raise RequestError("rows", f"{len(rows)} rows for {len(queries)} queries")
        above, before, ties = (np.zeros(len(rows), np.int64) for _ in range(3))
        for start in range(0, len(rows), QUERY_BLOCK):
            block = slice(start, start + QUERY_BLOCK)
            asked, at = queries[block], rows[block]
            targets = wanted[at] if stand_ins is None else wanted[block]
            above[block], before[block], ties[block] = self._counts_of(asked, at, targets)
        return above, before, ties

    def _counts_of(
        self, queries: Vectors, rows: Rows, targets: Vectors
    ) -> tuple[Ranks, Ranks, Ranks]:
        scores = queries @ self._vectors.T
        target = np.vecdot(targets, queries)[:, None]
        scores[np.arange(len(rows)), rows] = target[:, 0]
        margin = np.array([self._margin(query) for query in queries])[:, None]
        above = (scores > target + margin).sum(axis=1).astype(np.int64)
        before, ties = np.zeros_like(above), np.zeros_like(above)
        close_queries, close_rows = np.nonzero(np.abs(scores - target) <= margin)
        truth = np.vecdot(targets.astype(np.float64), queries.astype(np.float64))
        for start in range(0, len(close_rows), PAIR_BLOCK):
            members = close_rows[start : start + PAIR_BLOCK]
            owners = close_queries[start : start + PAIR_BLOCK]
            scored = np.vecdot(
                self._vectors[members].astype(np.float64), queries[owners].astype(np.float64)
            )
            better, first, tied = _compare(scored, truth[owners], members, rows[owners])
            for total, mask in ((above, better), (before, first), (ties, tied)):
                total += np.bincount(owners[mask], minlength=len(rows))
        return above, before, ties

    def _truth(self, query: NDArray[np.float32], rows: Rows) -> NDArray[np.float64]:
        """[M] float64 inner products; a pair's value never depends on the other pairs."""
        products: NDArray[np.float64] = np.vecdot(
            self._vectors[rows].astype(np.float64), query.astype(np.float64)
        )
        return products

    def _margin(self, query: NDArray[np.float32]) -> float:
        """Float32 rounding grows with the norms; never below MARGIN, which also covers TIE."""
        return MARGIN * max(1.0, float(np.linalg.norm(query)) * self._largest_norm)

    def _checked(self, queries: Vectors) -> Vectors:
        if queries.ndim != 2 or queries.shape[1] != self.dimensions:
            raise ArtifactError(
                f"index: {self.dimensions} dimensions, queries {queries.shape}. "
                "Index and encoder differ; rebuild: adamroute build CONFIG"
            )
        return np.ascontiguousarray(queries, dtype=np.float32)

    def _checked_rows(self, rows: Rows) -> Rows:
        rows = np.asarray(rows, dtype=np.int64)
        if rows.size and (rows.min() < 0 or rows.max() >= len(self)):
            raise RequestError("rows", f"rows {rows.min()} to {rows.max()}: there are {len(self)}")
        return rows


def _on_gpu(flat: Any) -> Any:
    """The same index on the first GPU that this process sees; its sums stay in float32."""
    import faiss

    if faiss.get_num_gpus() < 1:
        raise ConfigError(
            "serve.retrieval_device gpu: FAISS sees no GPU here, or is built without (faiss-cpu). "
            "Run: pip install '.[gpu]' in the checkout, without faiss-cpu beside it, give "
            "recommender and teacher a share in serve.gpus, or set retrieval_device: cpu"
        )
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(GPU_SCRATCH)
    return faiss.index_cpu_to_gpu(resources, 0, flat)


def _compare(
    scores: NDArray[np.float64], target: NDArray[np.float64], rows: Rows, target_rows: Rows
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Pair by pair: another row that is better; tied with a lower row; tied with another row."""
    difference, other = scores - target, rows != target_rows
    tied = (np.abs(difference) <= TIE) & other
    return (difference > TIE) & other, tied & (rows < target_rows), tied


def _ranks_among(scores: NDArray[np.float64], rows: Rows) -> Ranks:
    """[M] contract rank of each item among the M, by comparing all pairs."""
    better, before, _ = _compare(scores[None, :], scores[:, None], rows[None, :], rows[:, None])
    ranks: Ranks = 1 + (better | before).sum(axis=1).astype(np.int64)
    return ranks
