"""Measures the multimodal branch alone: recall by query kind, on unseen items, by photo alone.

    python scripts/bench_encoder.py --config configs/ikea.yaml [--left-out] [--pairs]

Needs a finished build (adamroute build). Without an option: the index as it is. `--left-out`: the
alignment is fitted on the other 3/5 of the items, and queries for those it never saw are counted.
`--pairs`: "colour type" of each distinct pair as the text, left-out items ranked by their photos
alone. Prints command, hardware and commit.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_index
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.shop import Item, Query, Shop
from adamroute.config import Config, load_config
from adamroute.encoders.projection_head import Alignment
from adamroute.encoders.query_adapter import AlignedPhotoEncoder, QueryAdapter
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.hardware import machine
from adamroute.indexing.cross_fitting import kept_claims
from adamroute.indexing.photo_branch import Material, find_alignment, gather, place_items
from adamroute.indexing.text_branch import gather_texts
from adamroute.process import prepare_process
from adamroute.progress import SILENT
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import commit

Rows = NDArray[np.bool_]

K = 20
BARS = {"visual": 0.80, "functional": 0.50, "mixed": 0.78}
LEFT_OUT_BAR = 0.66  # of visual queries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--shop", type=Path, help="as of the command adamroute")
    parser.add_argument("--out", type=Path, help="as of the command adamroute")
    options = parser.parse_args()
    config = load_config(options.config, shop=options.shop, out=options.out)
    prepare_process(config.threads)
    shop = read_shop(config.shop)
    index = load_index(config.stage("index"))
    print(f"command: {' '.join(sys.argv)}")
    print(f"hardware: {machine()}")
    print(f"commit: {commit()}; {len(index)} items, {len(shop.queries)} queries, K = {K}")
    if shop.queries:
        as_built(shop, index)
    if options.left_out or options.pairs:
        unseen(config, shop, index, by_query=options.left_out, by_pair=options.pairs)


def as_built(shop: Shop, index: SearchIndex) -> None:
    """Every query against the index, as served."""
    vectors = index.encode([query.text for query in shop.queries]).mm
    found = recalled(vectors, index.retriever.mm.vectors, shop, shop.queries)
    for kind, bar in BARS.items():
        share = found[[query.kind == kind for query in shop.queries]].mean()
        print(f"{kind}: {share:.3f}; bar {bar:.2f}: {'met' if share >= bar else 'MISSED'}")
    for split in ("train", "calibration", "test"):
        share = found[[query.split == split for query in shop.queries]].mean()
        print(f"all kinds, {split}: {share:.3f}")
    print(f"all: {found.mean():.3f}")


def unseen(
    config: Config, shop: Shop, index: SearchIndex, *, by_query: bool, by_pair: bool
) -> None:
    """The alignment fitted without two fifths of the items, and how those are found."""
    items, encoder = shop.catalogue.items, index.text_encoder
    claims = kept_claims(index.ids, index.words)
    texts = gather_texts(items, claims, encoder, config.out / "cache", SILENT)
    material = gather(config, items, encoder, texts, SILENT)
    left = np.array([left_out(item) for item in items])
    alignment = find_alignment(config, material.only(~left), encoder.name, SILENT)
    vectors = place_items(alignment, material, config.encoders.align)
    side = QueryAdapter.fit(alignment.space, material.asked[~left], vectors[~left])
    if by_query and shop.queries:
        of_left_out(config, shop, encoder, AlignedPhotoEncoder(side), alignment, material, left)
    if by_pair:
        pairs(items, encoder, AlignedPhotoEncoder(side), alignment, material, left)


def left_out(item: Item) -> bool:
    """Two fifths of the items, the same everywhere."""
    return int(hashlib.sha256(item.item_id.encode()).hexdigest(), 16) % 5 < 2


def of_left_out(
    config: Config,
    shop: Shop,
    text: TextEncoder,
    encoder: AlignedPhotoEncoder,
    alignment: Alignment,
    material: Material,
    left: Rows,
) -> None:
    """Queries whose target was left out, against the whole catalogue, by kind."""
    queries = tuple(q for q in shop.queries if left[shop.catalogue.row(q.target_id)])
    texts = [query.text for query in queries]
    asked = encoder.encode_queries(texts, text.encode(texts))
    # "colour type" is replaced by the photo in items that were left out, or kept as listed
    nameless = material.views.copy()
    nameless[left, 0] = alignment.space.mean
    for title, views in (("their colours unnamed", nameless), ("as listed", material.views)):
        items = place_items(alignment, replace(material, views=views), config.encoders.align)
        found = recalled(asked, items, shop, queries)
        shares = {kind: found[[q.kind == kind for q in queries]].mean() for kind in BARS}
        shown = ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items())
        verdict = "met" if shares["visual"] >= LEFT_OUT_BAR else "MISSED"
        print(f"left out of the alignment, {title}: {shown}; bar {LEFT_OUT_BAR:.2f}: {verdict}")


def pairs(
    items: tuple[Item, ...],
    text: TextEncoder,
    encoder: AlignedPhotoEncoder,
    alignment: Alignment,
    material: Material,
    left: Rows,
) -> None:
    """First and first ten of the left-out items by photo, for each distinct "colour type"."""
    kept = left & ~np.isnan(material.features).any(axis=1)
    names = np.array([" ".join((*i.visual.values(), i.category)) for i in items])[kept]
    photos = alignment.head.place(material.features[kept])
    texts = sorted(set(names))
    scores = encoder.encode_queries(texts, text.encode(texts)) @ photos.T
    best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    right = names[best] == np.array(texts)[:, None]
    print(
        f"{len(texts)} distinct pairs over {len(names)} left-out photos: that pair is first in "
        f"{right[:, 0].mean():.3f}, and {right.mean():.3f} of the first ten"
    )


def recalled(
    asked: Vectors, items: Vectors, shop: Shop, queries: tuple[Query, ...]
) -> NDArray[np.bool_]:
    """Is the target among the best K, as the index ranks them?"""
    targets = np.array([shop.catalogue.row(query.target_id) for query in queries])
    return np.asarray(BranchIndex(items).ranks(asked, targets) <= K)


if __name__ == "__main__":
    main()
