"""Synthetic requests: template queries over the catalogue whose kind and target are known.

They teach query composition, are label rows of their own, and stand in for logged queries where a
shop has items alone. Seeded: the same catalogue, count and seed give the same requests.

A request that repeats the listing finds its item too easily, and more so by text. So a share of
its words is said otherwise (teacher/paraphrase.py), and every second request by use asks for what
the listing does not state. Both shares were set on ikea's train queries, whose ranks they match to
a Kolmogorov-Smirnov distance of .08 by text and .03 by photos; all words as listed give .29 and
.20, and such requests find ikea's items two thirds too often by text (EXPERIMENTS.md).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from adamroute.catalogue.folder import derived_split
from adamroute.catalogue.item_words import INTENTS, Intent, ItemWords
from adamroute.catalogue.known_queries import WRITTEN
from adamroute.catalogue.shop import Query
from adamroute.errors import LabelError
from adamroute.teacher.paraphrase import Paraphraser
from adamroute.teacher.pseudo_queries import MAX_WORDS, MIN_WORDS, write_query

UNSTATED = 0.5  # share of requests by use whose claim the listing does not state


@dataclass(frozen=True, slots=True)
class Written:
    """A synthetic request, and whether it asks for what the listing does not state."""

    query: Query
    unstated: bool  # it is ranked as if the item's kept claim stood nowhere


@dataclass(frozen=True)
class Writer:
    """Writes requests for the items of a catalogue, by row."""

    ids: Sequence[str]
    words: Sequence[ItemWords]
    claims: Sequence[tuple[str, ...] | None]  # that each listing can be without
    paraphraser: Paraphraser

    def write(self, *, count: int, seed: int, split_items: bool) -> tuple[Written, ...]:
        """`count` requests over all items in turn, kinds as even as the listings allow.

        Each is a user of its own, named after the item, so that splits by user hold.

        `split_items` splits them by sha256 of the item, for a shop without queries of its own;
        otherwise all are train rows, and so they are where so few items left none to train on.
        Empty where no item has words to ask for.
        """
        rng = Random(f"synthetic|{seed}")
        usable = [row for row, w in enumerate(self.words) if w.looks or w.claims or w.noun]
        rng.shuffle(usable)
        written: Counter[Intent] = Counter(dict.fromkeys(INTENTS, 0))
        requests = []
        for number in range(count if usable else 0):
            row = usable[number % len(usable)]
            kind = _rarest(self.words[row].kinds, written, rng)
            written[kind] += 1
            requests.append(self._request(number, row, kind, rng, split_items))
        if any(request.query.split == "train" for request in requests):
            return tuple(requests)
        return tuple(replace(r, query=replace(r.query, split="train")) for r in requests)

    def _request(
        self, number: int, row: int, kind: Intent, rng: Random, split_items: bool
    ) -> Written:
        item_id, words, claim = self.ids[row], self.words[row], self.claims[row]
        unstated = kind != "visual" and claim is not None and rng.random() < UNSTATED
        if unstated and claim is not None:
            words = replace(words, claims=(claim,))
        text = self.paraphraser.reworded(write_query(words, kind, _length(rng), rng), kind, rng)
        query = Query(
            query_id=f"{WRITTEN}{number}:{item_id}",
            user_id=f"{WRITTEN}{item_id}",
            text=text,
            target_id=item_id,
            kind=kind,
            split=derived_split(item_id) if split_items else "train",
        )
        return Written(query, unstated)


def nothing_to_learn(wanted: int, items: int) -> LabelError:
    """Why no request has a known outcome, and what gives one; `wanted` synthetic ones were."""
    if not wanted:
        return LabelError(
            "no synthetic requests and no train queries: nothing to learn from. "
            "Set labels.synthetic_requests above 0 or give the shop train queries"
        )
    return LabelError(
        f"no train queries, and none of the {items} items has a word to ask by: nothing to learn "
        "from. Name a category or visual columns in shop.yaml, or give the shop train queries"
    )


def as_queries_file(requests: Sequence[Written]) -> str:
    """The requests as a shop folder's queries.jsonl, and which of them are unstated."""
    rows = (
        {
            "query_id": q.query_id,
            "user_id": q.user_id,
            "query": q.text,
            "target_id": q.target_id,
            "kind": q.kind,
            "split": q.split,
            "unstated": written.unstated,
        }
        for written in requests
        for q in (written.query,)
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rarest(kinds: Sequence[Intent], written: Counter[Intent], rng: Random) -> Intent:
    fewest = min(written[kind] for kind in kinds)
    return rng.choice([kind for kind in kinds if written[kind] == fewest])


def _length(rng: Random) -> int:
    """Words of a query: short ones are common, as a shopper's are."""
    return round(math.exp(rng.uniform(math.log(MIN_WORDS), math.log(MAX_WORDS))))
