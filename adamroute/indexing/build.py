"""Stage `build`: a shop's catalogue to index/, all that recall needs at serve time.

Text and photo vectors are computed for changed content only (cache beside the index); the
alignment is refitted whenever an item changed, since it knows the items it has seen best, unless
the config names a fitted one (`encoders.align.artefact`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import JsonValue

from adamroute.assembly import load_text_encoder
from adamroute.catalogue.item_profiles import read_profiles
from adamroute.catalogue.shop import Item, Shop
from adamroute.config import Config
from adamroute.encoders.query_adapter import QUERY_ADAPTER_FILE
from adamroute.indexing.branches import (
    encoder_settings,
    listing_vectors,
    vl_branch,
)
from adamroute.indexing.photo_branch import ALIGNMENT_FILE, aligned_branch, artefact_hash
from adamroute.progress import Progress
from adamroute.retrieval.search_index import DETAILS_FILE, ITEMS_FILE, MM_FILE, TEXT_FILE
from adamroute.stages import (
    Manifest,
    digest,
    file_hash,
    is_fresh,
    publish,
    read_manifest,
    stage_key,
    write_manifest,
    write_text,
)

STAGE = "build"
RECIPE = 2  # raise it when the same config and catalogue come to mean another index


def run_build(config: Config, progress: Progress) -> Manifest:
    """Build index/ from the shop folder, or return at once where it is up to date."""
    from adamroute.catalogue.folder import read_shop

    shop = read_shop(config.shop)
    photo_hashes = _photo_hashes(shop.catalogue.items)
    inputs = {"catalogue": _catalogue_hash(shop, photo_hashes), **artefact_hash(config.encoders)}
    profiles = read_profiles(config, shop.catalogue)
    if profiles is not None:
        inputs["profiles"] = profiles.hash
        shop = replace(shop, catalogue=profiles.catalogue)
    settings = _settings(config)
    folder = config.stage("index")
    if is_fresh(folder, STAGE, stage_key(STAGE, settings, inputs)):
        progress.note(f"build: {folder} is up to date")
        return read_manifest(folder, STAGE)
    details = None if profiles is None else profiles.details
    return _build(config, shop, photo_hashes, details, inputs, progress)


def _build(
    config: Config,
    shop: Shop,
    photo_hashes: list[str | None],
    details: Sequence[str] | None,
    inputs: dict[str, str],
    progress: Progress,
) -> Manifest:
    items, encoders = shop.catalogue.items, config.encoders
    cache = config.out / "cache"
    encoder = load_text_encoder(encoders)
    text, new_texts = listing_vectors([item.text for item in items], encoder, cache, progress)
    if encoders.multimodal == "qwen3-vl":
        branch = vl_branch(encoders, items, photo_hashes, cache, progress)
    else:
        branch = aligned_branch(config, items, photo_hashes, encoder, text, progress)
    with publish(config.stage("index")) as folder:
        np.save(folder / TEXT_FILE, text)
        np.save(folder / MM_FILE, branch.item_vectors)
        if branch.side is not None:
            branch.side.save(folder / QUERY_ADAPTER_FILE)
        if branch.alignment is not None:
            branch.alignment.save(folder / ALIGNMENT_FILE)
        items_table(shop).write_parquet(folder / ITEMS_FILE)
        if details is not None:
            write_text(folder / DETAILS_FILE, json.dumps(details, ensure_ascii=False))
        counts: dict[str, JsonValue] = {
            "items": len(items),
            "problems": dict(shop.problems),
            "text_vectors_computed": new_texts,
            "text_encoder": encoder.name,
            "multimodal_encoder": branch.encoder,
            **branch.counts,
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
    return {"encoders": encoder_settings(config.encoders), "seed": config.seed, "recipe": RECIPE}


def _photo_hashes(items: Sequence[Item]) -> list[str | None]:
    return [None if item.image is None else file_hash(item.image) for item in items]


def _catalogue_hash(shop: Shop, photo_hashes: list[str | None]) -> str:
    """Of items and photos alone: new interactions or queries leave the index as it is."""
    rows = items_table(shop).rows()
    return digest([[*row, photo] for row, photo in zip(rows, photo_hashes, strict=True)])
