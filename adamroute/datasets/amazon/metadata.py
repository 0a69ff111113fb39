"""Amazon product metadata of 2014, 2018 and 2023 as products.

One reader for all: `imUrl` and `categories` as paths (2014), `imageURLHighRes` and `category`
(2018), `images`, `features` and `parent_asin` (2023, whose user ids TAIRA's Music file has).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adamroute.catalogue.listing import clean
from adamroute.datasets.amazon.lines import ListedLine, read_lines
from adamroute.errors import ShopError
from adamroute.progress import Advance

LEAF = 60  # characters; longer "categories" of 2018 are sentences that fell into the field
PRICE = 40  # characters; longer prices of 2018 are a page's own style sheet
_CODE = re.compile(r"<(script|style)\b.*?(</\1\s*>|$)", re.I | re.S)
_PAGE_CODE = ("getTime(", "function(", "{display:")  # titles of 2018 that are a page's own script
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_PHOTO_SIZES = ("large", "hi_res", "thumb")  # of 2023, the best for 224 px first


@dataclass(frozen=True, slots=True)
class MetadataProduct:
    """One item, its texts without markup; `""` or `()` where the metadata says nothing."""

    item_id: str
    title: str
    brand: str
    categories: tuple[str, ...]  # every name once, in order
    category: str  # the narrowest of the first path
    features: tuple[str, ...]
    description: str
    price: str  # as written: "12.99", "$12.99 - $20.00"
    image_url: str

    @property
    def has_words(self) -> bool:
        """Whether anything is there that a text index could find it by."""
        return bool(self.title or self.description or self.features or self.categories)


def read_products(
    path: Path,
    advance: Advance,
    problems: Counter[str],
    only: Container[str] | None = None,
) -> Iterator[MetadataProduct]:
    """Products in file order, those of `only` where it is given; defects go into `problems`.

    ShopError names a line that cannot be read or has no id.
    """
    for record in read_lines(path, advance, only):
        product = _product(record, problems)
        if only is None or product.item_id in only:
            yield product


def plain(text: str) -> str:
    """One line of text without markup, scripts, entities and characters that no file takes."""
    return clean(_CODE.sub(" ", _UNUSABLE.sub("", text)))


def _product(record: ListedLine, problems: Counter[str]) -> MetadataProduct:
    item_id = record.needed("parent_asin", "asin")
    if not isinstance(item_id, str):
        raise ShopError(f"{record.where}: the id {item_id!r} is no text. Mend that line")
    fields = _Fields(record.fields, problems)
    paths = fields.paths("categories") or fields.paths("category")
    title = fields.title()
    return MetadataProduct(
        item_id=item_id.strip(),
        title=title,
        brand=" ".join(fields.texts("brand") or fields.texts("store")),
        categories=tuple(dict.fromkeys(name for path in paths for name in path)),
        category=next((n for n in reversed(paths[0]) if len(n) <= LEAF), "") if paths else "",
        features=fields.texts("feature") or fields.texts("features"),
        description=" ".join(fields.texts("description")),
        price=fields.price(),
        image_url=fields.image(),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """Fields of one record; what has no known form is left out and counted."""

    record: Mapping[str, object]
    problems: Counter[str]

    def texts(self, name: str) -> tuple[str, ...]:
        """Text, number, or any nesting of lists of them, as texts that are not empty."""
        return tuple(text for text in map(plain, self._leaves(self.record.get(name))) if text)

    def title(self) -> str:
        raw = " ".join(self._leaves(self.record.get("title")))
        if any(code in raw for code in _PAGE_CODE):
            self.problems["titles_of_page_code"] += 1
            return ""
        return plain(raw)

    def price(self) -> str:
        price = " ".join(self.texts("price"))
        if len(price) <= PRICE:
            return price
        self.problems["prices_of_page_code"] += 1
        return ""

    def paths(self, name: str) -> tuple[tuple[str, ...], ...]:
        """A list of paths, or one path; a path is a list of names, the widest first."""
        value = self.record.get(name)
        if not isinstance(value, list) or not any(isinstance(part, list) for part in value):
            value = [value]
        found = (tuple(filter(None, map(plain, self._leaves(path)))) for path in value)
        return tuple(path for path in found if path)

    def image(self) -> str:
        """The address of the first photo, the larger size where there are two."""
        for name in ("imUrl", "imageURLHighRes", "imageURL", "image"):
            for url in self._leaves(self.record.get(name)):
                if url.strip():
                    return url.strip()
        photos = self.record.get("images")
        for photo in photos if isinstance(photos, list) else ():
            sizes = photo if isinstance(photo, dict) else {}
            for address in (sizes.get(size) for size in _PHOTO_SIZES):
                if isinstance(address, str) and address.strip():
                    return address.strip()
        return ""

    def _leaves(self, value: object) -> Iterator[str]:
        if isinstance(value, list | tuple):
            for part in value:
                yield from self._leaves(part)
        elif isinstance(value, str):
            yield value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
        elif value is not None:
            self.problems["fields_of_unknown_form"] += 1
