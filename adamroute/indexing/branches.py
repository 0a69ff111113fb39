"""Which encoders an index is made with, by config when it is built and by manifest afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.assembly import load_vl_encoder
from adamroute.catalogue.photo_files import shown_hash
from adamroute.catalogue.shop import Item
from adamroute.config import EncoderConfig
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.encoders.vector_file import VectorCache, text_key
from adamroute.progress import Progress
from adamroute.stages import digest

CHUNK = 64  # items an encoder call, between two steps of the progress bar

Array = NDArray[np.float32]


@dataclass(frozen=True)
class MultimodalBranch:
    """The multimodal half of an index, where photos need no alignment."""

    item_vectors: Array  # [N, D_mm]
    encoder: str  # its name, for the manifest
    counts: Mapping[str, JsonValue]


def photo_hashes(items: Sequence[Item]) -> list[str | None]:
    """Name of what each item's photo shows, None where it has none."""
    return [None if item.image is None else shown_hash(item.image) for item in items]


def listing_vectors(
    texts: Sequence[str], encoder: TextEncoder, cache: Path, progress: Progress
) -> tuple[Array, int]:
    """E_txt of listings, [N, D], and how many were not in the cache."""
    vectors = VectorCache(cache, "text", encoder.name)
    return _cached(texts, encoder.encode_items, vectors, "text vectors", progress)


def query_vectors(
    kind: Literal["views", "requests"],
    texts: Sequence[str],
    encoder: TextEncoder,
    cache: Path,
    progress: Progress,
) -> tuple[Array, int]:
    """As `listing_vectors` of short texts that stand for queries; each kind has its own cache."""
    vectors = VectorCache(cache, kind, encoder.name)
    return _cached(texts, encoder.encode, vectors, f"{kind} vectors", progress)


def vl_branch(
    encoders: EncoderConfig,
    items: Sequence[Item],
    cache: Path,
    progress: Progress,
) -> MultimodalBranch:
    """Every item's photo and listing as one vector; what has no photo counts by its listing."""
    from adamroute.encoders.qwen_vl import Photographed

    encoder = load_vl_encoder(encoders)
    keys = [
        digest([item.text, photo]) for item, photo in zip(items, photo_hashes(items), strict=True)
    ]
    unreadable: set[str] = set()  # not kept, so that a rebuild tries and counts them again

    def encode(places: list[int]) -> Vectors:
        shown = [Photographed(items[place].text, items[place].image) for place in places]
        found = encoder.encode_items(shown)
        unreadable.update(keys[places[place]] for place in found.unreadable)
        return found.vectors

    compute = _in_chunks(encode, "item vectors", progress)
    vectors, computed = VectorCache(cache, "items", encoder.name).fill(keys, compute, unreadable)
    no_photo = sum(item.image is None for item in items)
    return MultimodalBranch(
        vectors,
        encoder.name,
        {
            "photos": len(items) - no_photo,
            "items_without_photo": no_photo,
            "photos_unreadable_by_encoder": sum(key in unreadable for key in keys),
            "item_vectors_computed": computed,
        },
    )


def _cached(
    texts: Sequence[str],
    encode: Callable[[Sequence[str]], Vectors],
    kept: VectorCache,
    title: str,
    progress: Progress,
) -> tuple[Array, int]:
    compute = _in_chunks(lambda chunk: encode([texts[place] for place in chunk]), title, progress)
    return kept.fill([text_key(text) for text in texts], compute)


def _in_chunks(
    encode: Callable[[list[int]], Vectors], title: str, progress: Progress
) -> Callable[[list[int]], Iterator[Array]]:
    """Vectors of some places, a chunk at a time.

    A run that was cut goes on at the border of a chunk, so its batches are those of a whole run.
    """

    def compute(places: list[int]) -> Iterator[Array]:
        with progress.task(title, total=len(places)) as advance:
            for start in range(0, len(places), CHUNK):
                chunk = places[start : start + CHUNK]
                yield encode(chunk)
                advance(len(chunk))

    return compute
