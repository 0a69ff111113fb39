"""Write adamroute/teacher/phrases.yaml: what requests by looks, by use and by both sound like.

Requests written of a generated shop, word by word as it lists them. Every shop's intent model
learns from them beside its own (adamroute/teacher/phrases.py).

    python scripts/write_phrases.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.item_words import INTENTS, catalogue_words
from adamroute.datasets.demo import generate_demo_shop
from adamroute.distill.labels.synthetic import Writer
from adamroute.indexing.cross_fitting import kept_claims
from adamroute.teacher.paraphrase import VERBATIM
from adamroute.teacher.phrases import PHRASES_FILE

SEED = 101  # another shop than the demo's own
ITEMS, COUNT = 600, 600


def main() -> None:
    """Generate, write, and forget the shop."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shop"
        generate_demo_shop(folder, items=ITEMS, seed=SEED)
        items = read_shop(folder).catalogue.items
    words = catalogue_words(
        [item.title for item in items],
        [item.text for item in items],
        [item.category for item in items],
        [item.visual for item in items],
    )
    ids = [item.item_id for item in items]
    writer = Writer(ids, words, kept_claims(ids, words), VERBATIM)
    made = writer.write(count=COUNT, seed=SEED, split_items=False)
    phrases = {
        intent: sorted({w.query.text for w in made if w.query.kind == intent})
        for intent in INTENTS
    }
    head = "# Made by scripts/write_phrases.py.\n"
    text = yaml.safe_dump(phrases, allow_unicode=True, sort_keys=False, width=1000)
    PHRASES_FILE.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()
