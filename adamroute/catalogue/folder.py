"""Reading a shop folder: `shop.yaml`, the tables it names, and the photos the items name.

What makes the data wrong is a ShopError that names file and line; what leaves an item usable (no
photo, say) is counted in `Shop.problems`. The folder is only read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from adamroute.catalogue.histories import Histories, read_histories
from adamroute.catalogue.items import read_items
from adamroute.catalogue.queries import (
    MAX_QUERY_CHARACTERS,
    derived_split,
    read_queries,
    shop_queries,
)
from adamroute.catalogue.shop import Query, Shop
from adamroute.catalogue.shop_yaml import SHOP_YAML, ShopYaml, parse_shop_yaml
from adamroute.catalogue.tables import Table, inside, read_table
from adamroute.errors import ShopError
from adamroute.stages import digest

__all__ = ["MAX_QUERY_CHARACTERS", "derived_split", "read_queries", "read_shop"]

_FORMAT = 1  # raise it when the same files come to mean other items


def read_shop(folder: Path) -> Shop:
    """Read and check a shop folder; ShopError says where, what, and what to do."""
    spec, yaml_hash = _shop_yaml(folder)
    items_table = _table(folder, spec.items.file, "items.file")
    items = read_items(folder.resolve(), spec.items, items_table)
    hashes = {"items": items_table.hash}
    histories: Histories = {}
    queries: tuple[Query, ...] = ()
    problems = Counter(items.problems)
    if spec.interactions:
        table = _table(folder, spec.interactions.file, "interactions.file")
        histories, found = read_histories(table, spec.interactions, items.catalogue)
        problems.update(found)
        hashes["interactions"] = table.hash
    if spec.queries:
        table = _table(folder, spec.queries.file, "queries.file")
        queries = shop_queries(table, items.catalogue)
        hashes["queries"] = table.hash
    made_of = {"format": _FORMAT, "yaml": yaml_hash, "photos": items.photos_hash, **hashes}
    return Shop(
        name=spec.name,
        folder=folder.resolve(),
        catalogue=items.catalogue,
        histories=histories,
        queries=queries,
        time=spec.interactions.time if spec.interactions else "none",
        hash=digest(made_of),
        problems={name: count for name, count in sorted(problems.items()) if count},
    )


def _shop_yaml(folder: Path) -> tuple[ShopYaml, str]:
    """The checked shop.yaml and the sha256 of its bytes."""
    path = folder / SHOP_YAML
    advice = (
        f"Put a shop folder there ({SHOP_YAML} and an items table) or name another: --shop DIR"
    )
    if not folder.is_dir():
        raise ShopError(f"{folder}: no such folder. {advice}")
    if not path.is_file():
        raise ShopError(f"{folder}: no {SHOP_YAML} in it. {advice}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShopError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_shop_yaml(path, data), hashlib.sha256(data).hexdigest()


def _table(folder: Path, name: str, key: str) -> Table:
    inside(folder.resolve(), name, f"{folder / SHOP_YAML}: {key}")
    return read_table(folder / name)  # not the resolved path: messages show what the user typed
