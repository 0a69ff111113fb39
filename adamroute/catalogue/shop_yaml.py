"""shop.yaml: which file and which column means what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from adamroute.catalogue.listing import TitleTemplate
from adamroute.catalogue.shop import TimeMeaning
from adamroute.config import Section
from adamroute.errors import ShopError

SHOP_YAML = "shop.yaml"
Name = Annotated[str, Field(min_length=1)]


class FileYaml(Section):
    """A section that names a table."""

    file: Name


class ItemsYaml(FileYaml):
    """The items table; values other than `file` and `title` are column names."""

    id: Name
    title: Name  # a column, or a template such as "{name} {type}"
    text: Annotated[tuple[Name, ...], Field(min_length=1)]  # the listing, all the text index reads
    visual: tuple[Name, ...] = ()  # what a photo shows; never in the text index
    category: Name | None = None
    image: Name | None = None  # the column holds a path relative to the shop folder

    @field_validator("title")
    @classmethod
    def _title_can_be_parsed(cls, value: str) -> str:
        TitleTemplate.parse(value)
        return value

    @model_validator(mode="after")
    def _each_column_has_one_role(self) -> Self:
        named = (*self.text, *self.visual)
        twice = sorted({column for column in named if named.count(column) > 1})
        if twice:
            raise ValueError(f"column {twice[0]!r} stands twice in text and visual, wanted once")
        return self

    @property
    def template(self) -> TitleTemplate:
        """The title, parsed."""
        return TitleTemplate.parse(self.title)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the items table must have."""
        optional = tuple(name for name in (self.category, self.image) if name)
        return (self.id, *self.template.columns, *self.text, *self.visual, *optional)


class InteractionsYaml(FileYaml):
    """Columns user_id, item_id, `label` (pos, neg) or `rating`, and perhaps timestamp."""

    time: TimeMeaning = "none"  # are timestamps one clock, an order within a user, or neither
    positive_from: Annotated[float, Field(allow_inf_nan=False)] = 4.0  # least positive rating


class QueriesYaml(FileYaml):
    """Columns query_id, query, target_id, and perhaps user_id, kind and split."""


class ShopYaml(Section):
    """All of shop.yaml; only items are required."""

    name: Name
    items: ItemsYaml
    interactions: InteractionsYaml | None = None
    queries: QueriesYaml | None = None


_SECTIONS: dict[str, type[BaseModel]] = {
    "items": ItemsYaml, "interactions": InteractionsYaml, "queries": QueriesYaml,
}  # fmt: skip


def parse_shop_yaml(path: Path, data: bytes) -> ShopYaml:
    """ShopError names file, key, what stands there and what is wanted."""
    try:
        raw = yaml.safe_load(data.decode("utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ShopError(
            f"{path}: cannot be read as YAML in UTF-8: {error}. Correct the file"
        ) from error
    if not isinstance(raw, dict):
        raise ShopError(
            f"{path}: got {type(raw).__name__}, wanted a mapping with at least name and items"
        )
    try:
        return ShopYaml.model_validate(raw)
    except ValidationError as error:
        raise ShopError(f"{path}: " + "; ".join(map(_explained, error.errors()))) from error


def _explained(error: ErrorDetails) -> str:
    place = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        model = _SECTIONS.get(str(error["loc"][0]), ShopYaml) if place.count(".") else ShopYaml
        return f"{place}: unknown key, wanted one of {', '.join(model.model_fields)}"
    if error["type"] == "missing":
        return f"{place}: missing, add it"
    return f"{place}: {error['msg']}, got {repr(error['input'])[:60]}"
