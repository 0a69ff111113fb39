"""Stage `build`: a shop's catalogue to index/, all that recall needs at serve time.

Text and photo vectors are computed for changed content only (cache beside the index); the
alignment is refitted whenever an item changed, since it knows the items it has seen best, unless
the config names a fitted one (`encoders.align.artefact`).
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import JsonValue

from adamroute.assembly import load_text_encoder
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.item_profiles import read_profiles
from adamroute.catalogue.photo_files import decoded
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.encoders.query_adapter import QUERY_ADAPTER_FILE
from adamroute.indexing.branches import (
    listing_vectors,
    vl_branch,
)
from adamroute.indexing.photo_branch import ALIGNMENT_FILE, aligned_branch
from adamroute.pipeline import BUILD
from adamroute.progress import Progress
from adamroute.retrieval.search_index import DETAILS_FILE, ITEMS_FILE, MM_FILE, TEXT_FILE
from adamroute.stages import Manifest, write_text


def run_build(config: Config, progress: Progress) -> Manifest:
    """Build index/ from the shop folder, or return at once where it is up to date."""
    if BUILD.is_fresh(config):
        progress.note(f"build: {BUILD.path(config)} is up to date")
    return BUILD.run(config, lambda work: _build(config, work.folder, progress))


def _build(config: Config, folder: Path, progress: Progress) -> dict[str, JsonValue]:
    shop = decoded(read_shop(config.shop), progress)
    profiles = read_profiles(config, shop.catalogue)
    if profiles is not None:
        shop = replace(shop, catalogue=profiles.catalogue)
        write_text(folder / DETAILS_FILE, json.dumps(profiles.details, ensure_ascii=False))
    items, encoders, cache = shop.catalogue.items, config.encoders, config.out / "cache"
    encoder = load_text_encoder(encoders)
    text, new_texts = listing_vectors([item.text for item in items], encoder, cache, progress)
    if encoders.multimodal == "qwen3-vl":
        branch = vl_branch(encoders, items, cache, progress)
    else:
        branch = aligned_branch(config, items, encoder, text, progress)
    np.save(folder / TEXT_FILE, text)
    np.save(folder / MM_FILE, branch.item_vectors)
    if branch.side is not None:
        branch.side.save(folder / QUERY_ADAPTER_FILE)
    if branch.alignment is not None:
        branch.alignment.save(folder / ALIGNMENT_FILE)
    items_table(shop).write_parquet(folder / ITEMS_FILE)
    return {
        "items": len(items),
        "problems": dict(shop.problems),
        "reading": shop.reading.get("items"),
        "text_vectors_computed": new_texts,
        "text_encoder": encoder.name,
        "multimodal_encoder": branch.encoder,
        **branch.counts,
    }


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
