"""How one product of the demo shop looks, and its photo: every attribute of it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from PIL import Image

from adamroute.datasets.demo.drawn import DRAW
from adamroute.datasets.demo.patterns import luminance
from adamroute.datasets.demo.studio import Pen
from adamroute.datasets.demo.vocabulary import vocabulary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Look:
    """The visual attributes of one item; `accent` shows in patterns and in small parts."""

    type: str
    colour: str
    accent: str
    pattern: str
    shape: str
    detail: str

    @property
    def colours(self) -> str:
        """The colour column: the accent counts only where a pattern shows it."""
        return self.colour if self.pattern == "plain" else f"{self.colour} and {self.accent}"


def pick_look(type_: str, rng: np.random.Generator) -> Look:
    """A random look; the accent is a colour that stands out from the main one."""
    kind = vocabulary().types[type_]
    bright = {name: luminance(known.rgb) for name, known in vocabulary().colours.items()}
    colour = pick(list(bright), rng)
    far = [name for name in bright if abs(bright[name] - bright[colour]) > 70]
    favourite = "white" if "white" in far else "black"
    accent = favourite if rng.random() < 0.4 else pick(far, rng)
    pattern = "plain" if rng.random() < 0.3 else pick(kind.patterns[1:], rng)
    shape, detail = pick(list(kind.shapes), rng), pick(list(kind.details), rng)
    return Look(type_, colour, accent, pattern, shape, detail)


def pick(options: Sequence[T], rng: np.random.Generator) -> T:
    """One of the options, uniformly."""
    return options[int(rng.integers(len(options)))]


def take_photo(look: Look, rng: np.random.Generator) -> Image.Image:
    """The product photo of a look: SIZE x SIZE RGB, different for every state of the generator."""
    kind, colours = vocabulary().types[look.type], vocabulary().colours
    pen = Pen(
        rng,
        colours[look.colour].rgb,
        colours[look.accent].rgb,
        look.pattern,
        density=kind.density,
        tilt_deg=kind.tilt_deg,
        may_flip=kind.may_flip,
    )
    DRAW[look.type](pen, look.shape, look.detail)
    return pen.photo(grounded=kind.grounded)
