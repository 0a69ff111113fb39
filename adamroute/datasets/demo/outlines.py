"""Outlines as point lists in product coordinates: ellipses, rounded boxes, smooth curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[float, float]
STEPS = 8  # of a curve between two of its points


def ellipse(
    cx: float, cy: float, rx: float, ry: float, span_deg: tuple[float, float] = (0, 360)
) -> list[Point]:
    """Points along an ellipse, clockwise from 3 o'clock (y points down)."""
    start, end = span_deg
    steps = max(8, int(abs(end - start) / 6))
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(cx + rx * math.cos(angle), cy + ry * math.sin(angle)) for angle in angles]


def arch(
    cy: float, outer: Point, inner: Point, span_deg: tuple[float, float] = (180, 360)
) -> list[Point]:
    """The band between two ellipses around (0, cy), each given by its half axes."""
    return [*ellipse(0, cy, *outer, span_deg), *ellipse(0, cy, *inner, span_deg[::-1])]


def box(x0: float, y0: float, x1: float, y1: float, radius: float = 0.0) -> list[Point]:
    """A rectangle with rounded corners."""
    r = min(radius, abs(x1 - x0) / 2, abs(y1 - y0) / 2)
    if r <= 0:
        return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return [
        *ellipse(x1 - r, y0 + r, r, r, (-90, 0)),
        *ellipse(x1 - r, y1 - r, r, r, (0, 90)),
        *ellipse(x0 + r, y1 - r, r, r, (90, 180)),
        *ellipse(x0 + r, y0 + r, r, r, (180, 270)),
    ]


def smooth(points: Sequence[Point]) -> list[Point]:
    """A closed Catmull-Rom curve through the points; a point given twice is a corner."""
    return _spline([points[-1], *points, points[0], points[1]])


def curve(points: Sequence[Point]) -> list[Point]:
    """An open Catmull-Rom curve from the first point to the last, with corners as in `smooth`."""
    return [*_spline([points[0], *points, points[-1]]), points[-1]]


def _spline(points: Sequence[Point]) -> list[Point]:
    """The curve from the second point to the last but one, which it leaves out."""
    windows = zip(points, points[1:], points[2:], points[3:], strict=False)
    # A doubled point has no tangent: the curve leaves and enters it straight.
    return [_at(*four, k / STEPS) for four in windows if four[1] != four[2] for k in range(STEPS)]


def _at(p0: Point, p1: Point, p2: Point, p3: Point, t: float) -> Point:
    def along(axis: int) -> float:
        a, b, c, d = p0[axis], p1[axis], p2[axis], p3[axis]
        m1 = 0.0 if p0 == p1 else (c - a) / 2
        m2 = 0.0 if p2 == p3 else (d - b) / 2
        t2, t3 = t * t, t * t * t
        h1, h2 = 2 * t3 - 3 * t2 + 1, -2 * t3 + 3 * t2
        return h1 * b + (t3 - 2 * t2 + t) * m1 + h2 * c + (t3 - t2) * m2

    return along(0), along(1)


def mirrored(right_half: Sequence[Point]) -> list[Point]:
    """A symmetric outline from its right half, given from top to bottom."""
    return [*right_half, *flipped(right_half[::-1])]


def turned(side: Sequence[Point], sag: float) -> list[Point]:
    """A body as if turned on a lathe: its right side from top to bottom, and a round floor."""
    x, y = side[-1]
    floor = ellipse(0, y, x, sag, (0, 180))
    return [*side, *floor, *flipped(side[::-1])]


def moved(points: Sequence[Point], dx: float, dy: float = 0.0) -> list[Point]:
    """The points shifted."""
    return [(x + dx, y + dy) for x, y in points]


def flipped(points: Sequence[Point]) -> list[Point]:
    """The points mirrored left to right."""
    return [(-x, y) for x, y in points]


def waves(x0: float, x1: float, y: float, height: float, count: int) -> list[Point]:
    """A wavy edge from x0 to x1 around y."""
    steps = count * 8
    span = x1 - x0
    return [
        (x0 + span * i / steps, y + height * math.sin(2 * math.pi * count * i / steps))
        for i in range(steps + 1)
    ]
