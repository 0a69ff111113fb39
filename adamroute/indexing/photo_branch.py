"""The embedded multimodal half of an index: photo features, alignment, items, query side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.catalogue.shop import Item
from adamroute.config import AlignConfig, Config
from adamroute.encoders.projection_head import Alignment
from adamroute.encoders.query_adapter import QueryAdapter, fuse_items
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.encoders.vector_file import VectorCache
from adamroute.indexing.branches import photo_hashes, query_vectors
from adamroute.indexing.text_branch import TextMaterial
from adamroute.progress import Progress

ALIGNMENT_FILE = "alignment.npz"

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Material:
    """What the branch is made of, before anything is fitted."""

    listings: Array  # [N, D], e_txt
    unstated: Array  # [N, D], e_txt of the listings without the claim that is kept from them
    views: Array  # [N, 2, D], e_txt of text_views: looks, looks and first clause
    asked: Array  # [N, D], e_txt of query_view
    features: Array  # [N, P] of the photos; NaN where there is none
    new_views: int  # not in the cache
    new_photos: int

    def only(self, rows: NDArray[np.bool_]) -> Material:
        """Some items of it."""
        return replace(
            self,
            listings=self.listings[rows],
            unstated=self.unstated[rows],
            views=self.views[rows],
            asked=self.asked[rows],
            features=self.features[rows],
        )


@dataclass(frozen=True, eq=False)
class PhotoBranch:
    """Fitted: how photos and words are placed, the items, and the query side that finds them."""

    alignment: Alignment
    items: Vectors  # [N, D], all of the catalogue
    side: QueryAdapter


def gather(
    config: Config,
    items: Sequence[Item],
    encoder: TextEncoder,
    texts: TextMaterial,
    progress: Progress,
) -> Material:
    """Views of the items and features of their photos, computed once a content."""
    from adamroute.encoders.text_views import query_view, text_views

    cache = config.out / "cache"
    short = [view for item in items for view in (*text_views(item), query_view(item))]
    vectors, new_views = query_vectors("views", short, encoder, cache, progress)
    views, asked = np.split(vectors.reshape(len(items), 3, -1), [2], axis=1)
    features, new_photos = photo_vectors(items, cache, progress)
    return Material(
        texts.listings, texts.unstated, views, asked[:, 0], features, new_views, new_photos
    )


def place_items(
    alignment: Alignment, material: Material, align: AlignConfig, *, unstated: bool = False
) -> Vectors:
    """[N, D] item vectors in the common space; `unstated`: without the kept claims."""
    place = alignment.space.place
    return fuse_items(
        place(material.unstated if unstated else material.listings), place(material.views[:, 0]),
        alignment.head.place(material.features), align.text_weight, align.look_weight,
    )  # fmt: skip


def fit_photos(
    config: Config,
    material: Material,
    seen: NDArray[np.bool_],
    text_encoder: str,
    progress: Progress,
) -> PhotoBranch:
    """Fitted on the items that are `seen`, [N]; all of them are placed."""
    alignment = find_alignment(config, material.only(seen), text_encoder, progress)
    placed = place_items(alignment, material, config.encoders.align)
    side = QueryAdapter.fit(alignment.space, material.asked[seen], placed[seen])
    return PhotoBranch(alignment, placed, side)


def photo_counts(material: Material) -> dict[str, JsonValue]:
    """For the manifest."""
    no_photo = int(np.isnan(material.features).any(axis=1).sum())
    return {
        "photos": len(material.features) - no_photo,
        "items_without_photo": no_photo,
        "text_views_computed": material.new_views,
        "photo_features_computed": material.new_photos,
    }


def find_alignment(
    config: Config, material: Material, text_encoder: str, progress: Progress
) -> Alignment:
    """The one that the config names, or one fitted on this material."""
    from adamroute.encoders.photo_features import NAME
    from adamroute.encoders.projection_fit import fit_alignment

    align = config.encoders.align
    if align.artefact is not None:
        alignment = Alignment.load(align.artefact)
        alignment.check(align.artefact, text_encoder, NAME)
        return alignment
    return fit_alignment(
        material.features, material.views, align, text_encoder=text_encoder, photo_features=NAME,
        seed=config.seed, progress=progress,
    )  # fmt: skip


def photo_vectors(
    items: Sequence[Item],
    cache: Path,
    progress: Progress,
) -> tuple[Array, int]:
    """Photo features [N, P], NaN where there is no photo, and how many were not in the cache."""
    from adamroute.encoders.photo_features import DIMENSIONS, NAME, photo_features

    features = np.full((len(items), DIMENSIONS), np.nan, dtype=np.float32)
    hashes = photo_hashes(items)
    rows = [row for row, name in enumerate(hashes) if name is not None]
    photos = [item.image for item in items if item.image is not None]
    if not rows:
        return features, 0

    def compute(places: list[int]) -> Iterator[Array]:
        return photo_features([photos[place] for place in places], progress)

    keys = [name for name in hashes if name is not None]
    features[rows], computed = VectorCache(cache, "photo", NAME).fill(keys, compute)
    return features, computed
