"""Known requests against the index: the query's vector and its own target's two ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.labels.pieces import Arrays, Parts
from adamroute.progress import Progress
from adamroute.retrieval.search_index import SearchIndex

CHUNK = 256  # requests a piece: what a killed run may lose, some two seconds


@dataclass(frozen=True, eq=False)
class Observed:
    """What replay needs of R requests with a known target."""

    vectors: NDArray[np.float32]  # E_txt of the queries, [R, D]
    text_ranks: NDArray[np.int64]  # [R], 1-based
    mm_ranks: NDArray[np.int64]  # [R], 1-based

    def __len__(self) -> int:
        return len(self.text_ranks)

    def take(self, rows: NDArray[np.int64]) -> Observed:
        """The named requests alone."""
        return Observed(self.vectors[rows], self.text_ranks[rows], self.mm_ranks[rows])


def observe(
    index: SearchIndex,
    queries: Sequence[str],
    rows: Sequence[int],
    *,
    parts: Parts,
    name: str,
    progress: Progress,
) -> Observed:
    """Rank of item `rows[i]` for query i in both branches, a resumable piece at a time."""
    pieces: list[Arrays] = []
    with progress.task(f"ranks of {name}", len(queries)) as advance:
        for start in range(0, len(queries), CHUNK):
            part = slice(start, start + CHUNK)
            make = partial(_piece, index, queries[part], rows[part])
            pieces.append(parts.arrays(f"{name}-{start:06d}", make))
            advance(len(queries[part]))
    if not pieces:
        nothing = np.empty(0, dtype=np.int64)
        return Observed(np.empty((0, index.text_encoder.dimensions), np.float32), nothing, nothing)
    columns = ("vectors", "text_ranks", "mm_ranks")
    vectors, text, mm = (np.concatenate([piece[c] for piece in pieces]) for c in columns)
    return Observed(vectors.astype(np.float32), text.astype(np.int64), mm.astype(np.int64))


def _piece(index: SearchIndex, queries: Sequence[str], rows: Sequence[int]) -> Arrays:
    encoded = index.encode(queries)
    text, mm = index.recall.ranks(encoded.text, encoded.mm, np.array(rows, dtype=np.int64))
    return {"vectors": encoded.text, "text_ranks": text, "mm_ranks": mm}
