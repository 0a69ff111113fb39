"""The finished index as every later stage and the server see it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adamroute.artifacts import Manifest, read_manifest
from adamroute.errors import ArtifactError, ShopError
from adamroute.recall.aligned import AlignedPhotoEncoder, QuerySide
from adamroute.recall.build import ITEMS_FILE, MM_FILE, QUERY_SIDE_FILE, STAGE, TEXT_FILE
from adamroute.recall.dual import DualRecall
from adamroute.recall.encoders import MultimodalEncoder, TextEncoder, Vectors
from adamroute.recall.index import BranchIndex


@dataclass(frozen=True)
class EncodedQueries:
    """Queries as both branches need them, row by row."""

    text: Vectors  # [B, D]
    mm: Vectors  # [B, D_mm]

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class RecallIndex:
    """Items, vectors, both encoders' query sides and dual recall. A row is an item's place."""

    manifest: Manifest
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]
    categories: tuple[str, ...]
    images: tuple[str | None, ...]  # relative to the shop folder, POSIX
    visual: tuple[Mapping[str, str], ...]
    text_vectors: Vectors  # [N, D], read-only
    mm_vectors: Vectors  # [N, D_mm], read-only
    text_encoder: TextEncoder
    mm_encoder: MultimodalEncoder
    recall: DualRecall

    @property
    def hash(self) -> str:
        """Name of the content, 16 hex digits."""
        return self.manifest.hash

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Item id to row."""
        return {item_id: row for row, item_id in enumerate(self.ids)}

    def row(self, item_id: str) -> int:
        """Row of an item; ShopError where the index does not hold it."""
        try:
            return self.row_of[item_id]
        except KeyError:
            raise ShopError(f"item {item_id!r}: not among the {len(self)} indexed items") from None

    def __len__(self) -> int:
        return len(self.ids)

    def encode(self, queries: Sequence[str]) -> EncodedQueries:
        """Both branches' query vectors."""
        text = self.text_encoder.encode(queries)
        return self.encode_vectors(queries, text)

    def encode_vectors(self, queries: Sequence[str], text: Vectors) -> EncodedQueries:
        """As `encode` where e_txt of the queries is at hand."""
        return EncodedQueries(text, self.mm_encoder.encode_queries(queries, text))


def load_index(folder: Path, threads: int, text_encoder: TextEncoder | None = None) -> RecallIndex:
    """Load index/; ArtifactError where it is unfinished, damaged or another encoder's.

    Without `text_encoder` the one that the index was built with is loaded (torch comes with it).
    """
    manifest = read_manifest(folder, STAGE)
    encoder = text_encoder or _text_encoder(threads)
    built_with = manifest.counts.get("text_encoder")
    if encoder.name != built_with:
        raise ArtifactError(
            f"{folder}: built with text encoder '{built_with}', got '{encoder.name}'. "
            "Rebuild: adamroute build CONFIG"
        )
    text, mm = (_vectors(folder / name) for name in (TEXT_FILE, MM_FILE))
    items = _items(folder / ITEMS_FILE)
    if not len(items) == len(text) == len(mm):
        raise ArtifactError(
            f"{folder}: {len(items)} items, {len(text)} text and {len(mm)} multimodal vectors. "
            "Rebuild: adamroute build CONFIG"
        )
    side = QuerySide.load(folder / QUERY_SIDE_FILE)
    return RecallIndex(
        manifest=manifest,
        ids=tuple(items["item_id"]),
        titles=tuple(items["title"]),
        texts=tuple(items["text"]),
        categories=tuple(items["category"]),
        images=tuple(items["image"]),
        visual=tuple(json.loads(value) for value in items["visual"]),
        text_vectors=text,
        mm_vectors=mm,
        text_encoder=encoder,
        mm_encoder=AlignedPhotoEncoder(side),
        recall=DualRecall(BranchIndex(text, threads), BranchIndex(mm, threads)),
    )


def _text_encoder(threads: int) -> TextEncoder:
    from adamroute.models.minilm import MiniLM

    return MiniLM(threads)


def _vectors(path: Path) -> NDArray[np.float32]:
    try:
        vectors: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error
    return vectors


def _items(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error
