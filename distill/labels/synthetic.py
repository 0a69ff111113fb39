"""Synthetic requests: template queries over the catalogue whose kind and target are known.

They teach query composition, are label rows of their own, and stand in for logged queries where a
shop has items alone. Seeded: the same catalogue, count and seed give the same requests.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from adamroute.catalogue.folder import derived_split
from adamroute.catalogue.item_words import INTENTS, Intent, ItemWords
from adamroute.catalogue.shop import Catalogue, Split
from adamroute.teacher.pseudo_queries import MAX_WORDS, MIN_WORDS, write_query


@dataclass(frozen=True, slots=True)
class SyntheticRequest:
    """One template query; its user is itself, so that splits by user hold."""

    request_id: str
    user_id: str  # "synthetic:<item>"
    query: str
    item_id: str
    row: int
    kind: Intent
    split: Split


def synthetic_requests(
    catalogue: Catalogue,
    words: Sequence[ItemWords],
    *,
    count: int,
    seed: int,
    split_items: bool,
) -> tuple[SyntheticRequest, ...]:
    """`count` requests over all items in turn, kinds as even as the listings allow.

    `split_items` splits them by sha256 of the item, for a shop without queries of its own;
    otherwise all are train rows. Empty where no item has words to ask for.
    """
    rng = Random(f"synthetic|{seed}")
    usable = [row for row, item in enumerate(words) if item.looks or item.claims or item.noun]
    rng.shuffle(usable)
    written: Counter[Intent] = Counter(dict.fromkeys(INTENTS, 0))
    requests = []
    for number in range(count if usable else 0):
        row = usable[number % len(usable)]
        item_id = catalogue.items[row].item_id
        kind = _rarest(words[row].kinds, written, rng)
        written[kind] += 1
        requests.append(
            SyntheticRequest(
                request_id=f"synthetic:{number}:{item_id}",
                user_id=f"synthetic:{item_id}",
                query=write_query(words[row], kind, _length(rng), rng),
                item_id=item_id,
                row=row,
                kind=kind,
                split=derived_split(item_id) if split_items else "train",
            )
        )
    return tuple(requests)


def as_queries_file(requests: Sequence[SyntheticRequest]) -> str:
    """The requests as a shop folder's queries.jsonl."""
    rows = (
        {
            "query_id": r.request_id,
            "user_id": r.user_id,
            "query": r.query,
            "target_id": r.item_id,
            "kind": r.kind,
            "split": r.split,
        }
        for r in requests
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rarest(kinds: Sequence[Intent], written: Counter[Intent], rng: Random) -> Intent:
    fewest = min(written[kind] for kind in kinds)
    return rng.choice([kind for kind in kinds if written[kind] == fewest])


def _length(rng: Random) -> int:
    """Words of a query: short ones are common, as a shopper's are."""
    return round(math.exp(rng.uniform(math.log(MIN_WORDS), math.log(MAX_WORDS))))
