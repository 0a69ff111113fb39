"""Rugs lying on the floor and cushions."""

from __future__ import annotations

import math

from adamroute.datasets.demo.outlines import Point, box, ellipse, moved, smooth
from adamroute.datasets.demo.studio import Pen, tone

# Outlines are rows of points: one point a line would hide the shape.
# fmt: off


def _trapezoid(half_top: float, half_low: float, y0: float, y1: float) -> list[Point]:
    return [(-half_top, y0), (half_top, y0), (half_low, y1), (-half_low, y1)]


def rug(pen: Pen, shape: str, detail: str) -> None:
    top, low = (-0.95, 0.95) if shape == "runner" else (-0.6, 0.62)
    size = {"rectangular": (0.72, 0.98), "runner": (0.34, 0.5)}.get(shape)

    def outline(inset: float) -> list[Point]:
        if size is None:
            return _disc(shape, inset)
        return _trapezoid(size[0] - inset, size[1] - inset * 1.1, top + inset * 0.8,
                          low - inset * 0.8)

    edge, bordered = outline(0.0), detail == "contrast border"
    if detail == "fringed edge":
        _fringe(pen, edge, bool(size))
    pen.fill(moved(edge, 0, 0.05), tone(pen.colour, 0.5), edge=0.0)
    pen.fill(edge, pen.accent if bordered else pen.main, edge=0.2)
    if bordered:
        pen.fill(outline(0.1), pen.main, edge=0.12)
    _pile(pen, low, size[1] if size else 0.8)


def _pile(pen: Pen, low: float, wide: float) -> None:
    """A few combed threads, so that the surface reads as woven."""
    for _ in range(70):
        x, y = float(pen.rng.uniform(-wide, wide)) * 0.7, float(pen.rng.uniform(-low, low)) * 0.66
        factor = 0.78 if pen.rng.random() < 0.5 else 1.3
        pen.line([(x, y), (x + 0.05, y + 0.012)], 0.008, tone(pen.colour, factor))


def _disc(shape: str, inset: float) -> list[Point]:
    if shape == "round":
        return ellipse(0, 0, 0.98 - inset, 0.62 - inset * 0.8)
    out: list[Point] = []
    for i in range(181):
        angle = math.radians(i * 2)
        bump = 1 + 0.12 * abs(math.sin(angle * 6))
        out.append(((0.88 - inset) * bump * math.cos(angle),
                    (0.58 - inset * 0.8) * bump * math.sin(angle)))
    return out


def _fringe(pen: Pen, outline: list[Point], straight: bool) -> None:
    thread = tone(pen.accent, 0.9)
    if straight:
        ends = []
        for (xa, ya), (xb, yb), down in ((outline[0], outline[1], -0.11),
                                         (outline[3], outline[2], 0.15)):
            count = 26
            for i in range(count + 1):
                x = xa + (xb - xa) * i / count
                ends.append(((x, ya), (x + float(pen.rng.uniform(-0.015, 0.015)), yb + down)))
    else:
        ends = []
        for i in range(80):
            angle = math.radians(i * 4.5)
            x, y = 0.94 * math.cos(angle), 0.6 * math.sin(angle)
            ends.append(((x, y), (x * 1.12, y * 1.19 + 0.02)))
    for start, end in ends:
        pen.line([start, end], 0.04, tone(thread, 0.72))
        pen.line([start, end], 0.022, thread)


def cushion(pen: Pen, shape: str, detail: str) -> None:
    outline = _CUSHIONS[shape]
    if detail == "corner tassels":
        _tassels(pen, shape)
    if detail == "piped edge":
        pen.fill([(x * 1.035, y * 1.045) for x, y in outline], tone(pen.accent, 0.92), "ball",
                 depth=0.3)
    pen.fill(outline, pen.main, "bar" if shape == "bolster" else "ball", depth=0.5, folds=0.05,
             edge=0.4)
    if shape == "bolster":
        for x in (-0.72, 0.72):
            pen.line(ellipse(x, 0, 0.05, 0.36, (-85, 85)), 0.02, tone(pen.colour, 0.6))
    if detail == "button centre":
        for dx, dy in ((0.3, 0.22), (-0.3, 0.22), (0.3, -0.22), (-0.3, -0.22)):
            pen.line([(0, 0), (dx, dy)], 0.02, tone(pen.colour, 0.62))
        pen.fill(ellipse(0, 0.01, 0.13, 0.13), tone(pen.colour, 0.5), edge=0.0)
        pen.fill(ellipse(0, 0, 0.11, 0.11), tone(pen.accent, 0.94), "ball", depth=0.6)


def _tassels(pen: Pen, shape: str) -> None:
    x, y = {"square": (0.86, 0.86), "rectangular": (0.96, 0.6), "round": (0.62, 0.62),
            "bolster": (0.96, 0.0)}[shape]
    spots = {(sx * x, sy * y) for sx in (-1, 1) for sy in (-1, 1)}
    for cx, cy in sorted(spots):
        length = math.hypot(cx, cy)
        ux, uy = cx / length, cy / length
        for spread in (-0.5, -0.25, 0.0, 0.25, 0.5):
            end = (cx + 0.24 * (ux - spread * uy), cy + 0.24 * (uy + spread * ux))
            pen.line([(cx - 0.06 * ux, cy - 0.06 * uy), end], 0.035,
                     tone(pen.accent, 0.85 + 0.1 * spread))
        knot = ellipse(cx + 0.03 * ux, cy + 0.03 * uy, 0.06, 0.06)
        pen.fill(knot, tone(pen.accent, 0.7), "ball")


def _pillow(x: float, y: float) -> list[Point]:
    """Corners that stand out and sides that swell in."""
    d = 0.09
    return smooth([(-x, -y), (-x, -y), (-x / 2, -y + d), (x / 2, -y + d), (x, -y), (x, -y),
                   (x - d, -y / 2), (x - d, y / 2), (x, y), (x, y), (x / 2, y - d),
                   (-x / 2, y - d), (-x, y), (-x, y), (-x + d, y / 2), (-x + d, -y / 2)])


_CUSHIONS: dict[str, list[Point]] = {
    "square": _pillow(0.88, 0.88),
    "rectangular": _pillow(0.98, 0.62),
    "round": ellipse(0, 0, 0.86, 0.82),
    "bolster": box(-0.98, -0.38, 0.98, 0.38, 0.2),
}
