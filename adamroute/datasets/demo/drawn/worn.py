"""Sunglasses, watches and headphones, seen from the front."""

from __future__ import annotations

import math

from adamroute.datasets.demo.outlines import (
    Point,
    arch,
    box,
    curve,
    ellipse,
    flipped,
    moved,
    smooth,
)
from adamroute.datasets.demo.patterns import RGB
from adamroute.datasets.demo.studio import Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off

METALS: tuple[RGB, ...] = ((196, 198, 204), (214, 180, 104), (84, 86, 92))
# Strokes of each digit, clockwise from the top (0 to 5), then the middle (6).
SEGMENTS = ("012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456",
            "012356")
LENSES: dict[str, RGB] = {
    "dark lenses": (40, 42, 48),
    "mirrored lenses": (120, 178, 206),
    "amber lenses": (198, 120, 40),
}


def _metal(pen: Pen) -> RGB:
    return METALS[int(pen.rng.integers(len(METALS)))]


def _glass(shape: str, grow: float) -> list[Point]:
    """The right lens, centred on its own middle; `grow` widens it to the frame's outline."""
    g = grow
    if shape == "round":
        return ellipse(0, 0, 0.36 + g, 0.36 + g)
    if shape == "aviator":
        return smooth([(-0.34 - g, -0.24 - g), (0.0, -0.33 - g), (0.38 + g, -0.27 - g),
                       (0.42 + g, 0.0), (0.24 + g * 0.7, 0.34 + g), (0.0, 0.4 + g),
                       (-0.24 - g * 0.7, 0.22 + g)])
    if shape == "cat-eye":
        return smooth([(-0.37 - g, -0.1 - g), (0.0, -0.22 - g), (0.52 + g, -0.4 - g),
                       (0.52 + g, -0.4 - g), (0.44 + g, 0.0), (0.2, 0.28 + g), (-0.14, 0.28 + g),
                       (-0.36 - g, 0.08)])
    return box(-0.4 - g, -0.25 - g, 0.4 + g, 0.27 + g, 0.09 + g)


def sunglasses(pen: Pen, shape: str, detail: str) -> None:
    for side in (-1, 1):  # the arms, folded away behind
        arm = [(0.86 * side, -0.16), (1.0 * side, -0.2), (0.9 * side, -0.42), (0.72 * side, -0.44)]
        pen.fill(smooth(arm), tone(pen.colour, 0.6))
    bridge = curve([(-0.16, -0.1), (0, -0.17), (0.16, -0.1)])
    if shape == "aviator":
        pen.line([(-0.3, -0.29), (0.3, -0.29)], 0.05, tone(pen.colour, 0.85))
    pen.line(bridge, 0.1, tone(pen.colour, 0.85))
    grow = 0.085 if shape == "aviator" else 0.125
    tint = LENSES[detail]
    for side in (-1, 1):
        turn = flipped if side < 0 else list
        rim = moved(turn(_glass(shape, grow)), 0.5 * side)
        glass = moved(turn(_glass(shape, 0.0)), 0.5 * side)
        pen.fill(rim, pen.main, "bar", depth=0.25, edge=0.35)
        pen.fill(glass, tone(tint, 0.9), "bar", depth=-0.5, edge=0.3)
        _glint(pen, 0.5 * side, detail)
    for side in (-1, 1):
        pen.fill(ellipse(0.93 * side, -0.16, 0.03, 0.045), (220, 214, 196), "ball")


def _glint(pen: Pen, x: float, detail: str) -> None:
    strength = 0.5 if detail == "mirrored lenses" else 0.22
    for dx, wide in ((-0.1, 0.1), (0.06, 0.045)):
        bar = [(x + dx, -0.2), (x + dx + wide, -0.2), (x + dx + wide - 0.18, 0.2),
               (x + dx - 0.18, 0.2)]
        pen.fill(bar, (250, 252, 255), edge=0.0, opacity=strength)


def watch(pen: Pen, shape: str, detail: str) -> None:
    metal = _metal(pen)
    for turn in (1, -1):
        strap = smooth([(-0.27, 0.3 * turn), (-0.27, 0.3 * turn), (-0.22, 0.8 * turn),
                        (-0.2, 1.05 * turn), (-0.1, 1.1 * turn), (0.1, 1.1 * turn),
                        (0.2, 1.05 * turn), (0.22, 0.8 * turn), (0.27, 0.3 * turn),
                        (0.27, 0.3 * turn)])
        pen.fill(strap, pen.main, "tube", depth=0.35, edge=0.35)
    for i in range(4):
        pen.fill(ellipse(0, 0.72 + i * 0.1, 0.028, 0.02), tone(pen.colour, 0.3), edge=0.0)
    pen.fill(box(-0.25, -1.12, 0.25, -0.98, 0.04), metal, "bar", depth=0.5)
    pen.fill(box(-0.17, -1.08, 0.17, -1.02, 0.02), tone(pen.colour, 0.8), edge=0.2)
    for y in (-0.1, 0.08):
        pen.fill(box(0.46, y - 0.05, 0.6, y + 0.06, 0.02), tone(metal, 0.9), "bar", depth=0.6)
    pen.fill(_case(shape, 0.52), metal, "ball", depth=0.5, edge=0.35, gloss=0.25)
    dial: RGB = (30, 32, 38) if pen.rng.random() < 0.5 else (246, 244, 238)
    if detail == "digital display":
        dial = (168, 184, 160)
    pen.fill(_case(shape, 0.42), dial, "ball", depth=0.15, edge=0.35)
    _DIALS[detail](pen, (246, 244, 238) if dial[0] < 100 else (40, 40, 44))


def _case(shape: str, r: float) -> list[Point]:
    if shape == "round":
        return ellipse(0, 0, r, r)
    if shape == "square":
        return box(-r * 0.95, -r * 0.95, r * 0.95, r * 0.95, r * 0.22)
    corners = [math.radians(22.5 + 45 * i) for i in range(8)]
    return [(r * 1.06 * math.cos(a), r * 1.06 * math.sin(a)) for a in corners]


def _hands(pen: Pen, ink: RGB) -> None:
    for length, width, angle in ((0.22, 0.045, 2.1), (0.32, 0.03, -1.1)):
        turn = angle + float(pen.rng.uniform(-0.5, 0.5))
        pen.line([(0, 0), (length * math.cos(turn), length * math.sin(turn))], width, ink)
    pen.line([(0, 0.06), (0.0, -0.3)], 0.012, (206, 50, 44))
    pen.fill(ellipse(0, 0, 0.035, 0.035), ink)


def _marks(pen: Pen, ink: RGB) -> None:
    for i in range(12):
        c, s = math.cos(i * math.pi / 6), math.sin(i * math.pi / 6)
        inner = 0.29 if i % 3 == 0 else 0.33
        pen.line([(inner * c, inner * s), (0.37 * c, 0.37 * s)], 0.03, ink)
    _hands(pen, ink)


def _subdials(pen: Pen, ink: RGB) -> None:
    for i in range(12):
        c, s = math.cos(i * math.pi / 6), math.sin(i * math.pi / 6)
        pen.line([(0.36 * c, 0.36 * s), (0.38 * c, 0.38 * s)], 0.02, ink)
    for x, y in ((-0.18, 0.02), (0.18, 0.02), (0.0, 0.2)):
        pen.fill(ellipse(x, y, 0.115, 0.115), tone(ink, 0.8), edge=0.2)
        face = (214, 214, 210) if ink[0] < 100 else (70, 72, 80)
        pen.fill(ellipse(x, y, 0.09, 0.09), face, edge=0.3)
        pen.line([(x, y), (x + 0.04, y - 0.055)], 0.014, ink)
    _hands(pen, ink)


def _digits(pen: Pen, ink: RGB) -> None:
    """A seven-segment time from 10:00 to 12:59, so that no font is needed."""
    hour, minute = int(pen.rng.integers(10, 13)), int(pen.rng.integers(0, 60))
    for x, number in zip((-0.26, -0.12, 0.06, 0.2), f"{hour}{minute:02d}", strict=True):
        _digit(pen, x, SEGMENTS[int(number)], (36, 44, 40))
    for y in (-0.05, 0.05):
        pen.fill(ellipse(-0.005, y, 0.018, 0.018), (36, 44, 40), edge=0.0)
    pen.line([(-0.2, 0.22), (0.2, 0.22)], 0.03, tone(ink, 0.9))


def _digit(pen: Pen, x: float, segments: str, ink: RGB) -> None:
    w, h = 0.09, 0.12
    strokes: list[tuple[Point, Point]] = [
        ((x, -h), (x + w, -h)), ((x + w, -h), (x + w, 0)), ((x + w, 0), (x + w, h)),
        ((x, h), (x + w, h)), ((x, 0), (x, h)), ((x, -h), (x, 0)), ((x, 0), (x + w, 0)),
    ]
    for name in segments:
        start, end = strokes[int(name)]
        pen.line([start, end], 0.026, ink)


_DIALS = {"hour marks": _marks, "three subdials": _subdials, "digital display": _digits}


def headphones(pen: Pen, shape: str, detail: str) -> None:
    metal = _metal(pen)
    if detail == "thick padded band":
        pen.fill(arch(-0.05, (0.78, 0.86), (0.62, 0.7)), pen.main, "tube", depth=0.35, edge=0.4)
    else:
        pen.fill(arch(-0.05, (0.76, 0.86), (0.69, 0.79)), metal, "tube", depth=0.4, gloss=0.2)
        pen.fill(arch(-0.05, (0.69, 0.79), (0.66, 0.7), (215, 325)), tone(pen.colour, 0.6))
    for side in (-1, 1):
        pen.rod((0.73 * side, -0.06), (0.73 * side, 0.2), 0.07, metal)
        _cup(pen, shape, side)


def _cup(pen: Pen, shape: str, side: int) -> None:
    x = 0.7 * side
    pad = moved(_pad(shape, 0.24, 0.46), x - 0.16 * side, 0.42)
    pen.fill(pad, (52, 50, 52), "tube", depth=0.5, edge=0.4)
    shell = moved(_pad(shape, 0.27, 0.43), x, 0.42)
    pen.fill(shell, pen.main, "ball", depth=0.4, edge=0.35, gloss=0.25)
    disc = moved(_pad(shape, 0.13, 0.21), x + 0.03 * side, 0.42)
    pen.fill(disc, tone(pen.accent, 0.92), "ball", depth=0.4, edge=0.3)


def _pad(shape: str, rx: float, ry: float) -> list[Point]:
    if shape == "round cups":
        return ellipse(0, 0, rx * 1.18, ry * 0.84)
    if shape == "oval cups":
        return ellipse(0, 0, rx * 0.9, ry * 1.12)
    return box(-rx, -ry * 0.85, rx, ry * 0.85, 0.07)
