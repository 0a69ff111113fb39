"""T-shirts, dresses and hats, seen from the front."""

from __future__ import annotations

import math

from adamroute.datasets.demo.outlines import (
    Point,
    box,
    curve,
    ellipse,
    flipped,
    mirrored,
    smooth,
    waves,
)
from adamroute.datasets.demo.patterns import luminance
from adamroute.datasets.demo.studio import Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off


def _seam_tone(pen: Pen) -> tuple[int, int, int]:
    return tone(pen.colour, 0.7) if luminance(pen.colour) > 60 else tone(pen.colour, 1.25)


def t_shirt(pen: Pen, shape: str, detail: str) -> None:
    inside = tone(pen.colour, 0.45)
    pen.fill(ellipse(0, -0.78, 0.27, 0.1), inside)
    if shape != "sleeveless":
        _sleeves(pen, long=shape == "long-sleeved")
    shoulder = 0.5 if shape == "sleeveless" else 0.58
    under = 0.48 if shape == "sleeveless" else 0.54
    deep = -0.38 if detail == "V-neck" else -0.6
    neck: list[Point] = [(0.0, deep)]
    if detail == "V-neck":
        neck.append((0.0, deep))
    half = curve([*neck, (0.16, -0.68 if detail == "V-neck" else -0.66), (0.26, -0.82),
                  (0.26, -0.82), (shoulder, -0.68), (shoulder, -0.68), (under, -0.3), (0.52, 0.2),
                  (0.55, 0.86), (0.55, 0.86), (0.0, 0.9)])
    pen.fill(mirrored(half), pen.main, "tube", depth=0.22, folds=0.07)
    seam = _seam_tone(pen)
    pen.seam(curve([(-0.53, 0.79), (0, 0.83), (0.53, 0.79)]), seam)
    rim = half[: 17 if detail != "V-neck" else 24]
    if detail == "button collar":
        _polo(pen)
    else:
        for side in (rim, flipped(rim)):
            pen.line([p for p in side if p[0] ** 2 < 0.072], 0.045, tone(pen.colour, 0.82))


def _sleeves(pen: Pen, *, long: bool) -> None:
    if long:
        arm: list[Point] = [(0.4, -0.75), (0.58, -0.68), (0.78, -0.2), (0.93, 0.52), (0.93, 0.52),
                            (0.73, 0.58), (0.73, 0.58), (0.55, 0.0), (0.46, -0.3)]
        cuff: list[Point] = [(0.94, 0.5), (0.95, 0.6), (0.74, 0.66), (0.72, 0.56)]
    else:
        arm = [(0.4, -0.76), (0.58, -0.69), (0.78, -0.46), (0.97, -0.12), (0.97, -0.12),
               (0.68, 0.04), (0.68, 0.04), (0.5, -0.24)]
        cuff = [(0.965, -0.15), (0.98, -0.09), (0.69, 0.06), (0.66, 0.0)]
    for turn in (list, flipped):
        pen.fill(turn(smooth(arm)), pen.main, "tube", depth=0.3, folds=0.08, edge=0.4)
        pen.fill(turn(cuff), tone(pen.colour, 0.85), edge=0.1)


def _polo(pen: Pen) -> None:
    paper = tone(pen.accent, 0.97)
    leaf: list[Point] = [(0.0, -0.56), (0.0, -0.56), (0.24, -0.86), (0.24, -0.86), (0.36, -0.72),
                         (0.22, -0.48), (0.22, -0.48)]
    pen.fill(box(-0.07, -0.58, 0.07, -0.18, 0.02), paper, edge=0.3)
    for turn in (list, flipped):
        pen.fill(turn(smooth(leaf)), paper, "ball", depth=0.2, edge=0.35)
    for y in (-0.46, -0.34, -0.24):
        pen.fill(ellipse(0, y, 0.026, 0.026), tone(pen.colour, 0.6))


def dress(pen: Pen, shape: str, detail: str) -> None:
    _dress_arms(pen, detail)
    straps = detail == "thin straps"
    if straps:
        for x in (-0.2, 0.2):
            pen.line([(x, -0.62), (x * 0.92, -0.98)], 0.035, tone(pen.colour, 0.9))
        neck: list[Point] = [(0.0, -0.56), (0.2, -0.66), (0.2, -0.66), (0.32, -0.5)]
    else:
        pen.fill(ellipse(0, -0.9, 0.17, 0.06), tone(pen.colour, 0.4))
        neck = [(0.0, -0.74), (0.13, -0.8), (0.17, -0.93), (0.17, -0.93), (0.36, -0.86),
                (0.36, -0.86), (0.32, -0.5)]
    bodice = curve([*neck, (0.26, -0.24), (0.25, -0.1), (0.25, -0.1), (0, -0.08)])
    pen.fill(mirrored(bodice), pen.main, "tube", depth=0.32, folds=0.05)
    if shape == "flared skirt":
        _skirt(pen, [(0.25, -0.1), (0.42, 0.2), (0.76, 0.86)], 0.86, 4)
    elif shape == "straight skirt":
        _skirt(pen, [(0.25, -0.1), (0.33, 0.14), (0.31, 0.9)], 0.9, 0)
    else:
        for top, bottom, wide in ((0.44, 0.92, 0.7), (0.14, 0.58, 0.55), (-0.1, 0.26, 0.4)):
            half: list[Point] = [(wide * 0.62, top), (wide * 0.8, (top + bottom) / 2)]
            _skirt(pen, [*half, (wide, bottom)], bottom, 5)
    sash = [(-0.26, -0.15), (0.26, -0.15), (0.26, -0.04), (-0.26, -0.04)]
    pen.fill(sash, tone(pen.accent, 0.9), "tube", depth=0.4)


def _skirt(pen: Pen, side: list[Point], hem: float, ripples: int) -> None:
    edge = side[-1][0]
    bottom = waves(edge, -edge, hem, 0.028, ripples) if ripples else [(0.0, hem + 0.02)]
    right = curve([side[0], side[0], *side[1:], side[-1]])
    outline = [*right, *bottom, *reversed(flipped(right))]
    pen.fill(outline, pen.main, "tube", depth=0.34, folds=0.14)
    line = waves(-edge * 0.97, edge * 0.97, hem - 0.05, 0.02, max(1, ripples))
    pen.seam(line, _seam_tone(pen))


def _dress_arms(pen: Pen, detail: str) -> None:
    if detail == "puffed sleeves":
        arm = smooth([(0.26, -0.86), (0.46, -0.92), (0.64, -0.76), (0.62, -0.54), (0.5, -0.46),
                      (0.34, -0.52)])
        cuff = [(0.62, -0.56), (0.62, -0.48), (0.38, -0.42), (0.36, -0.5)]
    elif detail == "long sleeves":
        arm = smooth([(0.24, -0.88), (0.4, -0.86), (0.56, -0.4), (0.68, 0.22), (0.68, 0.22),
                      (0.54, 0.26), (0.54, 0.26), (0.4, -0.2), (0.28, -0.5)])
        cuff = [(0.69, 0.18), (0.7, 0.27), (0.55, 0.31), (0.53, 0.23)]
    else:
        return
    for turn in (list, flipped):
        pen.fill(turn(arm), pen.main, "ball", depth=0.4, folds=0.1, edge=0.4)
        pen.fill(turn(cuff), tone(pen.accent, 0.9), edge=0.2)


def hat(pen: Pen, shape: str, detail: str) -> None:
    band = detail == "contrast band"
    _HATS[shape](pen, band)


def _wide_brim(pen: Pen, band: bool) -> None:
    pen.fill(ellipse(0, 0.26, 1.0, 0.34), pen.main, "bar", depth=0.3, folds=0.04)
    pen.fill(ellipse(0, 0.2, 0.56, 0.16), tone(pen.colour, 0.5), edge=0.0)
    crown = smooth([(-0.5, 0.2), (-0.46, -0.2), (-0.3, -0.5), (-0.08, -0.44), (0.1, -0.46),
                    (0.32, -0.5), (0.46, -0.2), (0.5, 0.2), (0.28, 0.3), (-0.28, 0.3)])
    pen.fill(crown, pen.main, "tube", depth=0.45, edge=0.3)
    _ribbon(pen, 0.5, 0.14, 0.1, band=band)


def _ribbon(
    pen: Pen, half: float, y: float, sag: float, *, band: bool, thick: float = 0.15
) -> None:
    upper = curve([(-half, y - thick), (0, y - thick + sag), (half, y - thick)])
    lower = curve([(half * 1.02, y), (0, y + sag), (-half * 1.02, y)])
    if band:
        pen.fill([*upper, *lower], tone(pen.accent, 0.92), "tube", depth=0.45, edge=0.15)
    else:
        pen.seam(lower, _seam_tone(pen))


def _bucket(pen: Pen, band: bool) -> None:
    brim = smooth([(-0.6, 0.12), (-0.92, 0.58), (-0.5, 0.74), (0.0, 0.79), (0.5, 0.74),
                   (0.92, 0.58), (0.6, 0.12)])
    pen.fill(brim, pen.main, "tube", depth=0.4, edge=0.35)
    for i in range(3):
        k = 0.25 + i * 0.24
        row = curve([(-0.64 - 0.26 * k, 0.2 + 0.4 * k), (0, 0.3 + 0.46 * k),
                     (0.64 + 0.26 * k, 0.2 + 0.4 * k)])
        pen.seam(row, _seam_tone(pen))
    crown = smooth([(-0.5, -0.4), (-0.5, -0.4), (0, -0.46), (0.5, -0.4), (0.5, -0.4),
                    (0.62, 0.16), (0.62, 0.16), (0.0, 0.28), (-0.62, 0.16), (-0.62, 0.16)])
    pen.fill(crown, pen.main, "tube", depth=0.4, edge=0.25)
    pen.seam(curve([(-0.5, -0.35), (0, -0.29), (0.5, -0.35)]), _seam_tone(pen))
    _ribbon(pen, 0.6, 0.12, 0.11, band=band, thick=0.17)


def _cap(pen: Pen, band: bool) -> None:
    crown = smooth([(-0.72, 0.3), (-0.72, 0.3), (-0.7, -0.2), (-0.36, -0.56), (0.04, -0.6),
                    (0.36, -0.4), (0.5, 0.0), (0.52, 0.3), (0.52, 0.3), (-0.1, 0.36)])
    pen.fill(crown, pen.main, "ball", depth=0.4)
    for bend in (-0.5, -0.14, 0.22):
        pen.line(curve([(-0.1, -0.58), (bend - 0.04, -0.2), (bend, 0.3)]), 0.016, _seam_tone(pen))
    pen.fill(ellipse(-0.1, -0.6, 0.07, 0.04), tone(pen.accent, 0.9), "ball")
    if band:
        pen.fill(smooth([(-0.72, 0.12), (-0.72, 0.12), (0.52, 0.1), (0.52, 0.1), (0.52, 0.3),
                         (0.52, 0.3), (-0.1, 0.36), (-0.72, 0.3), (-0.72, 0.3)]),
                 tone(pen.accent, 0.92), "tube", depth=0.3)
    peak = smooth([(0.1, 0.24), (0.52, 0.14), (0.9, 0.26), (1.04, 0.42), (0.7, 0.42), (0.4, 0.38),
                   (0.06, 0.36)])
    pen.fill(peak, pen.accent if band else pen.main, "bar", depth=0.4, edge=0.4)


def _beanie(pen: Pen, band: bool) -> None:
    crown = smooth([(-0.62, 0.4), (-0.62, 0.4), (-0.6, -0.1), (-0.3, -0.48), (0.0, -0.56),
                    (0.3, -0.48), (0.6, -0.1), (0.62, 0.4), (0.62, 0.4)])
    pen.fill(crown, pen.main, "ball", depth=0.35)
    fold = box(-0.68, 0.3, 0.68, 0.68, 0.09)
    paint = tone(pen.accent, 0.95) if band else tone(pen.colour, 0.88)
    pen.fill(fold, paint, "tube", depth=0.4)
    rib = tone(pen.accent if band else pen.colour, 0.72)
    for i in range(15):
        x = -0.6 + i * 0.0857
        pen.line([(x, 0.34), (x, 0.64)], 0.018, rib)
    for i in range(40):
        angle, r = i * 2.4, 0.21 * math.sqrt(1 - i / 40)
        x, y = r * math.cos(angle), -0.7 + r * math.sin(angle)
        pen.fill(ellipse(x, y, 0.055, 0.055), tone(pen.accent, 0.8 + 0.005 * i), "ball", edge=0.2)


_HATS = {"wide brim": _wide_brim, "bucket": _bucket, "baseball cap": _cap, "beanie": _beanie}
