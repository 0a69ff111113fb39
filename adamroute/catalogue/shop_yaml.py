"""shop.yaml: which file and which column means what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from adamroute.catalogue.left_out import OnBadRow
from adamroute.catalogue.listing import TitleTemplate
from adamroute.catalogue.shop import TimeMeaning
from adamroute.catalogue.table_form import TableForm
from adamroute.catalogue.times import check_format
from adamroute.config import Section
from adamroute.errors import ShopError, shown

SHOP_YAML = "shop.yaml"
Name = Annotated[str, Field(min_length=1)]


class FileYaml(Section):
    """A section that names a table: a file, or a folder of parts; what is None the file tells."""

    file: Name
    encoding: Name | None = None  # of CSV and JSONL, any that Python knows
    delimiter: Name | None = None  # of CSV, one character or "tab"
    decimal: Literal[".", ","] | None = None
    on_bad_row: OnBadRow = "stop"  # skip: leave it out and name it, up to 5 % of the rows

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                "a".encode(value)
            except (LookupError, ValueError) as error:  # UnicodeError is a ValueError
                raise ValueError(
                    "Python knows no such encoding; wanted one like cp1252"
                ) from error
        return value

    @field_validator("delimiter")
    @classmethod
    def _delimiter_is_one_character(cls, value: str | None) -> str | None:
        mark = "\t" if value in ("tab", r"\t") else value
        if mark is not None and (len(mark) != 1 or mark in '"\r\n\0' or mark.isalnum()):
            raise ValueError('wanted one character such as ";", or tab')
        return mark

    def form(self, section: str) -> TableForm:
        """How the table is written; `section` is the name of this one."""
        return TableForm(section, self.encoding, self.delimiter, self.decimal, self.on_bad_row)


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
    timestamp_format: Name | None = None  # of strptime; None: ISO 8601, or seconds since 1970
    # least positive rating; None: four fifths of the scale that the ratings show
    positive_from: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @field_validator("timestamp_format")
    @classmethod
    def _format_tells_the_day(cls, value: str | None) -> str | None:
        if value is not None:
            check_format(value)
        return value


class QueriesYaml(FileYaml):
    """Columns query_id, query, target_id, and perhaps user_id, kind and split."""


class JudgedYaml(FileYaml):
    """Judgements in one of three forms: grades, TREC qrels with topics, or a click log."""

    topics: Name | None = None  # of qrels: a line QID<TAB>QUERY for each qid


class ShopYaml(Section):
    """All of shop.yaml; only items are required."""

    name: Name
    items: ItemsYaml
    interactions: InteractionsYaml | None = None
    queries: QueriesYaml | None = None
    judged: JudgedYaml | None = None
    on_bad_row: OnBadRow = "stop"  # of every section that does not say otherwise

    @model_validator(mode="before")
    @classmethod
    def _sections_follow(cls, raw: object) -> object:
        if not isinstance(raw, dict) or "on_bad_row" not in raw:
            return raw
        rule = {"on_bad_row": raw["on_bad_row"]}
        sections = {name: raw[name] for name in _SECTIONS if isinstance(raw.get(name), dict)}
        return {**raw, **{name: rule | section for name, section in sections.items()}}


_SECTIONS: dict[str, type[BaseModel]] = {
    "items": ItemsYaml, "interactions": InteractionsYaml, "queries": QueriesYaml,
    "judged": JudgedYaml,
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
    return f"{place}: {error['msg']}, got {shown(error['input'])}"
