"""The student's prompt: one renderer for training and serving, and the tokens that spell theta.

A prompt is query, preference profile and end marker, tokenised part by part, so that cutting one
part never moves a token of another. The end marker always stays and the query goes before the
profile: a prompt that is too long loses the profile's end first, then the query's. What users
write is data: control characters and line breaks become spaces, and the marker holds a line break
that no query can spell.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import ModelError
from adamroute.stages import digest
from adamroute.theta import ALPHAS, Bins

Encode = Callable[[str], list[int]]  # text to token ids, no special tokens added or recognised

END = "\nsplit:"
PARTS = (("likes", "strong_pref", 3), ("maybe", "nice_to_have", 2), ("not", "dislike", 2))
PROFILE_TOKENS = 24  # 40 tokens are half of a request's time; the query carries most of the signal
CHARS_A_TOKEN = 16  # characters kept before tokenising: 100,000 of them would take a second
ALPHA_WORDS = tuple(f" {letter}" for letter in "ABCDEFGHIJK")
BUDGET_WORDS = tuple(f" {letter}" for letter in "LMNOPQRS")


@dataclass(frozen=True, slots=True)
class PromptRenderer:
    """Query and profile to the token ids a student reads, at most `max_tokens` of them."""

    encode: Encode
    max_tokens: int

    def ids(self, query: str, profile: PreferenceProfile) -> list[int]:
        """Ids of the prompt; the next token is the alpha bin."""
        end = self.encode(END)
        room = self.max_tokens - len(end)
        if room < 1:
            raise ModelError(
                f"max_tokens {self.max_tokens}: the end marker alone takes {len(end)}; raise it"
            )
        kept = CHARS_A_TOKEN * self.max_tokens
        asked = self.encode(_clean(query[:kept]))[:room]
        wishes = self.encode(profile_text(profile)[:kept])
        return asked + wishes[: min(PROFILE_TOKENS, room - len(asked))] + end


def render_prompt(query: str, profile: PreferenceProfile) -> str:
    """The whole prompt as a person reads it, before anything is cut."""
    return _clean(query) + profile_text(profile) + END


def profile_text(profile: PreferenceProfile) -> str:
    """The profile's strongest phrases, "" where it has none."""
    lines = []
    for word, part, most in PARTS:
        phrases = [_clean(phrase) for phrase in getattr(profile, part)[:most]]
        if phrases:
            lines.append(f"\n{word} {', '.join(phrases)}")
    return "".join(lines)


def prompt_version() -> str:
    """Changes with the template: a student trained on another one must not be served."""
    sample = PreferenceProfile(("a", "b", "c", "d"), ("e", "f", "g"), ("h", "i", "j"))
    words = [*ALPHA_WORDS, *BUDGET_WORDS]
    return digest([render_prompt("q\tr", sample), PROFILE_TOKENS, CHARS_A_TOKEN, words])


@dataclass(frozen=True, slots=True)
class BinTokens:
    """Ids of the tokens that spell the alphas, [A], and the budgets, [K]."""

    alphas: tuple[int, ...]
    budgets: tuple[int, ...]


def bin_tokens(encode: Encode, bins: Bins) -> BinTokens:
    """Existing single tokens, so that no embedding is new; ModelError where one is not single."""
    alphas = _single(encode, ALPHA_WORDS[: len(ALPHAS)])
    budgets = _single(encode, BUDGET_WORDS[: len(bins.budgets)])
    return BinTokens(alphas, budgets)


def _single(encode: Encode, words: Sequence[str]) -> tuple[int, ...]:
    ids = [encode(word) for word in words]
    wrong = [word for word, found in zip(words, ids, strict=True) if len(found) != 1]
    if wrong:
        raise ModelError(
            f"tokenizer: {wrong} take more than one token, a bin needs one. Use another backbone"
        )
    return tuple(found[0] for found in ids)


def _clean(text: str) -> str:
    """One line: control, format and unassigned characters count as spaces."""
    spaced = "".join(" " if unicodedata.category(c)[0] == "C" else c for c in text)
    return " ".join(spaced.split())
