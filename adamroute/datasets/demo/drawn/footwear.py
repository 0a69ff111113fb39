"""Sneakers and boots, seen from the side, toe to the right."""

from __future__ import annotations

from adamroute.datasets.demo.outlines import Point, box, curve, ellipse, smooth, waves
from adamroute.datasets.demo.patterns import RGB, luminance
from adamroute.datasets.demo.studio import Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off

RUBBER: tuple[RGB, ...] = ((240, 238, 230), (196, 148, 96), (58, 56, 56))


def _rubber(pen: Pen) -> RGB:
    """A sole that stands out from the upper."""
    own = luminance(pen.colour)
    choices = [c for c in RUBBER if abs(luminance(c) - own) > 45]
    return choices[int(pen.rng.integers(len(choices)))]


def sneaker(pen: Pen, shape: str, detail: str) -> None:
    high = detail == "high top"
    top = -0.78 if high else -0.36
    _sneaker_sole(pen, shape)
    pen.fill(ellipse(-0.48, top + 0.08, 0.36, 0.1), tone(pen.colour, 0.35))
    rise = 0.16 if high else 0.07
    peak: list[Point] = [(-0.28, top), (-0.14, top - rise), (0.02, top - rise / 2)]
    pen.fill(smooth([*peak, (0.22, -0.02), (-0.1, 0.05)]), tone(pen.accent, 0.92))
    collar = [(-0.86, top), (-0.86, top), (-0.55, top + 0.12), (-0.26, top + 0.02), (-0.16, top)]
    front: list[Point] = [(0.02, -0.36), (0.34, -0.08), (0.62, 0.0), (0.9, 0.12), (0.98, 0.32)]
    heel: list[Point] = [(0.98, 0.34), (0.98, 0.34), (-0.9, 0.34), (-0.9, 0.34),
                         (-0.93, 0.1), (-0.84, -0.15)]
    pen.fill(smooth([*collar, *front, *heel]), pen.main, "ball", depth=0.3, folds=0.03)
    dark = tone(pen.colour, 0.6)
    cap = smooth([(0.56, 0.34), (0.56, 0.14), (0.74, 0.05), (0.92, 0.14), (0.97, 0.34)])
    pen.fill(cap, tone(pen.accent, 0.96), "ball", depth=0.25)
    counter = smooth([(-0.9, 0.34), (-0.92, 0.02), (-0.8, -0.06), (-0.62, 0.12), (-0.56, 0.34)])
    pen.fill(counter, dark, "ball", depth=0.2)
    _laces(pen, top, high)


def _laces(pen: Pen, top: float, high: bool) -> None:
    lace = (250, 250, 246) if luminance(pen.colour) < 200 else (70, 70, 74)
    slope: list[Point] = [(-0.1, -0.26), (0.06, -0.2), (0.2, -0.09), (0.34, 0.0)]
    if high:
        slope = [(-0.22, -0.6), (-0.17, -0.43), *slope]
    for x, y in slope:
        pen.line([(x - 0.06, y + 0.1), (x + 0.15, y - 0.04)], 0.055, tone(lace, 0.75))
        pen.line([(x - 0.06, y + 0.09), (x + 0.15, y - 0.05)], 0.038, lace)
    pen.seam(curve([(-0.5, 0.28), (-0.3, 0.1), (0.1, 0.16), (0.5, 0.22)]), tone(pen.colour, 0.55))
    pen.line([(-0.86, top + 0.02), (-0.9, top - 0.1)], 0.05, tone(pen.colour, 0.6))


def _sneaker_sole(pen: Pen, shape: str) -> None:
    rubber = _rubber(pen)
    if shape == "thick wavy sole":
        edge = waves(1.03, -0.98, 0.6, 0.055, 7)
        pen.fill([(-0.97, 0.28), (1.02, 0.28), *edge], rubber, "bar", depth=0.35)
        pen.line(waves(-0.94, 0.98, 0.45, 0.04, 7), 0.03, tone(rubber, 0.78))
    elif shape == "chunky wedge sole":
        wedge = [(-0.92, 0.2), (0.96, 0.3), (1.02, 0.36), (0.98, 0.44), (0.3, 0.5), (-0.1, 0.66),
                 (-0.98, 0.72)]
        pen.fill(wedge, rubber, "bar", depth=0.35)
        for x in (-0.84, -0.68, -0.52, -0.36):
            pen.line([(x, 0.42), (x + 0.05, 0.66)], 0.028, tone(rubber, 0.72))
    else:
        pen.fill(box(-0.95, 0.29, 1.0, 0.41, 0.05), rubber, "bar", depth=0.3)
        pen.line([(-0.92, 0.34), (0.97, 0.34)], 0.018, tone(pen.accent, 0.85))


TOPS = {"ankle-high": -0.32, "mid-calf": -0.66, "knee-high": -1.02}


def boot(pen: Pen, shape: str, detail: str) -> None:
    top, shift = TOPS[shape], 0.05
    top += 0.06
    _boot_sole(pen, detail)
    wide = 0.0 if shape == "ankle-high" else 0.05
    pen.fill(ellipse(-0.3 + shift, top + 0.02, 0.35 + wide, 0.07), tone(pen.colour, 0.3))
    leg: list[Point] = [(-0.64 - wide + shift, top), (-0.64 - wide + shift, top)]
    rim: list[Point] = [(-0.3 + shift, top + 0.06), (0.04 + wide + shift, top),
                        (0.04 + wide + shift, top)]
    foot: list[Point] = [(0.07 + shift, 0.0), (0.2, 0.2), (0.5, 0.34), (0.76, 0.5), (0.8, 0.68),
                         (0.8, 0.68), (-0.62, 0.68), (-0.62, 0.68), (-0.64, 0.4), (-0.58, 0.1)]
    pen.fill(smooth([*leg, *rim, *foot]), pen.main, "tube", depth=0.35, folds=0.07)
    dark = tone(pen.colour, 0.55) if luminance(pen.colour) > 60 else tone(pen.colour, 1.25)
    pen.seam(curve([(0.3, 0.66), (0.34, 0.46), (0.52, 0.36)]), dark)
    pen.line(curve([(-0.62, 0.52), (-0.2, 0.56), (0.1, 0.64)]), 0.022, dark)
    style = int(pen.rng.integers(3))
    if style == 0:
        _boot_laces(pen, top, dark)
    elif style == 1:
        pen.line([(-0.28, top + 0.12), (-0.26, 0.34)], 0.03, (176, 176, 180))
        pen.line([(-0.28, top + 0.14), (-0.28, top + 0.26)], 0.05, (214, 190, 120))
    else:
        strap = curve([(-0.6, 0.12), (-0.2, 0.2), (0.14, 0.08)])
        pen.line(strap, 0.09, dark)
        pen.fill(ellipse(-0.16, 0.19, 0.08, 0.08), (222, 196, 120), "ball")
        pen.fill(ellipse(-0.16, 0.19, 0.04, 0.04), dark)
    pen.line([(-0.6, top + 0.02), (-0.66, top - 0.1)], 0.05, dark)


def _boot_laces(pen: Pen, top: float, dark: RGB) -> None:
    lace = (246, 240, 220) if luminance(pen.colour) < 190 else (70, 60, 50)
    rows = max(3, int((0.22 - top) / 0.13))
    for i in range(rows):
        y = top + 0.14 + i * (0.26 - top - 0.1) / rows
        pen.line([(-0.06, y + 0.05), (0.14, y)], 0.042, tone(lace, 0.8))
        pen.line([(-0.06, y), (0.14, y + 0.05)], 0.03, lace)
        pen.fill(ellipse(-0.08, y + 0.03, 0.025, 0.025), dark)


def _boot_sole(pen: Pen, detail: str) -> None:
    rubber: RGB = (54, 48, 44) if luminance(pen.colour) > 70 else (150, 104, 66)
    if detail == "chunky lug sole":
        teeth: list[Point] = []
        for i in range(9):
            x = 0.84 - i * 0.18
            teeth += [(x, 0.98), (x - 0.1, 0.98), (x - 0.1, 0.9), (x - 0.18, 0.9)]
        pen.fill([(-0.7, 0.66), (0.86, 0.66), *teeth, (-0.72, 0.9)], rubber, "bar", depth=0.3)
        pen.line([(-0.66, 0.71), (0.82, 0.71)], 0.025, (214, 176, 110))
    elif detail == "block heel":
        pen.fill([(-0.64, 0.66), (-0.16, 0.7), (-0.22, 1.0), (-0.6, 1.0)], rubber, "tube")
        pen.fill([(-0.64, 0.66), (0.8, 0.66), (0.84, 0.7), (0.8, 0.77), (0.46, 0.79), (0.1, 0.73),
                  (-0.64, 0.72)], rubber, "bar")
    else:
        pen.fill(box(-0.66, 0.65, 0.84, 0.77, 0.05), rubber, "bar")
