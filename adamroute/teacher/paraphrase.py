"""Paraphraser: how far a written query stays from the listing it was made from.

Template queries repeat the listing and find their item too easily (DESIGN, section 4). Shoppers
say the same in other words, or leave it out. So each content word of a written query is, with a
probability that depends on the kind of query, replaced by a word that lies near it in E_txt among
the catalogue's own, or dropped where there is none. The label stage fits these probabilities so
that the pseudo-queries' targets rank as those of real train queries do (distill/wording.py).

Limits: near in E_txt is not the same in meaning ("oak" may become "birch"); grammar is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.catalogue.item_words import INTENTS, STOPWORDS, Intent, words_in
from adamroute.errors import ArtifactError
from adamroute.stages import write_text

PARAPHRASE_FILE = "wording.json"
RELATED = 4  # words kept beside each
NEAR, NEAR_LOOK = 0.45, 0.6  # least cosine; looks are held closer, since "white" lies near "black"
SAME_STEM = 4  # equal first letters make two words one
KEPT = 2  # content words a query keeps
MIN_ITEMS = 2  # listings that must have a word
# Of written requests, and of pseudo-queries where a shop has no real queries to match; set on the
# train queries of ikea (distill/labels/synthetic.py).
UNMATCHED = 0.3


class Paraphraser(BaseModel):
    """Words beside each word of the catalogue, and the share of words to say otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    hardness: dict[Intent, float]  # 0 repeats the listing
    related: dict[str, tuple[str, ...]]

    def reworded(self, text: str, kind: Intent, rng: Random) -> str:
        """The same query in other words; the draws are the same at any hardness."""
        tokens = text.split()
        content = [place for place, token in enumerate(tokens) if _core(token) not in STOPWORDS]
        left = len(content)
        for place in content:
            draw, pick = rng.random(), rng.random()
            if draw >= self.hardness[kind]:
                continue
            core = _core(tokens[place])
            if others := self.related.get(core):
                chosen = others[int(pick * len(others))]
                tokens[place] = tokens[place].lower().replace(core, chosen)
            elif left > KEPT:
                tokens[place] = ""
                left -= 1
        return " ".join(token for token in tokens if token)

    def at(self, hardness: Mapping[Intent, float]) -> Paraphraser:
        """The same words at another hardness."""
        return self.model_copy(update={"hardness": dict(hardness)})

    def save(self, folder: Path) -> None:
        """Write wording.json into the folder."""
        write_text(folder / PARAPHRASE_FILE, self.model_dump_json() + "\n")


VERBATIM = Paraphraser(hardness=dict.fromkeys(INTENTS, 0.0), related={})


def load_paraphraser(folder: Path) -> Paraphraser:
    """Read wording.json; ArtifactError where it is absent or not that."""
    path = folder / PARAPHRASE_FILE
    try:
        return Paraphraser.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise ArtifactError(
            f"{path}: not a wording file ({type(error).__name__}). Run: adamroute label CONFIG"
        ) from error


def vocabulary(texts: Sequence[str], visual: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Content words of at least two listings, sorted."""
    counts = Counter(
        word
        for text, values in zip(texts, visual, strict=True)
        for word in {*words_in(text), *_looks(values)}
    )
    return tuple(sorted(w for w, n in counts.items() if n >= MIN_ITEMS and _tells(w)))


def related_words(
    words: Sequence[str], vectors: NDArray[np.float32], visual: Sequence[Mapping[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Up to four words near each in E_txt, nearest first; `vectors` [V, D] are those of `words`.

    No form of the word itself, and no look in place of a word that is none.
    """
    looks = {look for values in visual for look in _looks(values)}
    related = {}
    for place, word in enumerate(words):
        similarity = vectors @ vectors[place]
        nearest = np.argsort(-similarity, kind="stable")[: 4 * RELATED]
        least = NEAR_LOOK if word in looks else NEAR
        others = [
            words[other]
            for other in nearest.tolist()
            if similarity[other] > least
            and words[other][:SAME_STEM] != word[:SAME_STEM]
            and (word in looks or words[other] not in looks)
        ]
        if others:
            related[word] = tuple(others[:RELATED])
    return related


def _looks(values: Mapping[str, str]) -> set[str]:
    return {word for value in values.values() for word in words_in(value)}


def _tells(word: str) -> bool:
    return word.isalpha() and len(word) > 2 and word not in STOPWORDS


def _core(token: str) -> str:
    """A token without case and punctuation; "" counts as a small word."""
    return next(iter(words_in(token)), "the")
