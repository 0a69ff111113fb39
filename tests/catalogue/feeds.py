"""A shop of one small table or two, written as a stranger's system might export them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.shop import Shop
from adamroute.errors import ShopError

ITEMS = "sku,name,type,colour,description\nA1,Kelp lamp,lamp,green,dims\nA2,Moss rug,rug,brown,x\n"
NUMBERED = ITEMS.replace("A1", "1000").replace("A2", "1001")
_ROLES = 'id: sku, title: "{name}", text: [name, description], visual: [colour], category: type'


def write_feed(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    items: str = "items.csv",
    more: str = "",
    rest: str = "",
) -> Path:
    """A shop folder; `more` are further keys of items, `rest` further lines of shop.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    yaml = f"name: feed\nitems: {{file: {items}, {_ROLES}{more}}}\n{rest}\n"
    for name, content in {"items.csv": ITEMS, **files, "shop.yaml": yaml}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def refusal(folder: Path) -> str:
    """What reading says, with paths relative to the folder."""
    with pytest.raises(ShopError) as caught:
        read_shop(folder)
    return str(caught.value).replace(f"{folder}/", "")


def listings(shop: Shop) -> dict[str, str]:
    return {item.item_id: item.text for item in shop.catalogue.items}


def told(shop: Shop, table: str) -> dict[str, JsonValue]:
    """What the shop says of how it read a table."""
    facts = shop.reading[table]
    assert isinstance(facts, dict)
    return facts
