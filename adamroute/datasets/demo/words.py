"""Words for looks: the seller's noun phrases and the shopper's, which differ on purpose.

In the shopper's phrases `_` is the noun they are wrapped around: "stripy _", "_ with a long neck".
"""

from __future__ import annotations

from dataclasses import dataclass

TYPES: dict[str, tuple[str, ...]] = {
    "sneakers": ("sneakers", "trainers", "gym shoes"),
    "boots": ("boots",),
    "t-shirt": ("t-shirt", "tee", "tee-shirt"),
    "dress": ("dress", "frock"),
    "hat": ("hat",),
    "sunglasses": ("sunglasses", "shades"),
    "watch": ("watch", "wristwatch"),
    "headphones": ("headphones", "over-ears"),
    "backpack": ("backpack", "rucksack", "daypack"),
    "suitcase": ("suitcase", "luggage trolley", "travel case"),
    "umbrella": ("umbrella", "brolly"),
    "bottle": ("bottle", "flask", "drinking bottle"),
    "mug": ("mug", "coffee cup", "tea cup"),
    "lamp": ("lamp", "table lamp", "light"),
    "chair": ("chair", "seat"),
    "plant pot": ("plant pot", "planter", "flowerpot"),
    "rug": ("rug", "carpet", "floor mat"),
    "cushion": ("cushion", "throw pillow", "scatter pillow"),
}

COLOURS: dict[str, tuple[str, ...]] = {
    "red": ("red", "crimson", "scarlet", "cherry-coloured"),
    "orange": ("orange", "tangerine", "pumpkin-coloured"),
    "yellow": ("yellow", "lemony", "sunflower-coloured"),
    "green": ("green", "leaf-green", "emerald"),
    "teal": ("teal", "petrol", "blue-green"),
    "light blue": ("light blue", "sky-blue", "baby-blue"),
    "navy": ("navy", "dark blue", "midnight-blue"),
    "purple": ("purple", "violet", "aubergine"),
    "pink": ("pink", "rosy", "bubblegum"),
    "brown": ("brown", "chocolate", "chestnut"),
    "black": ("black", "jet-black", "ebony"),
    "white": ("white", "snowy", "off-white"),
}

# {a} is the accent colour, in the seller's or the shopper's word for it.
PATTERNS_SAID: dict[str, str] = {
    "plain": "in a single colour",
    "striped": "with {a} stripes",
    "dotted": "with {a} dots",
    "checked": "with a {a} check",
    "zigzag": "with a {a} zigzag",
    "floral": "with {a} flowers",
    "speckled": "with {a} speckles",
}
PATTERNS_ASKED: dict[str, tuple[str, ...]] = {
    "plain": ("unpatterned _", "one-colour _", "plain _"),
    "striped": ("stripy _", "_ with {a} stripes", "_ with {a} bands across", "striped _"),
    "dotted": ("spotty _", "_ with {a} polka dots", "polka-dot _"),
    "checked": ("gingham _", "_ with {a} squares", "checked _"),
    "zigzag": ("chevron _", "_ with {a} zigzags", "_ with jagged {a} lines"),
    "floral": ("flowery _", "_ with little {a} blossoms", "floral _"),
    "speckled": ("terrazzo-look _", "_ with {a} flecks", "_ with tiny {a} specks"),
}


@dataclass(frozen=True, slots=True)
class Words:
    """One shape or detail: a noun phrase for listings, wrapping phrases for requests."""

    said: str
    asked: tuple[str, ...]


def _w(said: str, *asked: str) -> Words:
    return Words(said, asked)


FORMS: dict[str, dict[str, Words]] = {
    "sneakers": {
        "thick wavy sole": _w("a thick wavy sole", "_ with a fat rippled bottom",
                              "_ with thick soles that undulate"),
        "thin flat sole": _w("a thin flat sole", "_ with slim level soles", "flat-soled _"),
        "chunky wedge sole": _w("a chunky wedge sole", "_ with soles rising at the heel",
                                "wedge _"),
        "low cut": _w("a low cut", "low _", "_ with bare ankles"),
        "high top": _w("a high top", "_ with a tall collar", "high-top _"),
    },
    "boots": {
        "ankle-high": _w("an ankle-high shaft", "short _", "ankle _"),
        "mid-calf": _w("a mid-calf shaft", "_ with a half-height leg", "mid-length _"),
        "knee-high": _w("a knee-high shaft", "tall _", "_ with a leg up to the knee"),
        "chunky lug sole": _w("a chunky lug sole", "_ with a toothed sole", "chunky-soled _"),
        "block heel": _w("a block heel", "_ with a square heel", "heeled _"),
        "flat sole": _w("a flat sole", "flat _", "heelless _"),
    },
    "t-shirt": {
        "short-sleeved": _w("short sleeves", "_ with half sleeves", "short-sleeve _"),
        "long-sleeved": _w("long sleeves", "_ with sleeves to the wrist", "long-sleeve _"),
        "sleeveless": _w("no sleeves", "tank-style _", "_ with bare arms"),
        "round neck": _w("a round neck", "crew-neck _", "_ with a rounded neckline"),
        "V-neck": _w("a V-neck", "_ with a pointed neckline", "vee-neck _"),
        "button collar": _w("a button collar", "polo-style _", "_ with a buttoned collar"),
    },
    "dress": {
        "flared skirt": _w("a flared skirt", "swingy _", "_ with a skirt that fans out"),
        "straight skirt": _w("a straight skirt", "_ with a narrow column skirt", "pencil _"),
        "tiered skirt": _w("a tiered skirt", "_ with layered frills", "layered _"),
        "thin straps": _w("thin straps", "strappy _", "_ with spaghetti straps"),
        "puffed sleeves": _w("puffed sleeves", "_ with balloon sleeves", "puff-shoulder _"),
        "long sleeves": _w("long sleeves", "_ with arms covered", "long-armed _"),
    },
    "hat": {
        "wide brim": _w("a wide brim", "broad-brimmed _", "fedora-style _"),
        "bucket": _w("a bucket shape", "bucket-style _", "_ shaped like a fisherman's"),
        "baseball cap": _w("a baseball cap peak", "peaked baseball _", "_ with a front visor"),
        "beanie": _w("a beanie shape with a pompom", "bobble _", "knitted-look pompom _"),
        "contrast band": _w("a contrast band", "_ with a band in another colour",
                            "ribboned _"),
        "no band": _w("no band", "bandless _", "_ without a ribbon"),
    },
    "sunglasses": {
        "round": _w("round frames", "circular _", "_ like two circles"),
        "aviator": _w("an aviator shape", "pilot-style _", "teardrop _"),
        "cat-eye": _w("a cat-eye shape", "_ with winged corners", "fifties upswept _"),
        "rectangular": _w("rectangular frames", "oblong _", "boxy _"),
        "dark lenses": _w("dark lenses", "_ with nearly black glass", "dark-lensed _"),
        "mirrored lenses": _w("mirrored lenses", "_ with bluish mirror glass", "reflective _"),
        "amber lenses": _w("amber lenses", "_ with honey-coloured glass", "amber-tinted _"),
    },
    "watch": {
        "round": _w("a round case", "circular _", "_ with a round face"),
        "square": _w("a square case", "_ with a square face", "boxy _"),
        "octagonal": _w("an octagonal case", "eight-sided _", "_ with a stop-sign shape"),
        "hour marks": _w("a dial with hour marks", "_ with simple strokes for hours",
                         "classic-dial _"),
        "three subdials": _w("three subdials", "chronograph-look _",
                             "_ with small circles on the dial"),
        "digital display": _w("a digital display", "_ with LCD numbers", "digital _"),
    },
    "headphones": {
        "round cups": _w("round cups", "_ with circular ear pieces", "round-eared _"),
        "oval cups": _w("oval cups", "_ with egg-shaped ear pieces", "oval-eared _"),
        "square cups": _w("square cups", "_ with boxy ear pieces", "square-eared _"),
        "thick padded band": _w("a thick padded band", "_ with a fat headband",
                                "chunky-banded _"),
        "thin metal band": _w("a thin metal band", "_ with a slim wire headband",
                              "_ with a narrow steel arch"),
    },
    "backpack": {
        "rounded top": _w("a rounded top", "_ with a curved top", "dome-topped _"),
        "roll top": _w("a roll top", "_ with a rolled-up opening", "roll-down _"),
        "buckled flap": _w("a buckled flap", "_ with a flap and brown straps",
                           "flap-over _"),
        "one big pocket": _w("one big pocket", "_ with a large pocket outside",
                             "single-pocket _"),
        "two small pockets": _w("two small pockets", "_ with a pair of pockets in front",
                                "twin-pocket _"),
    },
    "suitcase": {
        "ribbed shell": _w("a ribbed shell", "_ with vertical grooves", "grooved _"),
        "smooth shell": _w("a smooth shell", "_ with a sleek glossy case", "sleek _"),
        "soft case": _w("a soft case", "fabric-look _", "_ with zipped pockets in front"),
        "long pull handle": _w("a long pull handle", "_ with a tall telescopic handle",
                               "_ with the bar pulled up"),
        "short carry handle": _w("a short carry handle", "_ with only a top grip",
                                 "_ with a small arched grip"),
    },
    "umbrella": {
        "deep dome canopy": _w("a deep dome canopy", "dome-shaped _", "_ like a bell"),
        "shallow canopy": _w("a shallow canopy", "_ with a flattish top", "wide flat _"),
        "furled": _w("a slim furled shape", "rolled-up _", "_ pictured closed"),
        "hooked handle": _w("a hooked handle", "_ with a crook handle", "cane-handled _"),
        "straight handle": _w("a straight handle", "_ with a stick-like black grip",
                              "straight-gripped _"),
    },
    "bottle": {
        "slim": _w("a slim body", "narrow tube-like _", "skinny _"),
        "broad-shouldered": _w("broad shoulders", "stocky _", "_ with wide shoulders"),
        "waisted": _w("a narrow waist", "hourglass _", "curvy _"),
        "screw cap": _w("a screw cap", "_ with a twist-off top", "_ with a ridged round cap"),
        "carry loop": _w("a carry loop", "_ with a ring on top", "loop-topped _"),
        "straw spout": _w("a straw spout", "_ with a straw sticking out", "straw _"),
    },
    "mug": {
        "straight-sided": _w("straight sides", "cylinder _", "_ with upright walls"),
        "round-bellied": _w("a round belly", "tubby _", "_ with bulging sides"),
        "tapered": _w("a tapered body", "_ that narrows to the bottom", "cone-like _"),
        "tall slim": _w("a tall slim body", "lanky _", "tall narrow _"),
        "round handle": _w("a round handle", "_ with a ring handle", "_ with a circular ear"),
        "square handle": _w("a square handle", "_ with an angular handle", "_ with a boxy ear"),
        "no handle": _w("no handle", "handleless _", "_ without an ear"),
    },
    "lamp": {
        "cone shade": _w("a cone shade", "_ with a pointed shade", "cone-topped _"),
        "dome shade": _w("a dome shade", "_ with a half-sphere top", "mushroom _"),
        "drum shade": _w("a drum shade", "_ with a cylinder shade", "drum-topped _"),
        "globe shade": _w("a globe shade", "ball _", "_ with a sphere on top"),
        "tripod legs": _w("tripod legs", "three-legged _", "_ on wooden stilts"),
        "bulbous base": _w("a bulbous base", "_ with a vase-like foot", "_ with a rounded belly"),
        "round foot": _w("a round foot", "_ with a thin metal stem", "_ on a grey disc"),
    },
    "chair": {
        "tall slatted back": _w("a tall slatted back", "ladder-back _", "_ with high slats"),
        "rounded back": _w("a rounded back", "_ with an oval backrest", "balloon-back _"),
        "padded armrests": _w("padded armrests", "_ with arms", "elbow-rest _"),
        "wooden legs": _w("wooden legs", "_ on timber legs", "wood-legged _"),
        "wire legs": _w("wire legs", "_ on thin black metal", "hairpin-style _"),
        "pedestal base": _w("a pedestal base", "_ on one central column", "single-post _"),
    },
    "plant pot": {
        "tapered": _w("a tapered shape", "_ that narrows downwards", "classic bucket-like _"),
        "bowl-shaped": _w("a bowl shape", "rounded bowl _", "squat curvy _"),
        "cylindrical": _w("a cylindrical shape", "cylinder _", "straight-walled _"),
        "wooden legs": _w("wooden legs", "_ on timber legs", "raised _"),
        "saucer": _w("a saucer", "_ with a dish below", "_ on a plate"),
        "plain base": _w("a plain base", "_ without feet", "_ with nothing under it"),
    },
    "rug": {
        "round": _w("a round shape", "circular _", "_ shaped like a disc"),
        "rectangular": _w("a rectangular shape", "oblong _", "four-cornered _"),
        "runner": _w("a long runner shape", "long narrow _", "hallway-strip _"),
        "scalloped": _w("a scalloped outline", "cloud-edged _", "_ with a petal outline"),
        "fringed edge": _w("a fringed edge", "tasselled _", "_ with fringes"),
        "contrast border": _w("a contrast border", "_ with a frame in another colour",
                              "bordered _"),
        "plain edge": _w("a plain edge", "_ without fringe", "clean-edged _"),
    },
    "cushion": {
        "square": _w("a square shape", "four-square _", "square _"),
        "round": _w("a round shape", "circular _", "disc _"),
        "rectangular": _w("a rectangular shape", "oblong _", "letterbox-shaped _"),
        "bolster": _w("a bolster shape", "sausage _", "long roll _"),
        "piped edge": _w("a piped edge", "_ with cord round the edge", "trimmed _"),
        "corner tassels": _w("corner tassels", "_ with tufts hanging off it", "tufted _"),
        "button centre": _w("a button in the centre", "buttoned _", "_ with a dimple and button"),
    },
}  # fmt: skip
