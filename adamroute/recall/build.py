"""Stage `build`: a shop's catalogue to index/, all that recall needs at serve time.

Text and photo vectors are computed for changed content only (cache beside the index); the
alignment heads are refitted whenever an item changed, since they know only items they have seen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.artifacts import (
    Manifest,
    digest,
    file_hash,
    is_fresh,
    publish,
    read_manifest,
    stage_key,
    write_manifest,
)
from adamroute.config import Config, EncoderConfig
from adamroute.progress import Progress
from adamroute.recall.aligned import QuerySide, covariance, fuse_items
from adamroute.recall.cache import VectorCache, text_key
from adamroute.recall.encoders import TextEncoder
from adamroute.shop.catalogue import Item, Shop

STAGE = "build"
RECIPE = 1  # raise it when the same config and catalogue come to mean another index
TEXT_FILE = "text.npy"
MM_FILE = "mm.npy"
QUERY_SIDE_FILE = "query_side.npz"
ITEMS_FILE = "items.parquet"
TEXT_CHUNK = 64  # texts an encoder call, between two steps of the progress bar

Array = NDArray[np.float32]


def run_build(config: Config, progress: Progress) -> Manifest:
    """Build index/ from the shop folder, or return at once where it is up to date."""
    from adamroute.shop.folder import read_shop

    shop = read_shop(config.shop)
    photo_hashes = _photo_hashes(shop.catalogue.items)
    inputs = {"catalogue": _catalogue_hash(shop, photo_hashes)}
    settings = _settings(config)
    folder = config.stage("index")
    if is_fresh(folder, STAGE, stage_key(STAGE, settings, inputs)):
        progress.note(f"build: {folder} is up to date")
        return read_manifest(folder, STAGE)
    return _build(config, shop, photo_hashes, inputs, progress)


def _build(
    config: Config,
    shop: Shop,
    photo_hashes: list[str | None],
    inputs: dict[str, str],
    progress: Progress,
) -> Manifest:
    from adamroute.models.alignment import fit_heads, text_views
    from adamroute.models.minilm import MiniLM

    items, encoders = shop.catalogue.items, config.encoders
    cache = config.out / "cache"
    encoder = MiniLM(encoders.threads)
    texts = [text for item in items for text in (item.text, *text_views(item))]
    vectors, new_texts = _text_vectors(texts, encoder, cache, progress)
    text, views = np.split(vectors.reshape(len(items), 3, -1), [1], axis=1)
    features, new_photos = _photo_features(items, photo_hashes, encoders, cache, progress)
    heads = fit_heads(
        features, views, encoders.align,
        seed=config.seed, threads=encoders.threads, progress=progress,
    )  # fmt: skip
    item_vectors = fuse_items(text[:, 0], heads.photo_vectors)
    width = text.shape[2]
    side = QuerySide(
        weights=heads.text_weights,
        bias=heads.text_bias,
        text_covariance=covariance(item_vectors[:, :width]),
        photo_covariance=covariance(item_vectors[:, width:]),
        text_weight=encoders.align.text_weight,
    )
    with publish(config.stage("index")) as folder:
        np.save(folder / TEXT_FILE, np.ascontiguousarray(text[:, 0]))
        np.save(folder / MM_FILE, item_vectors)
        side.save(folder / QUERY_SIDE_FILE)
        items_table(shop).write_parquet(folder / ITEMS_FILE)
        no_photo = int(np.isnan(features).any(axis=1).sum())
        counts: dict[str, JsonValue] = {
            "items": len(items),
            "photos": len(items) - no_photo,
            "items_without_photo": no_photo,
            "problems": dict(shop.problems),
            "text_vectors_computed": new_texts,
            "photo_features_computed": new_photos,
            "text_encoder": encoder.name,
        }
        return write_manifest(
            folder, stage=STAGE, config=_settings(config), inputs=inputs, counts=counts
        )


def items_table(shop: Shop) -> pl.DataFrame:
    """What later stages and the server show of an item, one row each, in the order of the rows.

    `image` is a path relative to the shop folder, null without a photo; `visual` a JSON object.
    """
    items = shop.catalogue.items
    root = shop.folder
    return pl.DataFrame(
        {
            "item_id": [item.item_id for item in items],
            "title": [item.title for item in items],
            "text": [item.text for item in items],
            "category": [item.category for item in items],
            "image": [_relative(item.image, root) for item in items],
            "visual": [json.dumps(dict(item.visual), ensure_ascii=False) for item in items],
        },
        schema=dict.fromkeys(("item_id", "title", "text", "category", "image", "visual"), pl.Utf8),
    )


def _relative(path: Path | None, root: Path) -> str | None:
    return None if path is None else Path(os.path.relpath(path, root)).as_posix()


def _settings(config: Config) -> dict[str, JsonValue]:
    """The part of the config that decides the index; the number of threads does not."""
    encoders = config.encoders.model_dump(mode="json", exclude={"threads"})
    return {"encoders": encoders, "seed": config.seed, "recipe": RECIPE}


def _photo_hashes(items: Sequence[Item]) -> list[str | None]:
    return [None if item.image is None else file_hash(item.image) for item in items]


def _catalogue_hash(shop: Shop, photo_hashes: list[str | None]) -> str:
    """Of items and photos alone: new interactions or queries leave the index as it is."""
    rows = items_table(shop).rows()
    return digest([[*row, photo] for row, photo in zip(rows, photo_hashes, strict=True)])


def _text_vectors(
    texts: list[str], encoder: TextEncoder, cache: Path, progress: Progress
) -> tuple[Array, int]:
    def compute(places: list[int]) -> Array:
        parts = []
        with progress.task("text vectors", total=len(places)) as advance:
            for start in range(0, len(places), TEXT_CHUNK):
                chunk = places[start : start + TEXT_CHUNK]
                parts.append(encoder.encode([texts[place] for place in chunk]))
                advance(len(chunk))
        return np.concatenate(parts)

    return VectorCache(cache, "text", encoder.name).fill([text_key(t) for t in texts], compute)


def _photo_features(
    items: Sequence[Item],
    photo_hashes: list[str | None],
    encoders: EncoderConfig,
    cache: Path,
    progress: Progress,
) -> tuple[Array, int]:
    from adamroute.models.photos import DIMENSIONS, NAME, photo_features

    features = np.full((len(items), DIMENSIONS), np.nan, dtype=np.float32)
    rows = [row for row, name in enumerate(photo_hashes) if name is not None]
    if not rows:
        return features, 0

    def compute(places: list[int]) -> Array:
        paths = [items[rows[place]].image for place in places]
        return photo_features(paths, encoders.threads, progress)

    keys = [name for name in photo_hashes if name is not None]
    features[rows], computed = VectorCache(cache, "photo", NAME).fill(keys, compute)
    return features, computed
