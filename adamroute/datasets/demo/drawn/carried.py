"""Backpacks, suitcases, umbrellas and drinking bottles, seen from the front."""

from __future__ import annotations

import math

from adamroute.datasets.demo.outlines import (
    Point,
    arch,
    box,
    curve,
    ellipse,
    flipped,
    mirrored,
    smooth,
)
from adamroute.datasets.demo.patterns import RGB, luminance
from adamroute.datasets.demo.studio import Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off

STEEL: RGB = (188, 192, 198)
BRASS: RGB = (214, 182, 108)
WOOD: RGB = (178, 124, 72)


def _trim(pen: Pen) -> RGB:
    return tone(pen.colour, 0.55) if luminance(pen.colour) > 60 else (104, 100, 100)


def backpack(pen: Pen, shape: str, detail: str) -> None:
    trim = _trim(pen)
    for turn in (list, flipped):
        strap = smooth([(0.5, -0.5), (0.78, -0.2), (0.86, 0.3), (0.6, 0.8), (0.5, 0.7),
                        (0.7, 0.3), (0.62, -0.1), (0.42, -0.34)])
        pen.fill(turn(strap), trim, "tube", depth=0.3)
    pen.line(curve([(-0.16, -0.84), (-0.12, -1.02), (0.12, -1.02), (0.16, -0.84)]), 0.06, trim)
    if shape == "roll top":
        pen.fill(box(-0.56, -0.62, 0.56, 0.9, 0.12), pen.main, "tube", depth=0.3, folds=0.05)
        pen.fill(box(-0.62, -0.9, 0.62, -0.56, 0.17), pen.main, "bar", depth=0.7, edge=0.4)
        for x in (-0.64, 0.64):
            pen.fill(box(x - 0.05, -0.84, x + 0.05, -0.4, 0.03), (46, 46, 50), "tube")
    else:
        body = smooth([(0, -0.88), (0.4, -0.82), (0.58, -0.5), (0.62, 0.2), (0.62, 0.78),
                       (0.5, 0.9), (0, 0.92), (-0.5, 0.9), (-0.62, 0.78), (-0.62, 0.2),
                       (-0.58, -0.5), (-0.4, -0.82)])
        pen.fill(body, pen.main, "tube", depth=0.3, folds=0.04, edge=0.3)
        if shape == "buckled flap":
            _flap(pen)
        else:
            zip_line = curve([(-0.52, -0.1), (-0.46, -0.56), (0, -0.7), (0.46, -0.56),
                              (0.52, -0.1)])
            pen.line(zip_line, 0.035, trim)
            pen.seam(zip_line, (210, 206, 196))
    _pockets(pen, detail, trim)


def _flap(pen: Pen) -> None:
    flap = smooth([(0, -0.9), (0.42, -0.84), (0.6, -0.52), (0.6, -0.1), (0.4, 0.06), (0, 0.1),
                   (-0.4, 0.06), (-0.6, -0.1), (-0.6, -0.52), (-0.42, -0.84)])
    pen.fill(flap, pen.main, "bar", depth=0.25, edge=0.45)
    for x in (-0.3, 0.3):
        pen.fill(box(x - 0.055, -0.3, x + 0.055, 0.24, 0.03), WOOD, "tube", depth=0.4)
        pen.fill(box(x - 0.09, 0.02, x + 0.09, 0.15, 0.02), BRASS, "bar", depth=0.5)
        pen.fill(box(x - 0.045, 0.05, x + 0.045, 0.12, 0.01), WOOD)


def _pockets(pen: Pen, detail: str, trim: RGB) -> None:
    two = detail == "two small pockets"
    spots = [(-0.5, -0.04), (0.04, 0.5)] if two else [(-0.46, 0.46)]
    for x0, x1 in spots:
        pocket = box(x0, 0.24, x1, 0.8, 0.12)
        pen.fill(pocket, tone(pen.accent, 0.94), "tube", depth=0.3, edge=0.45)
        pen.line([(x0 + 0.04, 0.36), (x1 - 0.04, 0.36)], 0.035, trim)
        mid = (x0 + x1) / 2
        pen.line([(mid + 0.1, 0.36), (mid + 0.12, 0.48)], 0.03, STEEL)


def suitcase(pen: Pen, shape: str, detail: str) -> None:
    _handle(pen, detail)
    for x in (-0.46, 0.46):
        pen.fill(box(x - 0.1, 0.84, x + 0.1, 0.95, 0.03), (70, 70, 74))
        pen.fill(ellipse(x, 0.98, 0.085, 0.085), (36, 36, 40), "ball", edge=0.4)
        pen.fill(ellipse(x, 0.98, 0.035, 0.035), (168, 168, 172))
    round_ = 0.1 if shape == "soft case" else 0.17
    pen.fill(box(-0.64, -0.58, 0.64, 0.9, round_), pen.main, "tube", depth=0.32, edge=0.35,
             gloss=0.0 if shape == "soft case" else 0.12)
    dark = tone(pen.colour, 0.66) if luminance(pen.colour) > 60 else (14, 14, 16)
    light = tone(pen.colour, 1.3)
    if shape == "ribbed shell":
        for i in range(7):
            x = -0.48 + i * 0.16
            pen.line([(x, -0.5), (x, 0.82)], 0.035, dark)
            pen.line([(x + 0.03, -0.5), (x + 0.03, 0.82)], 0.016, light)
    elif shape == "soft case":
        for y0, y1 in ((-0.42, 0.0), (0.08, 0.76)):
            pen.fill(box(-0.5, y0, 0.5, y1, 0.06), pen.main, "bar", depth=0.15, edge=0.5)
            pen.line([(-0.44, y0 + 0.08), (0.44, y0 + 0.08)], 0.03, (60, 60, 64))
            pen.line([(0.3, y0 + 0.08), (0.32, y0 + 0.2)], 0.035, STEEL)
    else:
        pen.line([(-0.62, 0.16), (0.62, 0.16)], 0.025, dark)
        pen.line([(-0.62, 0.185), (0.62, 0.185)], 0.012, light)
    for sx, sy in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
        x, y = 0.64 * sx, 0.16 + 0.74 * sy
        corner = [(x, y - 0.2 * sy), (x, y), (x - 0.2 * sx, y), (x - 0.07 * sx, y - 0.07 * sy)]
        pen.fill(smooth(corner), tone(pen.accent, 0.9), "ball", depth=0.3)


def _handle(pen: Pen, detail: str) -> None:
    if detail == "long pull handle":
        for x in (-0.24, 0.24):
            pen.rod((x, -0.56), (x, -1.08), 0.06, STEEL)
        pen.fill(box(-0.32, -1.16, 0.32, -1.04, 0.06), (54, 54, 58), "bar", depth=0.5)
    else:
        pen.fill(arch(-0.58, (0.28, 0.2), (0.19, 0.12)), (54, 54, 58), "bar", depth=0.4)


def umbrella(pen: Pen, shape: str, detail: str) -> None:
    hooked = detail == "hooked handle"
    if shape == "furled":
        _furled(pen, hooked)
        return
    dome = shape == "deep dome canopy"
    rim, peak = (0.06, -0.98) if dome else (-0.16, -0.72)
    wide = 0.86 if dome else 1.02
    pen.rod((0, peak + 0.1), (0, 0.86), 0.05, STEEL)
    _grip(pen, 0.0, hooked)
    pen.fill(box(-0.022, peak - 0.12, 0.022, peak + 0.05), (70, 70, 74))
    panels = 5
    points = [(-wide + 2 * wide * i / panels, 0.0) for i in range(panels + 1)]
    scallops: list[Point] = []
    for (xa, _), (xb, _) in zip(reversed(points[1:]), reversed(points[:-1]), strict=True):
        mid, half = (xa + xb) / 2, abs(xa - xb) / 2
        scallops += ellipse(mid, rim, half, 0.09, (360, 180))
    bulge = peak + (0.1 if dome else 0.14)
    top = curve([(-wide, rim), (-wide, rim), (-wide * 0.72, bulge + 0.2 * (rim - bulge)),
                 (0, peak), (wide * 0.72, bulge + 0.2 * (rim - bulge)), (wide, rim), (wide, rim)])
    pen.fill([*top, *scallops], pen.main, "ball", depth=0.4, edge=0.25)
    rib = tone(pen.colour, 0.7) if luminance(pen.colour) > 60 else tone(pen.colour, 1.3)
    for x, _ in points[1:-1]:
        line = curve([(0, peak), (x * 0.72, peak + 0.35 * (rim - peak)), (x, rim)])
        pen.line(line, 0.014, rib)


def _furled(pen: Pen, hooked: bool) -> None:
    pen.rod((0, -1.02), (0, -0.8), 0.035, (70, 70, 74))
    pen.rod((0, 0.3), (0, 0.86), 0.05, STEEL)
    _grip(pen, 0.0, hooked)
    cloth = smooth([(0, -0.9), (0, -0.9), (0.13, -0.3), (0.2, 0.36), (0.2, 0.36), (0.1, 0.42),
                    (0.04, 0.34), (-0.04, 0.43), (-0.1, 0.35), (-0.2, 0.38), (-0.2, 0.38),
                    (-0.13, -0.3)])
    pen.fill(cloth, pen.main, "tube", depth=0.5, edge=0.35)
    for x in (-0.08, 0.03, 0.12):
        pen.line([(0, -0.84), (x, 0.34)], 0.016, tone(pen.colour, 0.62))
    pen.fill([(-0.185, 0.02), (0.185, -0.04), (0.19, 0.05), (-0.19, 0.11)], tone(pen.accent, 0.9),
             "tube", depth=0.4)


def _grip(pen: Pen, x: float, hooked: bool) -> None:
    if hooked:
        hook = curve([(x, 0.62), (x, 0.9), (x + 0.06, 1.02), (x + 0.17, 1.03), (x + 0.24, 0.94),
                      (x + 0.24, 0.86)])
        pen.line(hook, 0.1, tone(WOOD, 0.7))
        pen.line([(px - 0.012, py) for px, py in hook], 0.062, WOOD)
    else:
        pen.fill(box(x - 0.075, 0.64, x + 0.075, 1.06, 0.06), (50, 48, 50), "tube", depth=0.6)


def bottle(pen: Pen, shape: str, detail: str) -> None:
    half: list[Point]
    if shape == "waisted":
        half = [(0.0, -0.58), (0.2, -0.58), (0.36, -0.42), (0.4, -0.2), (0.29, 0.14), (0.38, 0.6),
                (0.38, 0.9), (0.3, 0.98), (0.3, 0.98), (0, 0.99)]
    elif shape == "broad-shouldered":
        half = [(0.0, -0.6), (0.17, -0.6), (0.2, -0.48), (0.44, -0.34), (0.47, -0.2),
                (0.46, 0.8), (0.46, 0.9),
                (0.38, 0.98), (0.38, 0.98), (0, 0.99)]
    else:
        half = [(0.0, -0.66), (0.2, -0.66), (0.28, -0.56), (0.29, -0.4), (0.29, 0.8), (0.29, 0.9),
                (0.23, 0.98), (0.23, 0.98), (0, 0.99)]
    _lid(pen, detail, -0.58 if shape != "slim" else -0.64)
    body = mirrored(curve(half))
    pen.fill(body, pen.main, "tube", depth=0.5, edge=0.25, gloss=0.22)
    width = {"waisted": 0.39, "broad-shouldered": 0.455, "slim": 0.288}[shape]
    base = [(-width, 0.72), (width, 0.72), (width, 0.8), (-width, 0.8)]
    pen.fill(base, tone(pen.accent, 0.88), "tube", depth=0.5, edge=0.1)


def _lid(pen: Pen, detail: str, y: float) -> None:
    cap: RGB = (58, 58, 62) if pen.rng.random() < 0.5 else STEEL
    pen.fill(box(-0.13, y - 0.06, 0.13, y + 0.1), STEEL, "tube", depth=0.5)
    if detail == "carry loop":
        ring = [*ellipse(0, y - 0.22, 0.2, 0.19), *reversed(ellipse(0, y - 0.22, 0.12, 0.11))]
        pen.fill(ring, cap, "tube", depth=0.3)
    if detail == "straw spout":
        pen.rod((0.02, y - 0.1), (0.1, y - 0.42), 0.08, tone(pen.accent, 0.92))
        pen.fill(ellipse(0.105, y - 0.43, 0.05, 0.035), tone(pen.accent, 0.6))
        pen.line(ellipse(0, y - 0.12, 0.17, 0.1, (180, 250)), 0.05, cap)
    pen.fill(box(-0.2, y - 0.2, 0.2, y + 0.02, 0.05), cap, "tube", depth=0.5, gloss=0.15)
    if detail == "screw cap":
        pen.fill(box(-0.19, y - 0.34, 0.19, y - 0.12, 0.05), cap, "tube", depth=0.5, gloss=0.15)
        for i in range(9):
            x = 0.18 * math.sin(-1.3 + i * 0.325)
            pen.line([(x, y - 0.28), (x, y - 0.02)], 0.016, tone(cap, 0.7))
