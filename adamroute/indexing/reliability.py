"""Which branch finds items that it never saw, by looks and by use: what `build` ends by telling.

A sample of items is asked for twice: by the looks that the shop's columns name, and by a claim of
their listing that is kept from it. Both are ranked by parts that were fitted on other items, so
the shares are what a new item may expect. Read before a single query is logged, they say which
branch deserves trust, and what the catalogue would have to say for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from adamroute.catalogue.item_words import ItemWords
from adamroute.catalogue.shop import Item
from adamroute.retrieval.cross_fit import CrossFitted

SAMPLE = 500  # items asked for
WITHIN = 20
SMALL_SIDE = 64  # pixels; a photo below shows little
FEW_ITEMS = 200
SHORT = 4  # words; a listing below says little
MOST = 0.5  # share of the items that makes a lack the shop's
CLEAR = 0.05  # difference of shares that tells two branches apart


@dataclass(frozen=True)
class Found:
    """Share of a sample's items among the first 20 of each branch."""

    requests: int
    text: float
    photos: float

    @property
    def plain(self) -> dict[str, JsonValue]:
        """For the manifest."""
        return {
            "requests": self.requests,
            "text": round(self.text, 3),
            "photos": round(self.photos, 3),
        }


def measure_branches(proof: CrossFitted, words: Sequence[ItemWords]) -> Mapping[str, Found]:
    """`looks` and `use`, each over the items that can be asked for so; absent where none can."""
    rows = np.unique(np.linspace(0, len(words) - 1, SAMPLE).round().astype(np.int64)).tolist()
    looks = {r: " ".join((*words[r].looks, words[r].noun)) for r in rows if words[r].looks}
    use = {r: " ".join(claim) for r in rows if (claim := proof.claims[r])}
    asked = {"looks": (looks, False), "use": (use, True)}
    return {
        name: _found(proof, said, unstated) for name, (said, unstated) in asked.items() if said
    }


def _found(proof: CrossFitted, said: Mapping[int, str], unstated: bool) -> Found:
    texts, rows = list(said.values()), np.array(list(said), np.int64)
    e_txt = proof.text_encoder.encode(texts)
    hidden = np.full(len(rows), unstated)
    ranks = proof.ranks(texts, e_txt, rows, unstated=hidden)
    text, photos = (float((found <= WITHIN).mean()) for found in (ranks.text, ranks.mm))
    return Found(len(rows), text, photos)


def told(found: Mapping[str, Found], lacking: Sequence[tuple[str, str]]) -> list[str]:
    """Five lines: by looks, by use, what that means, what the shop lacks, what would help most."""
    lacks = "; ".join(lack for lack, _ in lacking) or "nothing that was looked for"
    helps = lacking[0][1] if lacking else "real queries: adamroute judge CONFIG, or a log"
    return [
        f"by looks, {_line(found.get('looks'))}",
        f"by use, {_line(found.get('use'))}",
        f"so {_meaning(found)}",
        f"the shop lacks {lacks}",
        f"what would help most: {helps}",
    ]


def _line(found: Found | None) -> str:
    if found is None:
        return "nothing can be asked: no listing names any"
    return (
        f"items that nothing was fitted on are among the first {WITHIN} in {found.photos:.0%} of "
        f"{found.requests} requests by photos, in {found.text:.0%} by text"
    )


def _meaning(found: Mapping[str, Found]) -> str:
    if len(found) < 2:
        return "both branches count alike wherever nothing can be asked (alpha .5)"
    parts = []
    for name, words in (("looks", "requests for looks"), ("use", "requests for use")):
        lead = found[name].photos - found[name].text
        side = "photos" if lead > CLEAR else "text" if lead < -CLEAR else "neither branch"
        parts.append(f"{words} lean to {side}")
    return ", ".join(parts)


def lacks_of(items: Sequence[Item], words: Sequence[ItemWords]) -> list[tuple[str, str]]:
    """What the catalogue is short of and what would mend it, the gravest first."""
    count = len(items)
    shown = [item for item in items if item.image is not None]
    checks = (
        (not shown, "photos", "a column with photos: without any, the second branch is words too"),
        (
            0 < len(shown) < MOST * count,
            f"photos of {count - len(shown)} of {count} items",
            "photos of the other items",
        ),
        (
            bool(shown) and _small(shown) > MOST * len(shown),
            f"photos of at least {SMALL_SIDE} pixels",
            "larger photos",
        ),
        (
            sum(bool(w.looks) for w in words) < MOST * count,
            "columns that say what a photo shows",
            "`visual:` columns in shop.yaml (colour, pattern): the photos are aligned by them",
        ),
        (
            sum(bool(w.claims) for w in words) < MOST * count,
            "listings that claim anything",
            "descriptions: what an item is for, made of, or does",
        ),
        (
            sum(len(item.text.split()) < SHORT for item in items) > MOST * count,
            f"listings of at least {SHORT} words",
            "longer listings",
        ),
        (count < FEW_ITEMS, f"items: {count} are few to fit an alignment on", "more items"),
        (
            len({item.category for item in items}) < 2,
            "a second category",
            "a `category:` column that tells kinds of item apart",
        ),
    )
    return [(lack, mend) for true, lack, mend in checks if true]


def _small(items: Sequence[Item]) -> int:
    from PIL import Image

    small = 0
    for item in items[:SAMPLE]:
        assert item.image is not None  # the caller's choice
        with Image.open(item.image) as photo:
            small += min(photo.size) < SMALL_SIDE
    return round(small * len(items) / min(len(items), SAMPLE))
