from collections import Counter

from adamroute.catalogue.item_words import INTENTS
from adamroute.teacher.phrases import phrases


def test_phrases_hold_every_intent_about_as_often_and_none_twice() -> None:
    found = phrases()
    counts = Counter(intent for _, intent in found)
    assert set(counts) == set(INTENTS)
    assert min(counts.values()) > 0.8 * max(counts.values())
    assert len({text for text, _ in found}) == len(found)


def test_phrases_are_requests_and_not_listings() -> None:
    assert all(2 <= len(text.split()) <= 30 for text, _ in phrases())
