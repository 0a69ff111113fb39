"""The finished index as every later stage and the server see it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adamroute.catalogue.listing import sentences
from adamroute.encoders.seams import MultimodalEncoder, TextEncoder, Vectors
from adamroute.errors import ArtifactError, ShopError
from adamroute.indexing.branches import built_encoders, load_mm_encoder, load_text_encoder
from adamroute.indexing.build import DETAILS_FILE, ITEMS_FILE, MM_FILE, STAGE, TEXT_FILE
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.stages import Manifest, read_manifest


@dataclass(frozen=True)
class EncodedQueries:
    """Queries as both branches need them, row by row."""

    text: Vectors  # [B, D]
    mm: Vectors  # [B, D_mm]

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class SearchIndex:
    """Items, vectors, both encoders' query sides and dual recall. A row is an item's place."""

    manifest: Manifest
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]  # listings, which the text branch indexes
    profile_texts: tuple[str, ...]  # listings and what a profiler found that no photo shows
    categories: tuple[str, ...]
    images: tuple[str | None, ...]  # relative to the shop folder, POSIX
    visual: tuple[Mapping[str, str], ...]
    text_vectors: Vectors  # [N, D], read-only
    mm_vectors: Vectors  # [N, D_mm], read-only
    text_encoder: TextEncoder
    mm_encoder: MultimodalEncoder
    recall: DualRetriever

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


def load_index(
    folder: Path,
    threads: int,
    text_encoder: TextEncoder | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
) -> SearchIndex:
    """Load index/; ArtifactError where it is unfinished, damaged or another encoder's.

    Without `text_encoder` the one that the index was built with is loaded (torch comes with it).
    """
    manifest = read_manifest(folder, STAGE)
    encoders = built_encoders(manifest, threads)
    encoder = text_encoder or load_text_encoder(encoders)
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
    mm_built_with = str(manifest.counts.get("multimodal_encoder"))
    return SearchIndex(
        manifest=manifest,
        ids=tuple(items["item_id"]),
        titles=tuple(items["title"]),
        texts=tuple(items["text"]),
        profile_texts=_profile_texts(folder, manifest, items["text"].to_list()),
        categories=tuple(items["category"]),
        images=tuple(items["image"]),
        visual=tuple(json.loads(value) for value in items["visual"]),
        text_vectors=text,
        mm_vectors=mm,
        text_encoder=encoder,
        mm_encoder=load_mm_encoder(encoders, folder, mm_built_with),
        recall=DualRetriever(BranchIndex(text, threads, device), BranchIndex(mm, threads, device)),
    )


def _profile_texts(folder: Path, manifest: Manifest, texts: list[str]) -> tuple[str, ...]:
    if DETAILS_FILE not in manifest.outputs:
        return tuple(texts)
    path = folder / DETAILS_FILE
    try:
        details = json.loads(path.read_text(encoding="utf-8"))
        return tuple(sentences(pair) for pair in zip(texts, details, strict=True))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error


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
