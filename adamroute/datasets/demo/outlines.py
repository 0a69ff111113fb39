"""Outlines as point lists in product coordinates: ellipses, rounded boxes, smooth curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[float, float]


def ellipse(
    cx: float, cy: float, rx: float, ry: float, start_deg: float = 0, end_deg: float = 360
) -> list[Point]:
    """Points along an ellipse, clockwise from 3 o'clock (y points down)."""
    steps = max(8, int(abs(end_deg - start_deg) / 6))
    out = []
    for i in range(steps + 1):
        angle = math.radians(start_deg + (end_deg - start_deg) * i / steps)
        out.append((cx + rx * math.cos(angle), cy + ry * math.sin(angle)))
    return out


def box(x0: float, y0: float, x1: float, y1: float, radius: float = 0.0) -> list[Point]:
    """A rectangle with rounded corners."""
    r = min(radius, abs(x1 - x0) / 2, abs(y1 - y0) / 2)
    if r <= 0:
        return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return [
        *ellipse(x1 - r, y0 + r, r, r, -90, 0),
        *ellipse(x1 - r, y1 - r, r, r, 0, 90),
        *ellipse(x0 + r, y1 - r, r, r, 90, 180),
        *ellipse(x0 + r, y0 + r, r, r, 180, 270),
    ]


def smooth(points: Sequence[Point], *, closed: bool = True, steps: int = 8) -> list[Point]:
    """Catmull-Rom curve through the points; a point given twice is a corner."""
    n = len(points)
    out: list[Point] = []
    for i in range(n if closed else n - 1):
        p0 = points[i - 1] if closed or i > 0 else points[0]
        p1, p2 = points[i], points[(i + 1) % n]
        p3 = points[(i + 2) % n] if closed or i + 2 < n else points[-1]
        if p1 == p2:
            continue
        # A doubled point has no tangent: the curve leaves and enters it straight.
        out += [_spline(p0, p1, p2, p3, k / steps) for k in range(steps)]
    if not closed:
        out.append(points[-1])
    return out


def _spline(p0: Point, p1: Point, p2: Point, p3: Point, t: float) -> Point:
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
    return [*right_half, *((-x, y) for x, y in reversed(right_half))]


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
