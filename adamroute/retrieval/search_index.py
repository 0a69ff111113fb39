"""The finished index as every later stage and the server see it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adamroute.array_files import mapped_array
from adamroute.catalogue.item_words import ItemWords, catalogue_words
from adamroute.catalogue.listing import sentences
from adamroute.catalogue.preferences import Traits, traits_by_id
from adamroute.encoders.query_adapter import QueryAdapter
from adamroute.encoders.seams import MultimodalEncoder, TextEncoder, Vectors
from adamroute.errors import ArtifactError, ShopError
from adamroute.retrieval.branch_index import Rows
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.item_facts import ItemFacts, item_facts
from adamroute.retrieval.replay import TargetRanks
from adamroute.stages import Manifest

TEXT_FILE = "text.npy"
BRANCH_FILE = "text_branch.npy"  # items of the text branch, where it has a query adapter
MM_FILE = "mm.npy"
ITEMS_FILE = "items.parquet"
DETAILS_FILE = "details.json"  # functional attributes that a profiler added, one text an item


@dataclass(frozen=True)
class EncodedQueries:
    """Queries as they are compared with texts, and as both branches need them, row by row."""

    e_txt: Vectors  # [B, D]
    text: Vectors  # [B, D], placed among the items of the text branch
    mm: Vectors  # [B, D_mm]

    def __len__(self) -> int:
        return len(self.e_txt)


@dataclass(frozen=True, eq=False)
class Branches:
    """Both branches: how queries enter them, and retrieval over their items."""

    text_side: QueryAdapter | None  # None: queries enter the text branch as E_txt has them
    mm_encoder: MultimodalEncoder
    retriever: DualRetriever

    def enter(self, queries: Sequence[str], e_txt: Vectors) -> EncodedQueries:
        """Queries whose E_txt, [B, D], is at hand."""
        return self.entered(e_txt, self.mm_encoder.encode_queries(queries, e_txt))

    def entered(self, e_txt: Vectors, mm: Vectors) -> EncodedQueries:
        """Queries whose vectors of both encoders are at hand."""
        text = e_txt if self.text_side is None else self.text_side.place(e_txt)
        return EncodedQueries(e_txt, text, mm)


@dataclass(eq=False)
class SearchIndex:
    """Items, vectors, both encoders' query sides and dual retrieval. A row is an item's place.

    What is derived from the columns (traits, words, facts) is computed once and kept here.
    """

    manifest: Manifest
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]  # listings, which the text branch indexes
    profile_texts: tuple[str, ...]  # listings and what a profiler found that no photo shows
    categories: tuple[str, ...]
    images: tuple[str | None, ...]  # relative to the shop folder, POSIX
    visual: tuple[Mapping[str, str], ...]
    text_vectors: Vectors  # [N, D], E_txt of the listings, read-only
    text_encoder: TextEncoder
    branches: Branches

    @property
    def retriever(self) -> DualRetriever:
        """Both branches' items."""
        return self.branches.retriever

    @property
    def hash(self) -> str:
        """Name of the content, 16 hex digits."""
        return self.manifest.hash

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Item id to row."""
        return {item_id: row for row, item_id in enumerate(self.ids)}

    @cached_property
    def traits(self) -> Mapping[str, Traits]:
        """Item id to what a preference profile may count of it."""
        return traits_by_id(self.ids, self.categories, self.visual)

    @cached_property
    def words(self) -> tuple[ItemWords, ...]:
        """Material of every item for writers of queries, by row."""
        return catalogue_words(self.titles, self.texts, self.categories, self.visual)

    @cached_property
    def facts(self) -> ItemFacts:
        """What features of a re-ranker read of every item."""
        return item_facts(self.text_vectors, self.profile_texts, self.categories, self.visual)

    def row(self, item_id: str) -> int:
        """Row of an item; ShopError where the index does not hold it."""
        try:
            return self.row_of[item_id]
        except KeyError:
            raise ShopError(f"item {item_id!r}: not among the {len(self)} indexed items") from None

    def __len__(self) -> int:
        return len(self.ids)

    def encode(self, queries: Sequence[str]) -> EncodedQueries:
        """Query vectors of both branches."""
        return self.branches.enter(queries, self.text_encoder.encode(queries))

    def target_ranks(self, queries: Sequence[str], rows: Rows) -> TargetRanks:
        """Where item rows[b] ranks for query b."""
        asked = self.encode(queries)
        return self.retriever.ranks(asked.text, asked.mm, rows)


@dataclass(frozen=True)
class StoredItems:
    """The files of index/ as values: columns and vectors by row."""

    table: pl.DataFrame
    profile_texts: tuple[str, ...]
    text_vectors: Vectors  # [N, D], E_txt

    def columns(self) -> dict[str, tuple[Any, ...]]:
        """Columns as SearchIndex names them."""
        table = self.table
        return {
            "ids": tuple(table["item_id"]),
            "titles": tuple(table["title"]),
            "texts": tuple(table["text"]),
            "categories": tuple(table["category"]),
            "images": tuple(table["image"]),
            "visual": tuple(json.loads(value) for value in table["visual"]),
        }


def read_items(folder: Path, manifest: Manifest) -> StoredItems:
    """Read index/; ArtifactError where a file is damaged or the files disagree."""
    text, table = _vectors(folder / TEXT_FILE), _items(folder / ITEMS_FILE)
    if len(table) != len(text):
        raise ArtifactError(
            f"{folder}: {len(table)} items and {len(text)} text vectors. "
            "Rebuild: adamroute build CONFIG"
        )
    profile_texts = _profile_texts(folder, manifest, table["text"].to_list())
    return StoredItems(table, profile_texts, text)


def read_branches(folder: Path) -> tuple[Vectors, Vectors]:
    """Item vectors of the text and the multimodal branch, [N, D] and [N, D_mm], read-only.

    Those of the text branch are E_txt of the listings where it has no query adapter.
    """
    adapted = (folder / BRANCH_FILE).exists()
    return _vectors(folder / (BRANCH_FILE if adapted else TEXT_FILE)), _vectors(folder / MM_FILE)


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
        return mapped_array(path)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error


def _items(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error
