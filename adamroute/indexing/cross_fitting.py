"""Cross-fitting at build time: the parts of each fold, fitted on the other folds' items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import ItemWords
from adamroute.config import Config
from adamroute.encoders.seams import Vectors
from adamroute.indexing.photo_branch import Material, fit_photos, place_items
from adamroute.indexing.text_branch import Claims, TextBranch, TextMaterial
from adamroute.progress import Progress
from adamroute.retrieval.cross_fit import FOLDER, FOLDS, FoldParts, save_folds

HEADS = 1  # networks a fold: three are worth a point, and cost three times as long


@dataclass(frozen=True, eq=False)
class Dealt:
    """Which fold each item is in, and which claim its listing can be without."""

    fold: NDArray[np.int64]  # [N]
    claims: Claims


@dataclass(frozen=True, eq=False)
class Whole:
    """What an index was made of, and is made of again fold by fold."""

    texts: TextMaterial
    photos: Material | None  # None where photos need no fit
    mm_items: Vectors  # [N, D_mm], the index's own
    adapted: bool  # whether the text branch has a query adapter


def kept_claims(ids: Sequence[str], words: Sequence[ItemWords]) -> Claims:
    """One claim an item, drawn by its id; None where its listing claims nothing."""
    return [
        Random(f"claim|{item_id}").choice(item.claims) if item.claims else None
        for item_id, item in zip(ids, words, strict=True)
    ]


def deal(texts: Sequence[str], photos: Sequence[str | None], seed: int) -> NDArray[np.int64]:
    """[N] fold of every item; items that share listing or photo are dealt together.

    A catalogue of fewer different items than folds has one fold.
    """
    group = _groups(texts, photos)
    names = np.unique(group)
    folds = FOLDS if len(names) >= FOLDS else 1
    order = np.random.default_rng(seed).permutation(len(names))
    dealt = np.empty(len(names), np.int64)
    dealt[order] = np.arange(len(names)) % folds
    return dealt[np.searchsorted(names, group)]


def _groups(texts: Sequence[str], photos: Sequence[str | None]) -> NDArray[np.int64]:
    """[N] number of the group that an item is linked to by equal listings or photos."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first: dict[tuple[str, str], int] = {}
    links = []
    for row, (text, photo) in enumerate(zip(texts, photos, strict=True)):
        links += [
            (first.setdefault(key, row), row)
            for key in (("text", text.strip().lower()), ("photo", photo or ""))
            if key[1]
        ]
    left, right = np.array(links, np.int64).reshape(-1, 2).T
    size = (len(texts), len(texts))
    graph = coo_array((np.ones(len(links)), (left, right)), shape=size)
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def write_folds(
    config: Config,
    folder: Path,
    dealt: Dealt,
    whole: Whole,
    *,
    text_encoder: str,
    progress: Progress,
) -> None:
    """Fit the parts of every fold on the other folds' items, and write index/folds."""
    (folder / FOLDER).mkdir()
    fold, texts, photos = dealt.fold, whole.texts, whole.photos
    align = config.encoders.align.model_copy(update={"seeds": HEADS})
    encoders = config.encoders.model_copy(update={"align": align})
    quick = config.model_copy(update={"encoders": encoders})
    unstated_text, unstated_mm = texts.unstated.copy(), np.array(whole.mm_items)
    for number in range(int(fold.max()) + 1):
        own = fold == number
        seen = np.ones(len(fold), np.bool_) if own.all() else ~own
        text_items = text_side = mm_items = mm_side = None
        if whole.adapted:
            branch = TextBranch.fit(texts.only(seen))
            text_items, text_side = branch.space.place(texts.listings), branch.side
            unstated_text[own] = branch.space.place(texts.unstated[own])
        if photos is not None:
            fitted = fit_photos(quick, photos, seen, text_encoder, progress)
            mm_items, mm_side = fitted.items, fitted.side
            own_photos = photos.only(own)
            unstated_mm[own] = place_items(fitted.alignment, own_photos, align, unstated=True)
        FoldParts(text_items, text_side, mm_items, mm_side).save(folder / FOLDER, number)
    save_folds(folder / FOLDER, fold, dealt.claims, (unstated_text, unstated_mm))
