"""What a product of the demo shop can look like, and its photo.

Every visual attribute named here is really drawn; the columns of items.csv use these words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from adamroute.datasets.demo.drawn import carried, clothes, footwear, home, textiles, worn
from adamroute.datasets.demo.patterns import COLOURS, PATTERNS, luminance
from adamroute.datasets.demo.studio import Pen

Draw = Callable[[Pen, str, str], None]
SMALL_PATTERNS = ("plain", "striped", "dotted", "checked", "zigzag", "speckled")


@dataclass(frozen=True, slots=True)
class Intent:
    """One product type: its options, and how it is set up before the camera."""

    draw: Draw
    shapes: tuple[str, ...]
    details: tuple[str, ...]
    patterns: tuple[str, ...] = PATTERNS
    density: float = 1.0  # repeats of the pattern; small surfaces need more
    grounded: bool = True  # stands on the floor; otherwise lies flat before the camera
    tilt_deg: float = 3.0
    may_flip: bool = True


INTENTS: dict[str, Intent] = {
    "sneakers": Intent(
        footwear.sneaker,
        ("thick wavy sole", "thin flat sole", "chunky wedge sole"),
        ("low cut", "high top"),
        density=1.9,
    ),
    "boots": Intent(
        footwear.boot,
        ("ankle-high", "mid-calf", "knee-high"),
        ("chunky lug sole", "block heel", "flat sole"),
        density=1.5,
    ),
    "t-shirt": Intent(
        clothes.t_shirt,
        ("short-sleeved", "long-sleeved", "sleeveless"),
        ("round neck", "V-neck", "button collar"),
        density=1.3,
        grounded=False,
        tilt_deg=5,
    ),
    "dress": Intent(
        clothes.dress,
        ("flared skirt", "straight skirt", "tiered skirt"),
        ("thin straps", "puffed sleeves", "long sleeves"),
        density=1.6,
        grounded=False,
    ),
    "hat": Intent(
        clothes.hat,
        ("wide brim", "bucket", "baseball cap", "beanie"),
        ("contrast band", "no band"),
        density=1.5,
    ),
    "sunglasses": Intent(
        worn.sunglasses,
        ("round", "aviator", "cat-eye", "rectangular"),
        ("dark lenses", "mirrored lenses", "amber lenses"),
        ("plain", "striped", "dotted", "speckled"),
        density=2.6,
        grounded=False,
        tilt_deg=7,
    ),
    "watch": Intent(
        worn.watch,
        ("round", "square", "octagonal"),
        ("hour marks", "three subdials", "digital display"),
        SMALL_PATTERNS,
        density=2.2,
        grounded=False,
        tilt_deg=12,
        may_flip=False,
    ),
    "headphones": Intent(
        worn.headphones,
        ("round cups", "oval cups", "square cups"),
        ("thick padded band", "thin metal band"),
        SMALL_PATTERNS,
        density=2.0,
        tilt_deg=6,
    ),
    "backpack": Intent(
        carried.backpack,
        ("rounded top", "roll top", "buckled flap"),
        ("one big pocket", "two small pockets"),
        density=1.2,
    ),
    "suitcase": Intent(
        carried.suitcase,
        ("ribbed shell", "smooth shell", "soft case"),
        ("long pull handle", "short carry handle"),
        density=1.1,
    ),
    "umbrella": Intent(
        carried.umbrella,
        ("deep dome canopy", "shallow canopy", "furled"),
        ("hooked handle", "straight handle"),
        density=1.4,
        tilt_deg=9,
    ),
    "bottle": Intent(
        carried.bottle,
        ("slim", "broad-shouldered", "waisted"),
        ("screw cap", "carry loop", "straw spout"),
        density=1.7,
    ),
    "mug": Intent(
        home.mug,
        ("straight-sided", "round-bellied", "tapered", "tall slim"),
        ("round handle", "square handle", "no handle"),
        density=1.2,
    ),
    "lamp": Intent(
        home.lamp,
        ("cone shade", "dome shade", "drum shade", "globe shade"),
        ("tripod legs", "bulbous base", "round foot"),
        density=1.4,
    ),
    "chair": Intent(
        home.chair,
        ("tall slatted back", "rounded back", "padded armrests"),
        ("wooden legs", "wire legs", "pedestal base"),
        density=1.4,
    ),
    "plant pot": Intent(
        home.plant_pot,
        ("tapered", "bowl-shaped", "cylindrical"),
        ("wooden legs", "saucer", "plain base"),
        density=1.5,
    ),
    "rug": Intent(
        textiles.rug,
        ("round", "rectangular", "runner", "scalloped"),
        ("fringed edge", "contrast border", "plain edge"),
        density=1.2,
        grounded=False,
        tilt_deg=5,
    ),
    "cushion": Intent(
        textiles.cushion,
        ("square", "round", "rectangular", "bolster"),
        ("piped edge", "corner tassels", "button centre"),
        density=1.1,
        grounded=False,
        tilt_deg=10,
    ),
}


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
    kind = INTENTS[type_]
    names = list(COLOURS)
    colour = names[int(rng.integers(len(names)))]
    bright = luminance(COLOURS[colour])
    far = [name for name in names if abs(luminance(COLOURS[name]) - bright) > 70]
    favourite = "white" if "white" in far else "black"
    accent = favourite if rng.random() < 0.4 else far[int(rng.integers(len(far)))]
    patterned = list(kind.patterns[1:])
    pattern = "plain" if rng.random() < 0.3 else patterned[int(rng.integers(len(patterned)))]
    shape = kind.shapes[int(rng.integers(len(kind.shapes)))]
    detail = kind.details[int(rng.integers(len(kind.details)))]
    return Look(type_, colour, accent, pattern, shape, detail)


def take_photo(look: Look, rng: np.random.Generator) -> Image.Image:
    """The product photo of a look: SIZE x SIZE RGB, different for every state of the generator."""
    kind = INTENTS[look.type]
    pen = Pen(
        rng,
        COLOURS[look.colour],
        COLOURS[look.accent],
        look.pattern,
        density=kind.density,
        tilt_deg=kind.tilt_deg,
        may_flip=kind.may_flip,
    )
    kind.draw(pen, look.shape, look.detail)
    return pen.photo(grounded=kind.grounded)
