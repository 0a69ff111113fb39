"""The text half of an index: listings as E_txt has them, or where requests find them better.

A query adapter as the multimodal branch has one: the mean of the listings is taken off, their
spread flattened, and a linear map, fitted on two requests an item that are written from its
clauses, learns how one asks by use. Where it does not help, the branch goes without: that is
measured on items that the map has not seen, asked for by a claim that is kept from their listing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.catalogue.item_words import without_claim
from adamroute.catalogue.shop import Item
from adamroute.encoders.query_adapter import TEXT_RIDGE, QueryAdapter, WhitenedSpace
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.indexing.branches import listing_vectors, query_vectors
from adamroute.progress import Progress
from adamroute.retrieval.branch_index import BranchIndex

Claims = Sequence[tuple[str, ...] | None]  # [N]
MEASURED = 2_000  # requests that tell whether the adapter helps
WITHIN = 20


@dataclass(frozen=True, eq=False)
class TextMaterial:
    """What the branch is made of, before anything is fitted; all E_txt."""

    listings: Vectors  # [N, D]
    unstated: Vectors  # [N, D], listings without the claim that is kept from them
    functional: Vectors  # [N, 2, D], requests by use
    claims: Vectors  # [N, D], requests by that claim; by the listing's first words without one
    new_listings: int  # not in the cache

    def only(self, rows: NDArray[np.bool_]) -> TextMaterial:
        """Some items of it."""
        return replace(
            self,
            listings=self.listings[rows],
            unstated=self.unstated[rows],
            functional=self.functional[rows],
            claims=self.claims[rows],
        )


@dataclass(frozen=True, eq=False)
class TextBranch:
    """Fitted: how listings and queries are placed."""

    space: WhitenedSpace
    side: QueryAdapter

    @classmethod
    def fit(cls, material: TextMaterial) -> TextBranch:
        """From listings and the requests by use that are written of them."""
        space = WhitenedSpace.fit(material.listings)
        items = space.place(material.listings)
        asked = np.concatenate([*material.functional.swapaxes(0, 1)])
        return cls(space, QueryAdapter.fit(space, asked, np.concatenate([items] * 2), TEXT_RIDGE))


def gather_texts(
    items: Sequence[Item], claims: Claims, encoder: TextEncoder, cache: Path, progress: Progress
) -> TextMaterial:
    """Encode what is not in the cache; `claims` are those that listings can be without."""
    from adamroute.encoders.text_views import functional_view

    whole = [item.text for item in items]
    kept = [_unstated(item, claim) for item, claim in zip(items, claims, strict=True)]
    listings, new = listing_vectors([*whole, *kept], encoder, cache, progress)
    said = [" ".join(claim) if claim else item.category or item.title or item.text
            for item, claim in zip(items, claims, strict=True)]  # fmt: skip
    views = [functional_view(item, number) for item in items for number in (0, 1)]
    vectors, _ = query_vectors("requests", [*views, *said], encoder, cache, progress)
    functional, asked = np.split(vectors, [len(views)])
    count = len(items)
    return TextMaterial(
        listings[:count], listings[count:], functional.reshape(count, 2, -1), asked, new
    )


def adapter_gain(material: TextMaterial, fold: NDArray[np.int64]) -> dict[str, JsonValue]:
    """What the adapter is worth: share of claims that find their item among the first 20.

    Each item is looked for by parts that were fitted without its fold, and by E_txt as it is.
    """
    hits: dict[str, list[float]] = {"plain": [], "adapted": []}
    for number in np.unique(fold).tolist():
        seen = fold != number
        rows = np.flatnonzero(~seen)[: MEASURED // (int(fold.max()) + 1)]
        if not seen.any():  # a shop of one fold: nothing is fitted on other items
            return {"plain": 0.0, "adapted": 0.0, "kept": False}
        branch, asked = TextBranch.fit(material.only(seen)), material.claims[rows]
        place = branch.space.place
        ways = {
            "plain": (material.listings, asked, material.unstated[rows]),
            "adapted": (
                place(material.listings), branch.side.place(asked), place(material.unstated[rows])
            ),
        }  # fmt: skip
        for name, (items, queries, stand_ins) in ways.items():
            ranks = BranchIndex(items).ranks(queries, rows, stand_ins=stand_ins)
            hits[name] += (ranks <= WITHIN).tolist()
    plain, adapted = (float(np.mean(hits[name])) for name in ("plain", "adapted"))
    return {"plain": round(plain, 4), "adapted": round(adapted, 4), "kept": adapted > plain}


def _unstated(item: Item, claim: tuple[str, ...] | None) -> str:
    """The listing without the claim; the title where nothing else would be left."""
    if claim is None:
        return item.text
    return without_claim(item.text, claim) or item.title or item.text
