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
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.assembly import load_branches, load_text_encoder
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.item_profiles import read_profiles
from adamroute.catalogue.item_words import ItemWords, catalogue_words
from adamroute.catalogue.photo_files import decoded
from adamroute.catalogue.shop import Item, Shop
from adamroute.config import Config
from adamroute.encoders.query_adapter import (
    QUERY_ADAPTER_FILE,
    TEXT_ADAPTER_FILE,
    AlignedPhotoEncoder,
)
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.indexing.branches import photo_hashes, vl_branch
from adamroute.indexing.cross_fitting import (
    Dealt,
    Whole,
    deal,
    kept_claims,
    write_folds,
)
from adamroute.indexing.photo_branch import (
    ALIGNMENT_FILE,
    Material,
    fit_photos,
    gather,
    photo_counts,
)
from adamroute.indexing.reliability import lacks_of, measure_branches, told
from adamroute.indexing.text_branch import (
    TextBranch,
    TextMaterial,
    adapter_gain,
    gather_texts,
)
from adamroute.pipeline import BUILD
from adamroute.progress import Progress
from adamroute.retrieval.cross_fit import load_folds
from adamroute.retrieval.search_index import (
    BRANCH_FILE,
    DETAILS_FILE,
    ITEMS_FILE,
    MM_FILE,
    TEXT_FILE,
)
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
    items_table(shop).write_parquet(folder / ITEMS_FILE)
    items, encoder = shop.catalogue.items, load_text_encoder(config.encoders)
    words = shop_words(items)
    claims = kept_claims([item.item_id for item in items], words)
    fold = deal([item.text for item in items], photo_hashes(items), config.seed)
    texts = gather_texts(items, claims, encoder, config.out / "cache", progress)
    adapter = _write_text_branch(folder, texts, fold)
    photos, mm, counts = _write_multimodal(
        config, folder, items, texts, encoder=encoder, progress=progress
    )
    write_folds(
        config, folder, Dealt(fold, claims), Whole(texts, photos, mm, bool(adapter["kept"])),
        text_encoder=encoder.name, progress=progress,
    )  # fmt: skip
    branches = load_branches(config.encoders, folder, str(counts["multimodal_encoder"]))
    found = measure_branches(load_folds(folder, branches, encoder), words)
    lacking = lacks_of(items, words)
    for line in told(found, lacking):
        progress.note(f"build: {line}")
    return {
        "items": len(items),
        "problems": dict(shop.problems),
        "reading": shop.reading.get("items"),
        "text_vectors_computed": texts.new_listings,
        "text_encoder": encoder.name,
        "text_adapter": adapter,
        "reliability": {name: branch.plain for name, branch in found.items()},
        "shop_lacks": [lack for lack, _ in lacking],
        **counts,
    }


def _write_text_branch(
    folder: Path, texts: TextMaterial, fold: NDArray[np.int64]
) -> dict[str, JsonValue]:
    """E_txt of the listings, and items and query adapter of the branch where one helps."""
    gain = adapter_gain(texts, fold)
    np.save(folder / TEXT_FILE, texts.listings)
    if gain["kept"]:
        branch = TextBranch.fit(texts)
        np.save(folder / BRANCH_FILE, branch.space.place(texts.listings))
        branch.side.save(folder / TEXT_ADAPTER_FILE)
    return gain


def _write_multimodal(
    config: Config,
    folder: Path,
    items: Sequence[Item],
    texts: TextMaterial,
    *,
    encoder: TextEncoder,
    progress: Progress,
) -> tuple[Material | None, Vectors, dict[str, JsonValue]]:
    """Material where photos are aligned here, item vectors, and what the manifest says of them."""
    if config.encoders.multimodal == "qwen3-vl":
        branch = vl_branch(config.encoders, items, config.out / "cache", progress)
        np.save(folder / MM_FILE, branch.item_vectors)
        return None, branch.item_vectors, {**branch.counts, "multimodal_encoder": branch.encoder}
    photos = gather(config, items, encoder, texts, progress)
    everything = np.ones(len(items), np.bool_)
    fitted = fit_photos(config, photos, everything, encoder.name, progress)
    np.save(folder / MM_FILE, fitted.items)
    fitted.side.save(folder / QUERY_ADAPTER_FILE)
    fitted.alignment.save(folder / ALIGNMENT_FILE)
    name = AlignedPhotoEncoder(fitted.side).name
    return photos, fitted.items, {**photo_counts(photos), "multimodal_encoder": name}


def shop_words(items: Sequence[Item]) -> tuple[ItemWords, ...]:
    """Material of every item for writers of queries, by row."""
    return catalogue_words(
        [item.title for item in items],
        [item.text for item in items],
        [item.category for item in items],
        [item.visual for item in items],
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
