"""Mugs, lamps, chairs and plant pots, seen from the front and a little from above."""

from __future__ import annotations

from adamroute.datasets.demo.outlines import Point, box, curve, ellipse, mirrored, smooth, turned
from adamroute.datasets.demo.patterns import RGB
from adamroute.datasets.demo.studio import Form, Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off

WOOD: RGB = (190, 138, 84)
STEEL: RGB = (112, 116, 122)

MUGS: dict[str, list[Point]] = {
    "straight-sided": [(0.5, -0.5), (0.5, 0.0), (0.49, 0.62), (0.42, 0.72)],
    "round-bellied": [(0.42, -0.5), (0.56, -0.12), (0.58, 0.2), (0.42, 0.64), (0.3, 0.72)],
    "tapered": [(0.6, -0.5), (0.53, 0.1), (0.4, 0.66), (0.34, 0.72)],
    "tall slim": [(0.36, -0.86), (0.36, 0.0), (0.36, 0.68), (0.3, 0.78)],
}


def mug(pen: Pen, shape: str, detail: str) -> None:
    profile = MUGS[shape]
    top_x, top = profile[0]
    mid = 0.08 if shape != "tall slim" else -0.02
    edge = {"round-bellied": 0.54, "tapered": 0.5}.get(shape, top_x - 0.02)
    if detail != "no handle":
        _mug_handle(pen, edge, mid, square=detail == "square handle")
    side = curve([profile[0], *profile, profile[-1]])
    pen.fill(turned(side, 0.06), pen.main, "tube", depth=0.5, edge=0.2, gloss=0.2)
    pen.fill(ellipse(0, top, top_x, 0.13), tone(pen.colour, 1.12), edge=0.1)
    inside = ellipse(0, top + 0.008, top_x - 0.045, 0.1)
    pen.fill(inside, tone(pen.accent, 0.86), "bar", depth=-0.4)
    if pen.rng.random() < 0.5:
        pen.fill(ellipse(0, top + 0.05, top_x - 0.1, 0.058), (86, 52, 30), edge=0.3)


def _mug_handle(pen: Pen, x: float, y: float, *, square: bool) -> None:
    if square:
        outer: list[Point] = box(x - 0.2, y - 0.34, x + 0.4, y + 0.32, 0.07)
        inner: list[Point] = box(x - 0.1, y - 0.22, x + 0.27, y + 0.2, 0.04)
    else:
        outer, inner = ellipse(x, y, 0.38, 0.34), ellipse(x, y, 0.25, 0.21)
    ring = [*outer, outer[0], *reversed([*inner, inner[0]])]
    pen.fill(ring, tone(pen.colour, 0.94), "bar", depth=0.4, edge=0.35)


SHADES: dict[str, list[Point]] = {
    "cone shade": [(0.17, -0.94), (0.17, -0.94), (0.64, -0.2), (0.64, -0.2)],
    "dome shade": [(0.05, -0.9), (0.36, -0.8), (0.58, -0.5), (0.62, -0.2), (0.62, -0.2)],
    "drum shade": [(0.5, -0.88), (0.5, -0.88), (0.53, -0.2), (0.53, -0.2)],
}


def lamp(pen: Pen, shape: str, detail: str) -> None:
    _lamp_base(pen, detail)
    if shape == "globe shade":
        pen.fill(box(-0.16, -0.16, 0.16, -0.04, 0.03), STEEL, "tube", depth=0.5)
        pen.fill(ellipse(0, -0.56, 0.46, 0.46), pen.main, "ball", depth=0.45, gloss=0.3)
        return
    half = SHADES[shape]
    wide, low = half[-1]
    glow: RGB = (255, 246, 206)
    pen.fill(ellipse(0, low, wide, 0.09), glow, edge=0.5)
    form: Form = "ball" if shape == "dome shade" else "tube"
    pen.fill(turned(curve(half), 0.075), pen.main, form, depth=0.36, edge=0.22)
    if shape != "dome shade":
        pen.fill(ellipse(0, half[0][1], half[0][0], 0.05), tone(pen.colour, 0.62))
    else:
        pen.fill(box(-0.05, -0.98, 0.05, -0.86, 0.03), STEEL, "tube")
    pen.line(ellipse(0, low, wide, 0.075, (0, 180)), 0.035, tone(pen.accent, 0.9))


def _lamp_base(pen: Pen, detail: str) -> None:
    if detail == "tripod legs":
        for x, low in ((-0.44, 0.98), (0.44, 0.98), (0.06, 1.02)):
            pen.rod((x * 0.12, -0.16), (x, low), 0.085, WOOD, taper=0.7)
        pen.fill(box(-0.1, -0.22, 0.1, -0.06, 0.03), tone(WOOD, 0.7), "tube")
    elif detail == "bulbous base":
        half: list[Point] = [(0.07, -0.2), (0.09, -0.02), (0.3, 0.2), (0.4, 0.5), (0.28, 0.84),
                             (0.26, 0.96), (0, 0.98)]
        pen.fill(mirrored(curve(half)), tone(pen.accent, 0.95), "ball", depth=0.5, gloss=0.35)
        pen.fill(box(-0.31, 0.93, 0.31, 1.0, 0.03), tone(WOOD, 0.75), "tube")
    else:
        pen.rod((0, -0.2), (0, 0.92), 0.07, STEEL)
        pen.fill(ellipse(0, 0.94, 0.42, 0.1), tone(STEEL, 0.8), "tube", depth=0.4)
        pen.fill(ellipse(0, 0.91, 0.42, 0.09), STEEL, "ball", depth=0.5)


def chair(pen: Pen, shape: str, detail: str) -> None:
    _chair_legs(pen, detail)
    frame = WOOD if detail == "wooden legs" else STEEL
    if shape == "tall slatted back":
        for x in (-0.48, 0.48):
            pen.rod((x * 0.96, 0.16), (x, -1.02), 0.085, tone(frame, 0.9))
        for y in (-0.98, -0.66, -0.34):
            upper = curve([(-0.5, y), (0, y - 0.05), (0.5, y)])
            slat = [*upper, *((x, below + 0.2) for x, below in reversed(upper))]
            pen.fill(slat, pen.main, "bar", depth=0.3, edge=0.4)
    elif shape == "rounded back":
        for x in (-0.3, 0.3):
            pen.rod((x, 0.16), (x, -0.3), 0.08, tone(frame, 0.9))
        back = smooth([(-0.44, -0.06), (-0.62, -0.4), (-0.5, -0.78), (0, -0.96), (0.5, -0.78),
                       (0.62, -0.4), (0.44, -0.06), (0, -0.02)])
        pen.fill(back, pen.main, "ball", depth=0.4, edge=0.4)
    else:
        pen.fill(box(-0.5, -0.7, 0.5, 0.14, 0.12), pen.main, "ball", depth=0.3, edge=0.4)
    pen.fill(box(-0.64, 0.2, 0.64, 0.36, 0.08), pen.main, "bar", depth=0.6, edge=0.4)
    seat: list[Point] = [(-0.46, 0.04), (0.46, 0.04), (0.62, 0.2), (0.58, 0.26), (0.58, 0.26),
                         (-0.58, 0.26), (-0.58, 0.26), (-0.62, 0.2)]
    pen.fill(smooth(seat), pen.main, "bar", depth=-0.35, edge=0.25)
    if shape == "padded armrests":
        for x in (-0.66, 0.66):
            pen.rod((x, 0.22), (x, -0.2), 0.08, frame)
            pen.fill(box(x - 0.14, -0.34, x + 0.14, -0.18, 0.08), tone(pen.accent, 0.92), "bar",
                     depth=0.5)


def _chair_legs(pen: Pen, detail: str) -> None:
    if detail == "pedestal base":
        pen.rod((0, 0.3), (0, 0.9), 0.13, STEEL)
        pen.fill(ellipse(0, 0.94, 0.48, 0.1), tone(STEEL, 0.75))
        pen.fill(ellipse(0, 0.91, 0.48, 0.09), STEEL, "ball", depth=0.5)
        return
    if detail == "wire legs":
        for x in (-0.5, 0.5):
            pen.line([(x * 0.7, 0.28), (x * 1.16, 1.0), (x * 0.7, 1.0), (x * 0.4, 0.28)], 0.038,
                     (44, 44, 48))
        pen.line([(-0.5, 0.78), (0.5, 0.78)], 0.03, (44, 44, 48))
        return
    for x in (-0.36, 0.36):
        pen.rod((x, 0.24), (x * 1.08, 0.84), 0.075, tone(WOOD, 0.75), taper=0.7)
    for x in (-0.5, 0.5):
        pen.rod((x, 0.26), (x * 1.2, 1.0), 0.1, WOOD, taper=0.6)


POTS: dict[str, list[Point]] = {
    "tapered": [(0.54, -0.02), (0.5, 0.2), (0.4, 0.66), (0.38, 0.7)],
    "bowl-shaped": [(0.58, 0.0), (0.62, 0.24), (0.48, 0.6), (0.3, 0.7)],
    "cylindrical": [(0.46, -0.04), (0.46, 0.2), (0.46, 0.66), (0.43, 0.7)],
}
LEAF: RGB = (70, 132, 66)


def plant_pot(pen: Pen, shape: str, detail: str) -> None:
    if detail == "wooden legs":
        for x in (-0.36, 0.36, 0.0):
            pen.rod((x, 0.5), (x * 1.3, 1.0), 0.1, WOOD if x else tone(WOOD, 0.75), taper=0.7)
    elif detail == "saucer":
        pen.fill(smooth([(-0.62, 0.7), (0.62, 0.7), (0.52, 0.84), (-0.52, 0.84)]),
                 tone(pen.accent, 0.9), "tube", depth=0.4, edge=0.35)
    profile = POTS[shape]
    wide, top = profile[0]
    pen.fill(ellipse(0, top, wide - 0.02, 0.12), (74, 54, 40))
    _PLANTS[int(pen.rng.integers(len(_PLANTS)))](pen, top)
    side = curve([profile[0], *profile, profile[-1]])
    rim = ellipse(0, top, wide, 0.12, (180, 0))
    pen.fill([*rim, *turned(side, 0.05)], pen.main, "tube", depth=0.5, edge=0.22, gloss=0.12)
    lip = [*rim, *ellipse(0, top + 0.05, wide, 0.12, (0, 180))]
    pen.fill(lip, tone(pen.colour, 0.92), "tube", depth=0.4)


def _leafy(pen: Pen, top: float) -> None:
    for i in range(9):
        lean = -0.8 + 0.2 * i + float(pen.rng.uniform(-0.06, 0.06))
        tall = 0.62 + float(pen.rng.uniform(0.0, 0.28)) - 0.3 * abs(lean)
        green = tone(LEAF, float(pen.rng.uniform(0.7, 1.15)))
        _leaf(pen, top, (lean, tall), wide=0.13, green=green)


def _grassy(pen: Pen, top: float) -> None:
    for i in range(15):
        lean = -1.0 + i / 7 + float(pen.rng.uniform(-0.08, 0.08))
        tall = 0.95 - 0.35 * abs(lean) + float(pen.rng.uniform(-0.1, 0.05))
        green = tone(LEAF, float(pen.rng.uniform(0.75, 1.25)))
        _leaf(pen, top, (lean * 0.8, tall), wide=0.05, green=green)


def _leaf(pen: Pen, top: float, tip_at: Point, *, wide: float, green: RGB) -> None:
    lean, tall = tip_at
    base, tip = (lean * 0.2, top + 0.06), (lean * 0.75, top - tall)
    mid = ((base[0] + tip[0]) / 2 + lean * 0.02, (base[1] + tip[1]) / 2 - 0.06)
    leaf = smooth([base, base, (mid[0] - wide, mid[1]), tip, tip, (mid[0] + wide, mid[1])])
    pen.fill(leaf, green, "tube", depth=0.3, edge=0.2)
    pen.line(curve([base, mid, tip]), 0.012, tone(green, 1.3))


def _cactus(pen: Pen, top: float) -> None:
    green: RGB = (86, 146, 92)
    for x, y, side in ((-0.3, top - 0.42, -1), (0.3, top - 0.3, 1)):
        pen.line([(0.08 * side, y + 0.12), (x, y + 0.1), (x, y - 0.14)], 0.14, tone(green, 0.85))
    body = smooth([(-0.2, top + 0.06), (-0.22, top - 0.5), (0, top - 0.86), (0.22, top - 0.5),
                   (0.2, top + 0.06)])
    pen.fill(body, green, "tube", depth=0.45)
    for x in (-0.1, 0.0, 0.1):
        pen.line([(x, top - 0.02), (x * 0.9, top - 0.66)], 0.014, tone(green, 0.75))
    pen.fill(ellipse(0.02, top - 0.86, 0.08, 0.05), (236, 120, 150), "ball")


_PLANTS = (_leafy, _grassy, _cactus)
