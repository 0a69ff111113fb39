"""A shop of three items that a test breaks in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.photo_files import decoded
from adamroute.catalogue.shop import Shop
from adamroute.errors import ShopError

YAML = """\
name: corner
items:
  file: items.csv
  id: item_id
  title: "{name} {type}"
  text: [name, type, description]
  visual: [color, pattern]
  category: type
  image: image
interactions:
  file: interactions.csv
queries:
  file: queries.jsonl
"""
ITEMS = """\
item_id,name,type,color,pattern,description,image
007,Mala,easel,white,,For drawing.,images/7.png
702.584.83,Kura,bed,white,striped,,images/kura.jpg
9,Lack,table,,,Light and low,images/9.png
"""
INTERACTIONS = """\
user_id,item_id,label,timestamp
ann,702.584.83,pos,2
ann,007,neg,1
bob,9,pos,1
"""
QUERIES = """\
{"query_id": "q1", "user_id": "ann", "query": "a bed", "target_id": "702.584.83", "kind": "mixed", "split": "train"}
{"query_id": "q2", "user_id": "bob", "query": "low table", "target_id": "9", "kind": null, "split": "test"}
"""  # noqa: E501


@dataclass(frozen=True)
class Corner:
    """A shop folder under test."""

    folder: Path

    def write(self, name: str, content: str | bytes) -> Corner:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def change(self, name: str, old: str, new: str) -> Corner:
        """Replace a passage of a file that is there exactly once."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        return self.write(name, text.replace(old, new))

    def read(self) -> Shop:
        return read_shop(self.folder)

    def read_decoded(self) -> Shop:
        return decoded(self.read())

    def complaint(self) -> str:
        """What reading says, relative to the folder."""
        with pytest.raises(ShopError) as caught:
            self.read()
        return str(caught.value).replace(f"{self.folder}/", "")


@pytest.fixture
def corner(tmp_path: Path) -> Corner:
    """Three items with photos, two users, two queries; nothing is wrong with it."""
    made = Corner(tmp_path / "corner")
    files = {"shop.yaml": YAML, "items.csv": ITEMS, "interactions.csv": INTERACTIONS}
    for name, text in (files | {"queries.jsonl": QUERIES}).items():
        made.write(name, text)
    (made.folder / "images").mkdir()
    for number, name in enumerate(("7.png", "kura.jpg", "9.png")):
        Image.new("RGB", (64, 64), (40 * number, 90, 10)).save(made.folder / "images" / name)
    return made
