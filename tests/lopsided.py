"""Shops that are small or lopsided, each in one way: folders of a few rows and drawn photos."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from PIL import Image, ImageDraw

COLOURS = {"red": (200, 30, 40), "blue": (40, 60, 200), "green": (30, 150, 60), "grey": (128,) * 3}
TYPES = ("rug", "lamp", "shelf")
MATERIALS = ("wool", "oak")
LISTED = {"file": "items.csv", "id": "item_id", "title": "{name}", "text": ["name", "about"]}
Row = Mapping[str, str]


@dataclass(frozen=True)
class Folder:
    """What a shop folder will hold; None: no such table."""

    items: tuple[Row, ...]
    interactions: tuple[Row, ...] | None
    queries: tuple[Row, ...] | None
    judged: tuple[Row, ...] | None = None
    visual: bool = True  # whether shop.yaml names the column
    category: bool = True
    image: bool = True

    def write(self, folder: Path) -> Path:
        """The folder, made new."""
        (folder / "images").mkdir(parents=True)
        _table(folder / "items.csv", self.items)
        spec: dict[str, object] = {"name": "tiny", "items": self._items()}
        if self.interactions is not None:
            _table(folder / "interactions.csv", self.interactions)
            spec["interactions"] = {"file": "interactions.csv"}
        for name, rows in (("queries", self.queries), ("judged", self.judged)):
            if rows is not None:
                lines = "".join(json.dumps(row) + "\n" for row in rows)
                (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
                spec[name] = {"file": f"{name}.jsonl"}
        (folder / "shop.yaml").write_text(json.dumps(spec), encoding="utf-8")  # YAML as well
        for row in self.items:
            if row["image"]:
                _photo(folder / row["image"], row["seen"], row["shape"])
        return folder

    def _items(self) -> dict[str, object]:
        named = {"visual": ["colour"], "category": "type", "image": "image"}
        kept = {"visual": self.visual, "category": self.category, "image": self.image}
        return {**LISTED, **{key: named[key] for key, there in kept.items() if there}}


def usual() -> Folder:
    """24 items, eight users with three likes and a dislike, two queries each in all splits."""
    return Folder(_items(24), _interactions(range(8)), _queries(range(8)))


def _items(count: int) -> tuple[Row, ...]:
    kinds = list(product(TYPES, COLOURS, MATERIALS))
    return tuple(
        _item(number, *kinds[number % len(kinds)], f"number {number // len(kinds)}")
        for number in range(count)
    )


def _item(number: int, kind: str, colour: str, material: str, more: str) -> Row:
    return {
        "item_id": f"i{number:02d}",
        "name": f"{material} {kind}",
        "about": f"A {kind} of {material} for the hall, {more}.",
        "type": kind,
        "colour": colour,
        "seen": colour,  # and shape: what the photo shows
        "shape": kind,
        "image": f"images/i{number:02d}.png",
    }


def _interactions(users: Sequence[int]) -> tuple[Row, ...]:
    return tuple(
        {"user_id": f"u{u}", "item_id": f"i{(3 * u + k) % 24:02d}", "label": label}
        for u in users
        for k, label in enumerate(("pos", "pos", "pos", "neg"))
    )


def _queries(users: Sequence[int]) -> tuple[Row, ...]:
    splits = ("train", "train", "train", "train", "calibration", "calibration", "test", "test")
    items = _items(24)
    return tuple(
        {
            "query_id": f"q{u}-{k}",
            "user_id": f"u{u}",
            "query": f"{items[target]['colour']} {items[target]['type']} for the hall",
            "target_id": items[target]["item_id"],
            "split": splits[u],
        }
        for u in users
        for k, target in enumerate(((5 * u + 1) % 24, (7 * u + 11) % 24))
    )


def _judged() -> tuple[Row, ...]:
    return tuple(
        {"query": row["query"], "item_id": row["target_id"], "grade": "1"}
        for row in _queries(range(8))
    )


def _each(rows: Sequence[Row] | None, **changes: str) -> tuple[Row, ...]:
    return tuple({**row, **changes} for row in rows or ())


def _in_split(split: str) -> Folder:
    shop = usual()
    return replace(shop, queries=_each(shop.queries, split=split))


def _of(users: int) -> Folder:
    return replace(
        usual(), interactions=_interactions(range(users)), queries=_queries(range(users))
    )


def _disliking(users: int) -> Folder:
    shop = usual()
    sour = {f"u{u}" for u in range(users)}
    rows = (
        {**r, "label": "neg" if r["user_id"] in sour else r["label"]}
        for r in shop.interactions or ()
    )
    return replace(shop, interactions=tuple(rows))


def _with_items(count: int) -> Folder:
    """As many items, and what was done with those."""
    ids = {row["item_id"] for row in _items(count)}
    shop = usual()
    return replace(
        shop,
        items=_items(count),
        interactions=tuple(r for r in shop.interactions or () if r["item_id"] in ids),
        queries=tuple(r for r in shop.queries or () if r["target_id"] in ids),
    )


def _same(**changes: str) -> Folder:
    return replace(usual(), items=_each(_items(24), **changes))


SHOPS: Mapping[str, Callable[[], Folder]] = {
    "nothing is wrong": usual,
    "train queries only": lambda: _in_split("train"),
    "calibration queries only": lambda: _in_split("calibration"),
    "test queries only": lambda: _in_split("test"),
    "one user": lambda: _of(1),
    "one query": lambda: replace(usual(), queries=_queries(range(1))[:1]),
    "one target": lambda: replace(usual(), queries=_each(_queries(range(8)), target_id="i00")),
    "all listings alike": lambda: _same(name="rug", about="A rug.", type="rug", colour="red"),
    "all photos the same": lambda: _same(seen="red", shape="rug"),
    "some users dislike all": lambda: _disliking(4),
    "all users dislike all": lambda: _disliking(8),
    "one item": lambda: Folder(_items(1), None, None),
    "two items": lambda: _with_items(2),
    "sixty items": lambda: Folder(_items(60), None, None),
    "no photos": lambda: replace(usual(), image=False),
    "no categories": lambda: replace(usual(), category=False),
    "no looks": lambda: replace(usual(), visual=False),
    "queries without interactions": lambda: replace(usual(), interactions=None),
    "interactions without queries": lambda: replace(usual(), queries=None),
    "judged queries without a log": lambda: replace(usual(), queries=None, judged=_judged()),
    "no word to ask by": lambda: Folder(
        _each(_items(3), name="!", about="?", type="", colour=""), None, None
    ),
}


def _table(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def _photo(path: Path, colour: str, kind: str) -> None:
    image = Image.new("RGB", (48, 48), (250, 250, 250))
    draw = ImageDraw.Draw(image)
    shape = draw.ellipse if kind == "lamp" else draw.rectangle
    shape((8, 8, 40, 20 if kind == "shelf" else 40), fill=COLOURS[colour])
    image.save(path)
