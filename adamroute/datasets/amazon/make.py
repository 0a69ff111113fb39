"""A public set becomes a shop folder: tables, shop.yaml, photos, and what was left out.

The tables come first, then shop.yaml, which makes the folder readable, then the photos, which a
second run continues. data.json comes last and holds the counts of everything left out or mended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from adamroute.catalogue.shop_yaml import SHOP_YAML
from adamroute.datasets.amazon.addresses import CheckedTransport
from adamroute.datasets.amazon.fetch import FOLDER, Limits, fetch_photos, photo_name
from adamroute.datasets.amazon.lines import kilobytes
from adamroute.datasets.amazon.metadata import MetadataProduct, read_products
from adamroute.datasets.amazon.people import People, Row, query_rows, read_people
from adamroute.datasets.amazon.sources import PublicSet, Role, find_sources, public_set
from adamroute.errors import ShopError
from adamroute.progress import Progress
from adamroute.stages import file_hash, write_text

ITEMS, INTERACTIONS, QUERIES, DATA = (
    "items.jsonl", "interactions.jsonl", "queries.jsonl", "data.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadeShop:
    """What came of it; both mappings are in data.json too."""

    folder: Path
    counts: Mapping[str, int]
    problems: Mapping[str, int]  # named defects that were left out or mended, none of them 0

    def told(self) -> Iterator[str]:
        """Lines for the person who made it: what is there, what was left out, what comes next."""
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        yield f"{self.folder}: {counts}"
        for name, count in self.problems.items():
            yield f"  {name}: {count:,}"
        yield f"Next, with a config of configs/: adamroute build CONFIG --shop {self.folder}"


def data_amazon(
    name: str,
    folder: Path,
    progress: Progress,
    *,
    out: Path | None = None,
    images: bool = True,
    keep_duplicates: bool = False,
    limits: Limits | None = None,
    transport: CheckedTransport | None = None,
) -> MadeShop:
    """Make `out` (`folder`/`name`) a shop folder from what the user downloaded into `folder`.

    Only photos are fetched, from the addresses in the metadata. ShopError says which files are
    missing, or which line of which file cannot be used.
    """
    made_of = public_set(name)
    sources = find_sources(made_of, folder)
    out = out or folder / name
    _claim(out, name)
    problems: Counter[str] = Counter()
    people = read_people(made_of, sources, progress, problems)
    (out / SHOP_YAML).unlink(missing_ok=True)
    urls, ids = _write_items(out, sources, people, progress, problems)
    counts = {"items": len(ids), **_write_people(out, people, ids, keep_duplicates, problems)}
    write_text(out / SHOP_YAML, _shop_yaml(made_of, counts))
    if images:
        progress.note(
            f"fetching {len(urls):,} photos from the addresses in your metadata into "
            f"{out / FOLDER}. Stop any time, the same command goes on; --no-images leaves them out"
        )
        fetched = fetch_photos(urls, out, progress, limits=limits, transport=transport)
        counts["photos"] = fetched.get("photos", 0)
        problems.update({f"photos_{k}": v for k, v in fetched.items() if k != "photos"})
    made = MadeShop(out, counts, {k: v for k, v in sorted(problems.items()) if v})
    settings = {"set": name, "photos_fetched": images, "duplicates_kept": keep_duplicates}
    _write_data(made, sources, settings)
    return made


def _claim(out: Path, name: str) -> None:
    """Make the folder; ShopError where that can't be, or another shop would be overwritten."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ShopError(f"{out}: cannot be made a folder: {error.strerror}") from error
    shop = out / SHOP_YAML
    if not shop.is_file():
        return
    try:
        there = yaml.safe_load(shop.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError):
        there = None
    if not isinstance(there, dict) or there.get("name") != name:
        raise ShopError(f"{out}: holds another shop. Name a folder of its own: --out SHOP")


def _write_items(
    out: Path,
    sources: Mapping[Role, tuple[Path, ...]],
    people: People,
    progress: Progress,
    problems: Counter[str],
) -> tuple[tuple[str, ...], set[str]]:
    """Write items.jsonl; the photos' addresses, and the ids that are now in it."""
    urls: dict[str, None] = {}
    ids: set[str] = set()

    def products() -> Iterator[MetadataProduct]:
        for path in sources["metadata"]:
            with progress.task(f"{path.name} (kB)", kilobytes(path)) as advance:
                yield from read_products(path, advance, problems, people.corpus)

    def rows() -> Iterator[Row]:
        for product in products():
            if product.item_id in ids:
                problems["repeated_items"] += 1
            elif not product.has_words:
                problems["items_without_words"] += 1
            else:
                ids.add(product.item_id)
                problems["items_without_photo_address"] += not product.image_url
                if product.image_url:
                    urls[product.image_url] = None
                yield _item(product)

    _write_rows(out / ITEMS, rows())
    if people.corpus is not None:
        problems["items_not_in_metadata"] += len(people.corpus - ids)
    if not ids:
        names = ", ".join(path.name for path in sources["metadata"])
        raise ShopError(
            f"{names}: none of the items that are asked for. Is it the right category?"
        )
    return tuple(urls), ids


def _item(product: MetadataProduct) -> Row:
    return {
        "item_id": product.item_id,
        "title": product.title,
        "brand": product.brand,
        "category": product.category,
        "categories": ", ".join(product.categories),
        "features": ". ".join(product.features),
        "description": product.description,
        "price": product.price,
        "image": photo_name(product.image_url) if product.image_url else "",
    }


def _write_people(
    out: Path, people: People, ids: set[str], keep_duplicates: bool, problems: Counter[str]
) -> dict[str, int]:
    """Write interactions.jsonl, and queries.jsonl where people asked; how many of each."""
    kept = [row for row in people.interactions if row["item_id"] in ids]
    problems["interactions_without_item"] += len(people.interactions) - len(kept)
    _write_rows(out / INTERACTIONS, kept)
    counts = {"users": len({row["user_id"] for row in kept}), "interactions": len(kept)}
    if not people.queries:
        return counts
    asked = [query for query in people.queries if query.target_id in ids]
    problems["queries_without_target"] += len(people.queries) - len(asked)
    problems["repeated_queries"] += sum(query.copies - 1 for query in asked)
    rows = [row for query in asked for row in query_rows(query, each_copy=keep_duplicates)]
    if not rows:
        raise ShopError(
            f"{out}: none of the {len(people.queries)} queries asks for an item of the metadata. "
            "Is it the right category and year?"
        )
    _write_rows(out / QUERIES, rows)
    return {**counts, "queries": len(rows)}


def _write_rows(path: Path, rows: Iterable[Row]) -> None:
    """A JSONL file, whole or not at all, written as the rows come."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            for row in rows:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ShopError(f"{path}: cannot be written: {error.strerror}. Make room") from error
    partial.replace(path)


def _shop_yaml(made_of: PublicSet, counts: Mapping[str, int]) -> str:
    tables: dict[str, object] = {}
    if counts["interactions"]:
        # TAIRA gives no times; the reviews' are days of one calendar
        time = "none" if made_of.has_queries else "global"
        tables["interactions"] = {"file": INTERACTIONS, "time": time}
    if made_of.has_queries:
        tables["queries"] = {"file": QUERIES}
    items = {
        "file": ITEMS,
        "id": "item_id",
        "title": "title",
        "text": ["title", "brand", "categories", "features", "description"],
        "category": "category",
        "image": "image",
    }
    return yaml.safe_dump({"name": made_of.name, "items": items, **tables}, sort_keys=False)


def _write_data(
    made: MadeShop, sources: Mapping[Role, tuple[Path, ...]], settings: Mapping[str, object]
) -> None:
    record = {
        "format": 1,
        **settings,
        "made_from": {p.name: file_hash(p) for paths in sources.values() for p in paths},
        "counts": made.counts,
        "problems": made.problems,
    }
    write_text(made.folder / DATA, json.dumps(record, indent=2) + "\n")
