"""A shop of 24 items with users and queries, indexed for real; only the encoders are made up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from adamroute.catalogue.item_words import words_in
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Catalogue, Item, Query, Shop, Split
from adamroute.config import Config
from adamroute.distill.labels.label import write_labels
from adamroute.distill.labels.requests import write_ranks
from adamroute.distill.labels.rounds import stored_likings
from adamroute.encoders.seams import Vectors
from adamroute.indexing.cross_fitting import deal, kept_claims
from adamroute.pipeline import BUILD, LABEL, RANKS
from adamroute.progress import SILENT, Progress
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.cross_fit import FOLDER, save_folds
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.search_index import Branches, SearchIndex
from adamroute.stages import FORMAT, MANIFEST, Manifest, Pieces, write_text
from adamroute.teacher.policy import Liking, TeacherPolicy

COLOURS = ("red", "blue", "green")
USES = {
    "lamp": ("dims softly for reading at night", "clips onto any desk edge"),
    "rug": ("muffles footsteps in busy halls", "shakes clean after muddy paws"),
    "bag": ("keeps papers dry during heavy rain", "folds flat inside every suitcase"),
    "vase": ("stands firm with tall branches", "survives frost on the balcony"),
}


@dataclass
class BagOfWords:
    """Both encoders: unit counts of hashed words."""

    name: str = "bag"
    dimensions: int = 256
    seen: list[str] = field(default_factory=list)  # every text encoded, in order

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        vectors = np.full((len(texts), self.dimensions), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words_in(text):
                vectors[row, _place(word)] += 1.0
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:  # noqa: ARG002
        return text_vectors


@cache
def _place(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") % 256


def items() -> tuple[Item, ...]:
    return tuple(
        Item(
            item_id=f"{colour}-{noun}-{number}",
            title=f"BRAND{place} {noun}",
            text=f"BRAND{place} {noun}. {use}",
            visual={"colour": colour},
            category=noun,
            image=None,
        )
        for place, noun in enumerate(USES)
        for colour in COLOURS
        for number, use in enumerate(USES[noun])
    )


def market_shop(*, queries: bool = True) -> Shop:
    """Eight users who like one colour each; user n's queries are in split n mod 4."""
    ids = [item.item_id for item in items()]
    histories = {
        f"u{n}": tuple(Interaction(ids[(5 * n + 7 * k) % 24], k != 3, float(k)) for k in range(5))
        for n in range(8)
    }
    return Shop(
        name="market",
        folder=Path("market"),
        catalogue=Catalogue(items()),
        histories=histories,
        queries=tuple(_queries()) if queries else (),
        time="none",
    )


def _queries() -> list[Query]:
    splits: tuple[Split, ...] = ("train", "train", "calibration", "test")
    texts = ("{colour} {noun} please", "{noun} that {use}", "something that {use}")
    found = []
    for number in range(24):
        user, item = number % 8, items()[(number * 11) % 24]
        noun, colour = item.category, item.visual["colour"]
        text = texts[number % 3].format(
            colour=colour, noun=noun, use=" ".join(words_in(item.text)[2:6])
        )
        found.append(Query(f"q{number}", f"u{user}", text, item.item_id, None, splits[user % 4]))
    return found


def market_index(encoder: BagOfWords | None = None) -> SearchIndex:
    """Text branch over listings, multimodal branch over colour and noun."""
    encoder = encoder or BagOfWords()
    goods = items()
    text = encoder.encode([item.text for item in goods])
    mm = encoder.encode([f"{item.visual['colour']} {item.category}" for item in goods])
    manifest = Manifest(
        format=FORMAT, stage="build", key="market", config={}, inputs={}, outputs={}, counts={},
        packages={}, commit="",
    )  # fmt: skip
    return SearchIndex(
        manifest=manifest,
        ids=tuple(item.item_id for item in goods),
        titles=tuple(item.title for item in goods),
        texts=tuple(item.text for item in goods),
        profile_texts=tuple(item.text for item in goods),
        categories=tuple(item.category for item in goods),
        images=(None,) * len(goods),
        visual=tuple(item.visual for item in goods),
        text_vectors=text,
        text_encoder=encoder,
        branches=Branches(None, encoder, DualRetriever(BranchIndex(text), BranchIndex(mm))),
    )


def market_config(out: Path, **labels: float) -> Config:
    """tau is the 24 items, so the one budget bin below it is 20."""
    return Config.model_validate(
        {
            "name": "market",
            "shop": out / "shop",
            "out": out,
            "routing": {"tau": 24, "mean_budget": 20},
            "labels": {"synthetic_requests": 60, **labels},
        }
    )


def rank_market(config: Config, shop: Shop, index: SearchIndex, progress: Progress) -> None:
    """Ranks over an index and a shop at hand; on disk they are there for the keys of stages."""
    write_shop(shop, config.shop)
    BUILD.path(config).mkdir(parents=True, exist_ok=True)
    write_text(BUILD.path(config) / MANIFEST, index.manifest.model_dump_json())
    fold_market(BUILD.path(config), index)
    RANKS.run(config, lambda work: write_ranks(config, shop.queries, index, work, progress))


def fold_market(folder: Path, index: SearchIndex) -> None:
    """index/folds: three folds whose parts are the index's own, since nothing is fitted here.

    Without its one claim a listing is brand and noun alone.
    """
    (folder / FOLDER).mkdir(exist_ok=True)
    bare = np.array(index.text_encoder.encode(index.titles))
    dealt = deal(index.texts, index.images, 0)
    claims = kept_claims(index.ids, index.words)
    save_folds(folder / FOLDER, dealt, claims, (bare, index.retriever.mm.vectors))


def label_market(
    config: Config, shop: Shop, index: SearchIndex, progress: Progress = SILENT
) -> Manifest:
    """Ranks and labels over an index and a shop at hand."""
    rank_market(config, shop, index, progress)
    return LABEL.run(config, lambda work: write_labels(config, shop, index, work, progress))


def write_shop(shop: Shop, folder: Path) -> None:
    """The shop as a folder that reads back as the same."""
    lines: dict[str, list[dict[str, object]]] = {
        "items": [
            {"id": i.item_id, "title": i.title, "text": i.text, "noun": i.category, **i.visual}
            for i in shop.catalogue.items
        ],
        "interactions": [
            {"user_id": u, "item_id": x.item_id, "label": "pos" if x.positive else "neg",
             "timestamp": x.timestamp}
            for u, history in shop.histories.items() for x in history
        ],
        "queries": [
            {"query_id": q.query_id, "user_id": q.user_id, "query": q.text,
             "target_id": q.target_id, "kind": q.kind, "split": q.split}
            for q in shop.queries
        ],
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    sections = {
        "items": "{file: items.jsonl, id: id, title: title, text: [text], visual: [colour], "
        "category: noun}",
        "interactions": "{file: interactions.jsonl}",
        "queries": "{file: queries.jsonl}",
    }
    text = f"name: {shop.name}\n"
    for name, rows in lines.items():
        if rows:
            write_text(folder / f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            text += f"{name}: {sections[name]}\n"
    write_text(folder / "shop.yaml", text)


def kept_likings(shop: Shop, index: SearchIndex, policy: TeacherPolicy) -> dict[str, Liking]:
    """p_u of every user, in a folder of pieces that is thrown away."""
    with TemporaryDirectory() as folder:
        return stored_likings(shop, index, policy, Pieces(Path(folder) / "parts", "key"), SILENT)
