"""Requests of another shop, by intent: what asking by looks or by use sounds like anywhere.

Words change from shop to shop, ways of asking hardly do. An intent model of these 600 phrases of a
generated shop alone tells ikea's functional from its visual train queries with AUC .955, one of
ikea's own written requests with .973, and one of both with .989 (EXPERIMENTS.md). So they join
every shop's own, and stand in where a catalogue names no looks or claims no use.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from adamroute.catalogue.item_words import Intent

PHRASES_FILE = Path(__file__).with_name("phrases.yaml")


def phrases() -> tuple[tuple[str, Intent], ...]:
    """Every phrase with its intent, as packaged."""
    found: dict[Intent, list[str]] = yaml.safe_load(PHRASES_FILE.read_text(encoding="utf-8"))
    return tuple((text, intent) for intent, texts in found.items() for text in texts)
