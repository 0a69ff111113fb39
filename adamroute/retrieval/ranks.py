"""Requests whose outcome is known, with the exact ranks of what each asked for.

Ranks are computed once a run (stage `ranks`) and read by every stage that measures or fits: from
them `replay` tells what any theta would have recalled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adamroute.catalogue.shop import Query
from adamroute.errors import ArtifactError
from adamroute.retrieval.replay import TargetRanks
from adamroute.retrieval.search_index import EncodedQueries, SearchIndex

RANKS_FILE = "ranks.parquet"
LISTS = ("text_lists", "mm_lists")
Ranks = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]  # the numeric fields of QueryRanks by name


@dataclass(frozen=True, eq=False)
class QueryRanks:
    """B requests with the ranks of the item each asked for; `kinds` is for evaluation only."""

    request_ids: tuple[str, ...]
    users: tuple[str, ...]
    kinds: tuple[str | None, ...]
    text_vectors: NDArray[np.float32]  # [B, D]
    mm_vectors: NDArray[np.float32]  # [B, D_mm]
    targets: Ranks  # [B] rows
    text: Ranks  # [B] ranks as retrieval gives them
    mm: Ranks
    fused: Ranks  # [B, A]
    text_worst: Ranks  # [B] ranks with every tie lost
    mm_worst: Ranks
    fused_worst: Ranks  # [B, A]
    text_lists: Ranks  # [B, L] first rows of each branch
    mm_lists: Ranks

    def __len__(self) -> int:
        return len(self.request_ids)

    @classmethod
    def of(cls, queries: Sequence[Query], arrays: Arrays) -> QueryRanks:
        """The queries with what was computed of them, row by row."""
        return cls(
            request_ids=tuple(q.query_id for q in queries),
            users=tuple(q.user_id for q in queries),
            kinds=tuple(q.kind for q in queries),
            **arrays,
        )

    @property
    def ranks(self) -> TargetRanks:
        """Of the targets, as retrieval gives them."""
        return TargetRanks(self.text, self.mm, self.fused)

    @property
    def worst(self) -> TargetRanks:
        """The same with every tie lost."""
        return TargetRanks(self.text_worst, self.mm_worst, self.fused_worst)

    def take(self, rows: NDArray[np.bool_]) -> QueryRanks:
        """Some of the requests, [B] booleans."""
        return QueryRanks(**{f.name: _kept(getattr(self, f.name), rows) for f in fields_of(self)})


def rank_queries(index: SearchIndex, queries: Sequence[Query], length: int) -> QueryRanks:
    """Encode the queries, rank their targets in both branches, keep `length` rows of each list."""
    return QueryRanks.of(queries, rank_arrays(index, queries, length))


def rank_arrays(index: SearchIndex, queries: Sequence[Query], length: int) -> Arrays:
    """The numeric fields of `rank_queries`."""
    targets = np.array([index.row(q.target_id) for q in queries], np.int64)
    encoded = index.encode([q.text for q in queries])
    rank = partial(index.retriever.ranks, encoded.text, encoded.mm, targets)
    fields = rank_fields(rank(), rank(worst=True))
    return {**query_arrays(index, encoded, targets, length), **fields}


def query_arrays(
    index: SearchIndex, encoded: EncodedQueries, targets: Ranks, length: int
) -> Arrays:
    """Vectors and lists of queries, which no target enters."""
    text, mm = index.retriever.text, index.retriever.mm
    length = min(length, len(index.ids))
    return {
        "text_vectors": encoded.e_txt,
        "mm_vectors": encoded.mm,
        "targets": targets,
        "text_lists": np.stack([text.search(v, length).rows for v in encoded.text]),
        "mm_lists": np.stack([mm.search(v, length).rows for v in encoded.mm]),
    }


def rank_fields(found: TargetRanks, worst: TargetRanks) -> Arrays:
    """Ranks of targets by the names of QueryRanks."""
    return {
        "text": found.text,
        "mm": found.mm,
        "fused": found.fused,
        "text_worst": worst.text,
        "mm_worst": worst.mm,
        "fused_worst": worst.fused,
    }


def save_ranks(folder: Path, parts: Sequence[tuple[Sequence[Query], Arrays]]) -> None:
    """Write `ranks.parquet`, one row a request; the parts may differ in the length of lists."""
    frames = [_frame(queries, arrays) for queries, arrays in parts]
    (pl.concat(frames) if frames else pl.DataFrame()).write_parquet(folder / RANKS_FILE)


def load_ranks(folder: Path, queries: Sequence[Query]) -> QueryRanks:
    """The stored ranks of these queries, in their order.

    ArtifactError where the file can't be read, or one of the queries is not in it.
    """
    path, names = folder / RANKS_FILE, [q.query_id for q in queries]
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ArtifactError(f"{path}: {error}. Run again: adamroute label CONFIG") from error
    row_of = {name: row for row, name in enumerate(frame["request_ids"])}
    if missing := [name for name in names if name not in row_of]:
        raise ArtifactError(
            f"{path}: no ranks of {len(missing)} of {len(names)} queries, {missing[0]!r} the "
            "first. Run again: adamroute label CONFIG"
        )
    found = frame[[row_of[name] for name in names]]
    return QueryRanks.of(queries, {n: _array(found[n]) for n in found.columns[1:]})


def _frame(queries: Sequence[Query], arrays: Arrays) -> pl.DataFrame:
    ids = pl.Series("request_ids", [q.query_id for q in queries], pl.Utf8)
    return pl.DataFrame([ids, *(_series(name, values) for name, values in arrays.items())])


def _series(name: str, values: NDArray[Any]) -> pl.Series:
    if values.dtype == np.float32:
        return pl.Series(name, values, pl.Array(pl.Float32, values.shape[1]))
    if name in LISTS:  # as long as a part wants them
        return pl.Series(name, values.tolist(), pl.List(pl.Int64))
    if values.ndim == 2:
        return pl.Series(name, values, pl.Array(pl.Int64, values.shape[1]))
    return pl.Series(name, values, pl.Int64)


def _array(values: pl.Series) -> NDArray[Any]:
    if values.dtype == pl.List:
        rows = values.to_list() or [[]]
        return np.array(rows, np.int64)[: len(values)]
    return values.to_numpy(writable=True)


def _kept(values: Any, rows: NDArray[np.bool_]) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else tuple(compress(values, rows))
