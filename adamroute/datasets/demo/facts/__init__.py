"""The functional vocabulary of the demo shop: none of it can be seen in a photo."""

from __future__ import annotations

from collections.abc import Mapping

from adamroute.datasets.demo.facts import accessories, home, travel, wear
from adamroute.datasets.demo.facts.fact import TRAITS, Fact, Family, Trait, graded, one

__all__ = ["COMMON", "FACTS", "PLURAL", "TRAITS", "Fact", "Family", "Trait"]

PLURAL = frozenset({"sneakers", "boots", "sunglasses", "headphones"})
WARRANTY = {"two": "a couple of years", "five": "five years", "ten": "a decade"}


def _common(type_: str) -> tuple[Family, ...]:
    """Facts any product may have, with the verb in the number of the type."""
    s = "" if type_ in PLURAL else "s"
    them = "them" if type_ in PLURAL else "it"
    return (
        graded(
            "lasting",
            "Backed by a {v}-year warranty. | We guarantee the workmanship for {v} years.",
            f"come{s} with cover for {{w}} | the maker stands behind for {{w}}",
            "guaranteed for {w} | cover for {w}",
            WARRANTY,
        ),
        one(
            "green",
            "Made mostly from recycled material. | At least 70% recycled content.",
            f"use{s} reclaimed stuff rather than virgin material | give{s} waste a second life",
            "reclaimed material | from reused stuff",
        ),
        one(
            "lasting",
            "Spare parts are sold separately, so a repair is cheap. | Every part can be replaced.",
            "I can mend myself when a bit breaks | "
            f"let{s} me swap a worn part and keep {them} going",
            "repairable | replaceable bits",
        ),
        one(
            "clever",
            "Arrives in a gift box with a blank card. | Gift wrapped on request.",
            "is ready to hand over as a gift | comes wrapped for a birthday"
            if s
            else "are ready to hand over as a gift | come wrapped for a birthday",
            "boxed as a gift | with birthday wrapping",
        ),
    )


FACTS: Mapping[str, tuple[Family, ...]] = {
    **wear.FACTS, **accessories.FACTS, **travel.FACTS, **home.FACTS,
}  # fmt: skip
COMMON: Mapping[str, tuple[Family, ...]] = {type_: _common(type_) for type_ in FACTS}
