"""Requests whose outcome is known, as arrays: what every router of the report is measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.shop import Query
from adamroute.retrieval.search_index import SearchIndex

Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class Known:
    """B requests with the ranks of the item each asked for; `kinds` is for evaluation only."""

    request_ids: tuple[str, ...]
    users: tuple[str, ...]
    kinds: tuple[str | None, ...]
    text_vectors: NDArray[np.float32]  # [B, D]
    mm_vectors: NDArray[np.float32]  # [B, D_mm]
    targets: Ranks  # [B] rows
    text: Ranks  # [B] ranks as recall gives them
    mm: Ranks
    text_worst: Ranks  # [B] ranks with every tie lost
    mm_worst: Ranks
    text_lists: Ranks  # [B, L] first rows of each branch
    mm_lists: Ranks

    def __len__(self) -> int:
        return len(self.request_ids)

    def take(self, rows: NDArray[np.bool_]) -> Known:
        """Some of the requests, [B] booleans."""
        return Known(**{f.name: _kept(getattr(self, f.name), rows) for f in fields(self)})


def rank_queries(index: SearchIndex, queries: Sequence[Query], length: int) -> Known:
    """Encode the queries, rank their targets in both branches, keep `length` rows of each list."""
    targets = np.array([index.row(q.target_id) for q in queries], np.int64)
    encoded = index.encode([q.text for q in queries])
    text, mm = index.recall.text, index.recall.mm
    length = min(length, len(index.ids))
    return Known(
        request_ids=tuple(q.query_id for q in queries),
        users=tuple(q.user_id for q in queries),
        kinds=tuple(q.kind for q in queries),
        text_vectors=encoded.text,
        mm_vectors=encoded.mm,
        targets=targets,
        text=text.ranks(encoded.text, targets),
        mm=mm.ranks(encoded.mm, targets),
        text_worst=text.pessimistic_ranks(encoded.text, targets),
        mm_worst=mm.pessimistic_ranks(encoded.mm, targets),
        text_lists=np.stack([text.search(v, length).rows for v in encoded.text]),
        mm_lists=np.stack([mm.search(v, length).rows for v in encoded.mm]),
    )


def _kept(values: Any, rows: NDArray[np.bool_]) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else tuple(compress(values, rows))
