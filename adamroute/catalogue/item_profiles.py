"""Item profiles that a vision model wrote (stage `profile`), as the index takes them in.

The shop's own visual columns win: an attribute of the same name, or a value that the shop already
states, is left out. Visual attributes join the item's looks, so that attribute filtering drops
them for candidates found by text alone; the others join the profile that a re-ranker reads.
Neither changes the listing that the text branch indexes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.catalogue.shop import Catalogue, Item
from adamroute.config import Config
from adamroute.errors import ArtifactError

PROFILES_FILE = "profiles.jsonl"


class Attribute(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: str
    visual: bool  # a photo shows it


class ProfileRow(BaseModel):
    """One line of profiles.jsonl."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    item_id: str
    source: Literal["llm", "embedded"]  # embedded: the model failed, the shop's columns stand
    failure: str | None = None
    attributes: tuple[Attribute, ...] = ()
    summary: str = ""  # for people; it mixes what is seen and what is read


@dataclass(frozen=True)
class Profiles:
    """The catalogue with the looks that a model saw, and what else it found."""

    catalogue: Catalogue
    details: tuple[str, ...]  # "material: oak. seats: 6", one text an item, "" where none


def read_profiles(config: Config, catalogue: Catalogue) -> Profiles | None:
    """Profiles by the config's language model; None where the config names none.

    ArtifactError where the stage ran on other items.
    """
    if config.profiler.kind == "embedded":
        return None
    folder = config.stage("profiles")
    rows = read_rows(folder / PROFILES_FILE)
    if [row.item_id for row in rows] != [item.item_id for item in catalogue.items]:
        raise ArtifactError(
            f"{folder}: profiles of {len(rows)} items that are not the {len(catalogue)} of the "
            "shop, in order. Run again: adamroute build CONFIG"
        )
    pairs = list(zip(catalogue.items, rows, strict=True))
    return Profiles(
        Catalogue(tuple(with_looks(item, row.attributes) for item, row in pairs)),
        tuple(details(item, row.attributes) for item, row in pairs),
    )


def read_rows(path: Path) -> list[ProfileRow]:
    """All rows; ArtifactError names the line that cannot be used."""
    rows = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                rows.append(ProfileRow.model_validate_json(line))
            except ValidationError as error:
                raise ArtifactError(
                    f"{path}:{number}: not a profile of format 1 ({error.errors()[0]['msg']}). "
                    "Run again: adamroute build CONFIG"
                ) from error
    return rows


def with_looks(item: Item, attributes: Sequence[Attribute]) -> Item:
    """The item with the visual attributes that the shop does not state, after the shop's own."""
    found = {x.name: x.value for x in _new(item, attributes) if x.visual}
    return replace(item, visual={**item.visual, **found}) if found else item


def details(item: Item, attributes: Sequence[Attribute]) -> str:
    """What else is known of the item, as one line without looks."""
    return ". ".join(f"{x.name}: {x.value}" for x in _new(item, attributes) if not x.visual)


def _new(item: Item, attributes: Sequence[Attribute]) -> list[Attribute]:
    names, values = _lower(item.visual), {value.lower() for value in item.visual.values()}
    return [x for x in attributes if x.name.lower() not in names and x.value.lower() not in values]


def _lower(visual: Mapping[str, str]) -> set[str]:
    return {name.lower() for name in visual}
