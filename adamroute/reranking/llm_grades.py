"""The five-grade re-ranker that reads: a language model rates each candidate's profile.

One prompt a candidate, alike up to its last line, so that an engine computes the shared part once;
levels are the softmax over the model's log-probabilities of the tokens "1" to "5". What the five
hold of all probability, the level mass, is watched: where it is small the model wanted to say
something else, and the levels say little. Scores are remembered by the exact text of the prompt.

Texts of items and shoppers are data (llm/fence.py). On top of the fence, sentences of an
item that speak to whoever rates it are left out and counted (`injection_suspected`). That stops
the plain attempts which `ADDRESSED` describes; one that is worded otherwise, or in another
language, still reaches the model, whose training then decides. A sentence that is dropped by
mistake costs its words, never the item.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import structlog
from numpy.typing import NDArray
from scipy.special import softmax

from adamroute.llm.fence import clean, fenced
from adamroute.llm.prompts import Prompt, prompts
from adamroute.reranking.features import Case
from adamroute.reranking.reranker import Grades
from adamroute.stages import digest

PROMPT = "level"
# Characters. Together 1,750: with four bytes each and a token a byte, 7,000 tokens. The rubric has
# about 350, so no text makes a prompt longer than the 8,192 of an engine.
ITEM_LIMIT = 500  # of an item's profile, looks first
QUERY_LIMIT = 500
PART_LIMIT = 250  # of each part of the preferences
PREFIX = "Level: "  # begins the reply; without it SmolLM2's level mass is .04, with it .83
ITEM_MARK = "\u241f"  # stands for the item while the rest of a prompt is written once
LOW_MASS = 0.5  # mean level mass of a call below which it is reported

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_BEST = r"(highest|maximum|max|top|full)"
# What speaks to a rater: orders to forget, orders to answer with a level, claims of a level. None
# of the 10,097 listings of the ikea and myntra shops matches.
ADDRESSED = re.compile(
    r"\b(ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(above|previous|prior|earlier|before|instructions?|rules?|prompts?|rubric|everything)\b"
    r"|(^|[,:;(\"'“]\s*|\b(and|then|please|must|should|always|just|only|to|now)\s+)"
    rf"(answer|reply|respond|output|rate|score|grade|say)\b.{{0,40}}\b([1-5]|five|{_BEST})\b"
    rf"|\b{_BEST}\s+(possible\s+)?(level|rating|score|grade)\b"
    r"|\b(level|rating|score|grade|answer|reply)\s*(is|:|=|must be|should be|of)\s*[1-5]\b"
    r"|\b(system|assistant|user)\s*(prompt|message|:)"
    r"|\byou are (now )?(a|an|the)\b.{0,40}\b(assistant|model|rater|judge|ai)\b",
    re.IGNORECASE,
)

LogProbs = NDArray[np.float64]  # [K, 5] of the tokens "1" to "5", over the whole vocabulary


@dataclass(frozen=True)
class GradePrompts:
    """Conversations alike up to the item: system, `head` + item + `tail`, then `PREFIX`."""

    system: str
    head: str
    items: tuple[str, ...]  # fenced
    tail: str


class GradeReader(Protocol):
    """A language model that tells how likely each level is as the next token."""

    @property
    def name(self) -> str:
        """Model and number format, for the re-ranker's hash."""
        ...

    def log_probs(self, asked: GradePrompts) -> LogProbs:
        """One row an item, in order. EngineError where the engine fails."""
        ...


class LlmReranker:
    """Reranker over a GradeReader, with a memory of `cache` scores."""

    def __init__(self, reader: GradeReader, *, cache: int) -> None:
        self._reader = reader
        self._size = cache
        self._known: OrderedDict[str, NDArray[np.float64]] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._mass_sum, self._mass_min = 0.0, 1.0

    @property
    def hash(self) -> str:
        """Name of model and prompt, 16 hex digits."""
        return digest({"reader": self._reader.name, "prompt": grade_prompt().stamp})

    @property
    def counts(self) -> Mapping[str, float]:
        """Since the start: read, remembered, injection_suspected, low_mass_calls, level mass."""
        read = self._counts["read"]
        mean = self._mass_sum / read if read else 1.0
        return {**self._counts, "level_mass_mean": mean, "level_mass_min": self._mass_min}

    def score(self, case: Case) -> Grades:
        """Level probabilities [K, 5]; candidates not read before go to the model as one list."""
        asked, suspected = grade_prompts(case)
        self._counts["injection_suspected"] += suspected
        shared = "\0".join((asked.system, asked.head, asked.tail))
        keys = [hashlib.sha256(f"{shared}\0{item}".encode()).hexdigest() for item in asked.items]
        new = {key: item for key, item in zip(keys, asked.items, strict=True)
               if key not in self._known}  # fmt: skip
        self._counts.update(read=len(new), remembered=len(keys) - len(new))
        if new:
            self._read(asked, new)
        found = np.stack([self._known[key] for key in keys]) if keys else np.zeros((0, 5))
        for key in keys:
            self._known.move_to_end(key)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return found

    def contributions(self, case: Case) -> list[Mapping[str, float]]:
        """A language model does not tell its reasons."""
        return [{}] * len(case.candidates)

    def _read(self, asked: GradePrompts, new: Mapping[str, str]) -> None:
        """Ask the model for the new ones, sorted, so that alike beginnings are neighbours."""
        keys = sorted(new, key=lambda key: new[key])
        items = tuple(new[key] for key in keys)
        log_probs = self._reader.log_probs(
            GradePrompts(asked.system, asked.head, items, asked.tail)
        )
        levels, mass = softmax_grades(log_probs)
        self._known.update(zip(keys, levels, strict=True))
        self._mass_sum += float(mass.sum())
        self._mass_min = min(self._mass_min, float(mass.min()))
        if mass.mean() < LOW_MASS:
            self._counts["low_mass_calls"] += 1
            structlog.get_logger().warning(
                "level_mass_low", mean=float(mass.mean()), min=float(mass.min()), read=len(mass),
                wanted=LOW_MASS, reader=self._reader.name,
            )  # fmt: skip


def softmax_grades(log_probs: LogProbs) -> tuple[Grades, NDArray[np.float64]]:
    """Grades [K, 5] that sum to 1, and the level mass [K] that they had before."""
    return softmax(log_probs, axis=1), np.exp(log_probs).sum(axis=1)


def grade_prompt() -> Prompt:
    """The rubric's template."""
    return prompts(Path(__file__).with_name("prompts"))[PROMPT]


def grade_prompts(case: Case) -> tuple[GradePrompts, int]:
    """What the model reads of a case, and how many items lost a sentence that addressed it."""
    prompt, profile = grade_prompt(), case.profile
    user = prompt.part(
        "user",
        query=case.query,
        alpha=case.alpha,
        strong_pref=_phrases(profile.strong_pref),
        nice_to_have=_phrases(profile.nice_to_have),
        dislike=_phrases(profile.dislike),
        item=ITEM_MARK,
        query_limit=QUERY_LIMIT,
        part_limit=PART_LIMIT,
        item_limit=ITEM_LIMIT,
    )
    head, _, tail = user.rpartition(ITEM_MARK)
    shown = [item_text(text) for text in case.profiles]
    asked = GradePrompts(prompt.part("system"), head, tuple(text for text, _ in shown), tail)
    return asked, sum(spoken_to for _, spoken_to in shown)


@lru_cache(maxsize=65_536)
def item_text(profile: str) -> tuple[str, bool]:
    """An item's profile as it stands inside its fence, and whether something was left out of it.

    A sentence that addresses the rater goes; the first, which names the item, from there on.
    """
    whole = clean(profile, ITEM_LIMIT)
    first, *rest = _SENTENCE.split(whole)
    orders = ADDRESSED.search(first)
    name = first[: orders.start()].rstrip(" ,;:(-") if orders else first
    kept = " ".join(filter(None, [name, *(s for s in rest if not ADDRESSED.search(s))]))
    text = fenced(kept, ITEM_LIMIT).removeprefix("<data>").removesuffix("</data>")
    return text, kept != whole


def _phrases(part: Sequence[str]) -> str:
    return ", ".join(part) or "nothing known"
