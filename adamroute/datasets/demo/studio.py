"""The photo studio of the demo shop: a pen with shading, and a light-grey room around it.

Everything is drawn as polygons at three times the final size and reduced once (box filter), which
is the only anti-aliasing. Shapes are given in product coordinates: x to the right, y down, the
product about 2 wide and 2 high around the origin. One photo costs about 25 ms on one core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from adamroute.datasets.demo.patterns import RGB, dyed, weave

SIZE = 224  # pixels, width and height of a finished photo
OVERSAMPLING = 3
FULL = SIZE * OVERSAMPLING
UNIT = FULL * 0.40  # pixels of one product unit before the photo's own zoom

Point = tuple[float, float]
Points = Sequence[Point]
Form = Literal["flat", "tube", "bar", "ball"]
Field = NDArray[np.floating]
Pixels = NDArray[np.uint8]


def tone(colour: RGB, factor: float) -> RGB:
    """The colour darkened (factor below 1) or moved towards white (above 1)."""
    if factor <= 1:
        return (int(colour[0] * factor), int(colour[1] * factor), int(colour[2] * factor))
    lift = min(factor - 1, 1.0)
    r, g, b = (int(c + (255 - c) * lift) for c in colour)
    return (r, g, b)


class Pen:
    """Draws one product: owns its layer, the light, the tilt and the cloth of its pattern."""

    def __init__(
        self,
        rng: np.random.Generator,
        colour: RGB,
        accent: RGB,
        pattern: str,
        *,
        density: float = 1.0,
        tilt_deg: float = 4.0,
        may_flip: bool = True,
    ) -> None:
        self.rng = rng
        self.colour = colour
        self.accent = accent
        self.light = float(rng.choice([-1.0, 1.0]))  # the side the light comes from
        angle = math.radians(float(rng.uniform(-tilt_deg, tilt_deg)))
        zoom = UNIT * float(rng.uniform(0.9, 1.04))
        flip = -1.0 if may_flip and rng.random() < 0.5 else 1.0
        self._cos, self._sin = math.cos(angle) * zoom, math.sin(angle) * zoom
        self._flip = flip
        self._origin = (
            FULL / 2 + float(rng.uniform(-0.025, 0.025)) * FULL,
            FULL / 2 + float(rng.uniform(-0.02, 0.02)) * FULL,
        )
        self.layer = Image.new("RGB", (FULL, FULL))
        self.cover = Image.new("L", (FULL, FULL))
        self.main = self._cloth(pattern, density)

    def _cloth(self, pattern: str, density: float) -> Pixels:
        """The pattern over the whole layer, woven at half its size for speed."""
        zoom = self._cos**2 + self._sin**2
        steps = np.arange(FULL // 2, dtype=np.float32) * 2 + 1
        xs, ys = steps[None, :] - self._origin[0], steps[:, None] - self._origin[1]
        across = ((xs * self._cos + ys * self._sin) * self._flip / zoom).astype(np.float32)
        down = ((ys * self._cos - xs * self._sin) / zoom).astype(np.float32)
        weight = Image.fromarray(weave(pattern, across, down, density, self.rng))
        full = weight.resize((FULL, FULL), Image.Resampling.BILINEAR)
        return dyed(full, self.colour, self.accent, float(self.rng.uniform(0.92, 1.06)))

    def place(self, points: Points) -> list[Point]:
        """Product coordinates to pixels of the oversampled layer."""
        ox, oy = self._origin
        out = []
        for x, y in points:
            fx = x * self._flip
            out.append((ox + fx * self._cos - y * self._sin, oy + fx * self._sin + y * self._cos))
        return out

    def fill(
        self,
        points: Points,
        paint: RGB | Pixels,
        form: Form = "flat",
        *,
        depth: float = 0.3,
        edge: float = 0.25,
        folds: float = 0.0,
        gloss: float = 0.0,
        opacity: float = 1.0,
    ) -> None:
        """One closed part of the product.

        `form` and `depth` (0 to 1) shade it as a cylinder or ball, `edge` darkens its rim, `folds`
        adds soft vertical creases, `gloss` a highlight, `opacity` below 1 shows what is behind.
        """
        placed = self.place(points)
        box = _bounds(placed)
        if box is None:
            return
        left, top, right, bottom = box
        mask = Image.new("L", (right - left, bottom - top))
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in placed], fill=255)
        shade = self._shade(mask, form, depth, edge, folds)
        shine = self._shine(mask.size, form, gloss)
        if isinstance(paint, np.ndarray):
            base = paint[top:bottom, left:right].astype(np.float32)
        else:
            base = np.broadcast_to(np.array(paint, np.float32), (*shade.shape, 3))
        lit = np.clip(base * shade[..., None] + shine[..., None], 0, 255).astype(np.uint8)
        if opacity < 1:
            mask = mask.point([int(v * opacity) for v in range(256)])
        self.layer.paste(Image.fromarray(lit), (left, top), mask)
        self.cover.paste(255, (left, top, right, bottom), mask)

    def _shade(
        self, mask: Image.Image, form: Form, depth: float, edge: float, folds: float
    ) -> Field:
        u, v = self._axes(mask.size)
        shade: Field = 1.04 - 0.05 * v + 0 * u
        if form == "tube":
            shade = shade - depth * np.clip(u * 0.55 + u**2 * 0.6 - 0.08, -0.25, None)
        elif form == "bar":
            shade = shade - depth * np.clip(v * 0.6 + v**2 * 0.5 - 0.05, -0.25, None)
        elif form == "ball":
            shade = (
                shade - depth * np.clip((u + 0.4) ** 2 + (v + 0.45) ** 2 - 0.5, -0.3, 1.6) * 0.6
            )
        if folds:
            shade = shade + folds * self._creases(u, v)
        if edge:
            shade = shade - edge * _rim(mask)
        return np.maximum(shade, 0.12).astype(np.float32)

    def _axes(self, size: tuple[int, int]) -> tuple[Field, Field]:
        """A part's own coordinates, -1 to 1: u [1, W] from the light, v [H, 1] downwards."""
        u = np.linspace(-1, 1, size[0], dtype=np.float32)[None, :] * np.float32(-self.light)
        return u, np.linspace(-1, 1, size[1], dtype=np.float32)[:, None]

    def _creases(self, u: Field, v: Field) -> Field:
        waves = [
            np.sin(k * u + self.rng.uniform(-2, 2) * v + self.rng.uniform(0, 6.3)) * (2 / k)
            for k in (4.0, 7.0, 11.0)
        ]
        return np.asarray(sum(waves), np.float32)

    def _shine(self, size: tuple[int, int], form: Form, gloss: float) -> Field:
        u, v = self._axes(size)
        if not gloss:
            return 0 * u + 0 * v
        if form == "ball":
            spot = np.exp(-((u + 0.42) ** 2 + (v + 0.48) ** 2) * 16)
        elif form == "bar":
            spot = np.exp(-((v + 0.5) ** 2) * 40) + 0 * u
        else:
            spot = np.exp(-((u + 0.55) ** 2) * 60) + 0 * v
        return np.asarray(spot * 255 * gloss, np.float32)

    def line(self, points: Points, width: float, colour: RGB) -> None:
        """An open stroke; width in product units."""
        placed = self.place(points)
        pixels = max(1, round(width * math.hypot(self._cos, self._sin)))
        for image, ink in ((self.layer, colour), (self.cover, 255)):
            draw = ImageDraw.Draw(image)
            draw.line(placed, fill=ink, width=pixels, joint="curve")
            for x, y in (placed[0], placed[-1]):
                r = pixels / 2
                draw.ellipse((x - r, y - r, x + r, y + r), fill=ink)

    def seam(self, points: Points, colour: RGB, width: float = 0.012) -> None:
        """A dashed line of stitches along the points."""
        for start in range(0, len(points) - 2, 4):
            self.line(points[start : start + 3], width, colour)

    def rod(
        self, start: Point, end: Point, width: float, colour: RGB, *, taper: float = 1.0
    ) -> None:
        """A round bar from start to end, `taper` times as thick at its end."""
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        nx, ny = -(y1 - y0) / length * width / 2, (x1 - x0) / length * width / 2
        corners = [
            (x0 + nx, y0 + ny),
            (x0 - nx, y0 - ny),
            (x1 - nx * taper, y1 - ny * taper),
            (x1 + nx * taper, y1 + ny * taper),
        ]
        self.fill(corners, colour, "tube" if abs(y1 - y0) > abs(x1 - x0) else "bar", depth=0.5)

    def photo(self, *, grounded: bool) -> Image.Image:
        """The finished photo: room, shadow (on the floor or behind a flat product), product."""
        product = np.asarray(self.layer.reduce(OVERSAMPLING), np.float32)
        cover = self.cover.reduce(OVERSAMPLING)
        alpha = np.asarray(cover, np.float32)[..., None] / 255
        room = _room(self.rng, grounded) * (1 - _shadow(cover, grounded, self.light))[..., None]
        exposure = np.float32(self.rng.uniform(0.93, 1.04))
        warmth = self.rng.uniform(-0.015, 0.015)
        tint = np.array([1 + warmth, 1.0, 1 - warmth], np.float32) * exposure
        noise = self.rng.normal(0, 1.6, (SIZE, SIZE, 1)).astype(np.float32)
        final = (room * (1 - alpha) + product) * tint + noise
        return Image.fromarray(np.clip(final, 0, 255).astype(np.uint8))


def _bounds(placed: Points) -> tuple[int, int, int, int] | None:
    xs, ys = [p[0] for p in placed], [p[1] for p in placed]
    left, top = max(0, int(min(xs))), max(0, int(min(ys)))
    right, bottom = min(FULL, int(max(xs)) + 2), min(FULL, int(max(ys)) + 2)
    return (left, top, right, bottom) if right - left > 1 and bottom - top > 1 else None


def _rim(mask: Image.Image) -> Field:
    """1 at the outline of the mask, falling to 0 inside; blurred at a quarter of the size."""
    width, height = mask.size
    small = mask.resize(
        (max(2, width // 4 + 4), max(2, height // 4 + 4)), Image.Resampling.BILINEAR
    )
    framed = Image.new("L", (small.width + 12, small.height + 12))
    framed.paste(small, (6, 6))
    soft = framed.filter(ImageFilter.GaussianBlur(3.0))
    inner = soft.crop((6, 6, 6 + small.width, 6 + small.height))
    grown = np.asarray(inner.resize(mask.size, Image.Resampling.BILINEAR), np.float32) / 255
    return np.asarray(1 - np.clip(grown * 2 - 1, 0, 1), np.float32)


def _shadow(cover: Image.Image, grounded: bool, light: float) -> Field:
    box = cover.getbbox()
    dark = Image.new("L", (SIZE, SIZE))
    if box is None:  # nothing was drawn
        return np.zeros((SIZE, SIZE), np.float32)
    left, _, right, bottom = box
    if grounded:
        draw = ImageDraw.Draw(dark)
        slide, grow = -light * 5, (right - left) * 0.04
        ellipse = (left - grow + slide, bottom - 9, right + grow + slide, bottom + 6)
        draw.ellipse(ellipse, fill=105)
        inset = (right - left) * 0.08
        draw.ellipse((left + inset, bottom - 5, right - inset, bottom + 3), fill=170)
        dark = dark.filter(ImageFilter.GaussianBlur(4))
    else:
        dark.paste(cover.point([int(v * 0.42) for v in range(256)]), (int(-light * 4), 5))
        dark = dark.filter(ImageFilter.GaussianBlur(5))
    return np.asarray(dark, np.float32) / 255 * np.float32(0.8)


def _room(rng: np.random.Generator, grounded: bool) -> Field:
    """A backdrop from white to light grey with a soft horizon and a vignette, [SIZE, SIZE, 3]."""
    grey = rng.uniform(226, 246)
    v = np.linspace(0, 1, SIZE, dtype=np.float32)[:, None]
    u = np.linspace(-1, 1, SIZE, dtype=np.float32)[None, :]
    wall: Field = grey + rng.uniform(2, 9) * (1 - v) - 7 * (u**2 + (v - 0.5) ** 2) + 0 * u
    if grounded:
        horizon = rng.uniform(0.68, 0.8)
        wall = wall - rng.uniform(4, 14) / (1 + np.exp(-(v - horizon) * 40))
    cast = np.array([1.0, 1.0, 1.0], np.float32) + rng.uniform(-0.012, 0.012, 3).astype(np.float32)
    return np.asarray(wall[..., None] * cast, np.float32)
