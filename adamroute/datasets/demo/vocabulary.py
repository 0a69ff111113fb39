"""What the demo shop knows: colours, product types, their functions, and the words for all of it.

The seller's and the shopper's words differ on purpose. All of it stands in two YAML files beside
this one: words.yaml and products.yaml, whose heads explain the notation.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from adamroute.datasets.demo.patterns import PATTERNS, RGB

Trait = Literal["outdoor", "easy", "green", "comfort", "travel", "lasting", "clever", "safe"]
TRAITS: tuple[Trait, ...] = get_args(Trait)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


Wordings = Annotated[tuple[str, ...], BeforeValidator(_split)]  # written `one | another`


def in_number(sentence: Wordings, plural: bool) -> str:
    """A sentence in the number of its noun; one without a second form fits both."""
    return sentence[-1 if plural else 0]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Entry):
    """One thing a product does, in the seller's words and in the shopper's; no photo shows it."""

    trait: Trait  # what kind of shopper cares
    said: Wordings  # sentences a listing uses, one of them per item
    asked: Wordings  # what follows "one that ..." in a request
    tag: Wordings  # the same as a terse search phrase
    values: dict[str, str] = {}  # of a fact still to be spelled out: seller's word to shopper's

    def spelled(self, seller: dict[str, str], shopper: dict[str, str]) -> Fact:
        """The fact with its placeholders filled in."""
        return self.model_copy(
            update={
                "said": _filled(self.said, seller),
                "asked": _filled(self.asked, shopper),
                "tag": _filled(self.tag, shopper),
                "values": {},
            }
        )

    def agreeing(self, plural: bool) -> Fact:
        """The fact with its verbs in the number of the product's noun."""
        return self.spelled({}, _PLURAL if plural else _SINGULAR)


_SINGULAR = {"s": "s", "is": "is", "them": "it"}
_PLURAL = {"s": "", "is": "are", "them": "them"}


def _filled(texts: tuple[str, ...], words: dict[str, str]) -> tuple[str, ...]:
    for name, word in words.items():
        texts = tuple(text.replace("{" + name + "}", word) for text in texts)
    return texts


def _a_fact_per_value(family: tuple[Fact, ...]) -> tuple[Fact, ...]:
    return tuple(
        fact.spelled({"v": v}, {"w": w})
        for fact in family
        for v, w in (fact.values or {"": ""}).items()
    )


# Alternatives: an item has at most one of them.
Family = Annotated[tuple[Fact, ...], AfterValidator(_a_fact_per_value)]


class Phrases(_Entry):
    """A noun phrase for listings, and phrases that wrap a noun (`_`) for requests."""

    said: str
    asked: tuple[str, ...]

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, text: str) -> dict[str, str | tuple[str, ...]]:
        said, *asked = _split(text)
        return {"said": said, "asked": tuple(asked)}


class ProductType(_Entry):
    """One product type: its names and options, and how it is set up before the camera."""

    names: Wordings  # the shopper's
    shapes: dict[str, Phrases]
    details: dict[str, Phrases]
    facts: tuple[Family, ...]
    plural: bool = False  # the noun is a plural: "boots"
    patterns: tuple[str, ...] = PATTERNS
    density: float = 1.0  # repeats of the pattern; small surfaces need more
    grounded: bool = True  # stands on the floor; otherwise lies flat before the camera
    tilt_deg: float = 3.0
    may_flip: bool = True


class Colour(_Entry):
    """A colour as it is drawn, and the shopper's words for it."""

    rgb: RGB
    words: Wordings


class NameParts(_Entry):
    """A product's own name is one part of each."""

    starts: tuple[str, ...]
    middles: tuple[str, ...]
    ends: tuple[str, ...]


class ListingSentences(_Entry):
    """Sentences around the facts of a listing; `in_number` chooses between two forms."""

    openings: tuple[Wordings, ...]
    closings: tuple[str, ...]
    looks: tuple[Wordings, ...]


class RequestFrames(_Entry):
    """Frames of a request by style; `in_number` chooses between two forms."""

    terse: tuple[str, ...]
    plain: tuple[Wordings, ...]
    chatty: tuple[Wordings, ...]


class Vocabulary(_Entry):
    """All of it; the order of every table decides what a seed draws."""

    colours: dict[str, Colour]
    patterns: dict[str, Phrases]
    common: tuple[Family, ...]  # facts any product may have
    names: NameParts
    listing: ListingSentences
    request: RequestFrames
    types: dict[str, ProductType]


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary, read once (0.3 s)."""
    words, types = (
        yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))
        for name in ("words.yaml", "products.yaml")
    )
    return Vocabulary.model_validate({**words, "types": types})
