"""Reading a shop folder: `shop.yaml`, the tables it names, and the photos the items name.

What makes the data wrong is a ShopError that names file and line; what leaves an item usable (no
photo, say) is counted in `Shop.problems`. The folder is only read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adamroute.catalogue.histories import COLUMNS as HISTORY_COLUMNS
from adamroute.catalogue.histories import IDS as HISTORY_IDS
from adamroute.catalogue.histories import Histories, read_histories
from adamroute.catalogue.items import photos_of, read_items
from adamroute.catalogue.judged_queries import read_as_queries
from adamroute.catalogue.judgements import ReadJudgements, read_judgements
from adamroute.catalogue.photo_files import photo_hash
from adamroute.catalogue.queries import ALL_COLUMNS as QUERY_COLUMNS
from adamroute.catalogue.queries import IDS as QUERY_IDS
from adamroute.catalogue.queries import (
    MAX_QUERY_CHARACTERS,
    derived_split,
    read_queries,
    shop_queries,
)
from adamroute.catalogue.shop import Query, Shop
from adamroute.catalogue.shop_yaml import (
    SHOP_YAML,
    FileYaml,
    ItemsYaml,
    JudgedYaml,
    ShopYaml,
    parse_shop_yaml,
)
from adamroute.catalogue.table_files import Table, inside, read_table, table_hash
from adamroute.errors import ShopError
from adamroute.stages import digest

__all__ = ["MAX_QUERY_CHARACTERS", "derived_split", "read_queries", "read_shop"]

_FORMAT = 1  # raise it when the same files come to mean other items


def read_shop(folder: Path, judged: Path | None = None) -> Shop:
    """Read and check a shop folder; ShopError says where, what, and what to do.

    `judged` is a file of judgements that stands outside it, as `adamroute judge` writes one.
    No photo is decoded: `decoded` does that where an index is built.
    """
    spec = _shop_yaml(folder)
    table = _items_table(folder, spec.items)
    items = read_items(folder.resolve(), spec.items, table)
    reading = {"items": table.told()}
    histories: Histories = {}
    queries: tuple[Query, ...] = ()
    problems = Counter(items.problems)
    if spec.interactions:
        table = _table(folder, "interactions", spec.interactions, HISTORY_COLUMNS, HISTORY_IDS)
        past = read_histories(table, spec.interactions, items.catalogue)
        histories, reading["interactions"] = past.histories, dict(past.facts)
        problems.update(past.problems)
    if spec.queries:
        table = _table(folder, "queries", spec.queries, QUERY_COLUMNS, QUERY_IDS)
        asked = shop_queries(table, items.catalogue)
        queries, reading["queries"] = asked.queries, dict(asked.facts)
        problems.update(asked.problems)
    shop = Shop(
        name=spec.name,
        folder=folder.resolve(),
        catalogue=items.catalogue,
        histories=histories,
        queries=queries,
        time=spec.interactions.time if spec.interactions else "none",
        problems=_counted(problems),
        reading=reading,
    )
    return _with_judged(shop, folder, spec.judged, judged)


def _with_judged(shop: Shop, folder: Path, spec: JudgedYaml | None, own: Path | None) -> Shop:
    """The shop with judged queries after its logged ones."""
    read: dict[Path, ReadJudgements] = {}
    if spec:
        path = _path(folder, spec.file, "judged")
        topics = _path(folder, spec.topics, "judged", "topics") if spec.topics else None
        form = spec.form("judged")
        read[path] = read_judgements(path, shop.catalogue, form, topics=topics)
    if own:
        read[own] = read_judgements(own, shop.catalogue, own=True)
    if not read:
        return shop
    shoppers = {*shop.histories, *(query.user_id for query in shop.queries)}
    more = read_as_queries(read, shoppers, shop.queries)
    return replace(
        shop,
        queries=(*shop.queries, *more.queries),
        problems=_counted(Counter(shop.problems) + Counter(more.problems)),
        reading={**shop.reading, "judged": dict(more.facts)},
    )


def _counted(problems: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(problems.items()) if count}


@dataclass(frozen=True)
class ShopBytes:
    """What the parts of a shop folder are by their bytes alone, 16 hex digits each.

    This is all that asking whether a stage is fresh needs: nothing is checked and no photo
    decoded, and a file is read once a process unless it changed. ShopError where one is not there.
    """

    folder: Path
    spec: ShopYaml

    @classmethod
    def of(cls, folder: Path) -> ShopBytes:
        return cls(folder, _shop_yaml(folder))

    @property
    def catalogue(self) -> str:
        """The items table and every photo that it names."""
        spec = self.spec.items
        table = _items_table(self.folder, spec) if spec.image else None
        photos = photos_of(self.folder.resolve(), spec.image, table) if table else ()
        return digest([self._part("items", spec), *map(photo_hash, photos)])

    @property
    def histories(self) -> str:
        return self._part("interactions", self.spec.interactions)

    @property
    def queries(self) -> str:
        """Those it logs, and those that are judged in it."""
        logged, spec = self._part("queries", self.spec.queries), self.spec.judged
        if spec is None:
            return logged
        topics = (
            table_hash(_path(self.folder, spec.topics, "judged", "topics")) if spec.topics else ""
        )
        return digest([logged, self._part("judged", spec), topics])

    def _part(self, key: str, section: FileYaml | None) -> str:
        """A section of shop.yaml, and the table that it names."""
        if section is None:
            return digest([_FORMAT])
        table = table_hash(_path(self.folder, section.file, key))
        return digest([_FORMAT, section.model_dump(mode="json"), table])


def _shop_yaml(folder: Path) -> ShopYaml:
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
    return parse_shop_yaml(path, data)


def _items_table(folder: Path, spec: ItemsYaml) -> Table:
    return _table(folder, "items", spec, spec.columns, (spec.id,))


def _table(
    folder: Path, key: str, spec: FileYaml, columns: Collection[str], ids: Collection[str]
) -> Table:
    return read_table(_path(folder, spec.file, key), spec.form(key), columns=columns, ids=ids)


def _path(folder: Path, name: str, section: str, key: str = "file") -> Path:
    inside(folder.resolve(), name, f"{folder / SHOP_YAML}: {section}.{key}")
    return folder / name  # not the resolved path: messages show what the user typed
