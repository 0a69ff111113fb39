"""Which files each public set needs, and what of them lies in a folder.

Nothing is downloaded: the sets have terms of their own, accepted where people get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adamroute.errors import ShopError

Role = Literal["queries", "users", "reviews", "metadata", "catalogue"]
_PACKED = ("", ".gz")
_LAB = "from the McAuley lab, UC San Diego"


@dataclass(frozen=True)
class WantedFile:
    """One file of a set, under any of its names, each packed (.gz) or not."""

    role: Role
    names: tuple[str, ...]
    what: str  # what it is and who publishes it
    needed: bool = True


@dataclass(frozen=True)
class PublicSet:
    """A data set that can be made a shop folder."""

    name: str
    files: tuple[WantedFile, ...]

    @property
    def has_queries(self) -> bool:
        """Whether people asked for items; else there are only reviews."""
        return any(wanted.role == "queries" for wanted in self.files)


def _taira(name: str, domain: str, metadata: tuple[str, ...], year: str) -> PublicSet:
    title = domain.capitalize()
    return PublicSet(
        name,
        (
            WantedFile(
                "queries", (f"{domain}_query_data1.csv",),
                f"queries of TAIRA on Amazon {title}, from its repository Alcein/TAIRA",
            ),
            WantedFile(
                "users", (f"{domain}_user_profile.csv",),
                f"users of TAIRA on Amazon {title}, from the same place",
            ),
            WantedFile(
                "metadata", metadata,
                f"product metadata of that category, Amazon review data {year} {_LAB}",
            ),
            WantedFile(
                "catalogue", (f"{domain}_metadata.csv", "metadata.csv"),
                "TAIRA's own list of items (column id), if you have it: only these are then kept",
                needed=False,
            ),
        ),
    )  # fmt: skip


def _msr(name: str, category: str) -> PublicSet:
    return PublicSet(
        name,
        (
            WantedFile(
                "reviews", (f"reviews_{category}_5.json", f"{category}_5.json"),
                f"5-core reviews of that category, Amazon review data 2014 or 2018 {_LAB}",
            ),
            WantedFile(
                "metadata", (f"meta_{category}.json",),
                "product metadata of the same category and year",
            ),
        ),
    )  # fmt: skip


_CLOTHING = "meta_Clothing_Shoes_and_Jewelry.json"
_MUSIC = (
    "meta_CDs_and_Vinyl.jsonl", "meta_Digital_Music.jsonl", "meta_CDs_and_Vinyl.json",
    "meta_Digital_Music.json",
)  # fmt: skip
_ALL = (
    _taira("amazon-beauty", "beauty", ("meta_Beauty.json",), "2014"),
    _taira("amazon-clothing", "clothing", (_CLOTHING,), "2014"),
    _taira("amazon-music", "music", _MUSIC, "2023 (its users have the ids of that year)"),
    _msr("msr-video-games", "Video_Games"),
    _msr("msr-baby", "Baby"),
)
PUBLIC_SETS: Mapping[str, PublicSet] = {made.name: made for made in _ALL}


def public_set(name: str) -> PublicSet:
    """The set of that name; ShopError lists the names there are."""
    if name not in PUBLIC_SETS:
        raise ShopError(f"data: {name!r} is no set we know. Give one of {', '.join(PUBLIC_SETS)}")
    return PUBLIC_SETS[name]


def find_sources(made_of: PublicSet, folder: Path) -> Mapping[Role, tuple[Path, ...]]:
    """The files by role; ShopError lists what was found and what is missing.

    Metadata may lie in several files, any other role is one file.
    """
    found = {wanted.role: _there(wanted, folder) for wanted in made_of.files}
    missing = [w for w in made_of.files if w.needed and not found[w.role]]
    if missing:
        lines = [_told(wanted, found[wanted.role]) for wanted in made_of.files]
        raise ShopError(
            f"{made_of.name}: {len(missing)} of {sum(w.needed for w in made_of.files)} files "
            f"missing in {folder}\n" + "\n".join(lines) + "\nNothing is downloaded for you. Put "
            f"them there and run again: adamroute data {made_of.name} --dir {folder}"
        )
    for wanted in made_of.files:
        if wanted.role != "metadata" and len(found[wanted.role]) > 1:  # that may be of two halves
            names = " and ".join(path.name for path in found[wanted.role])
            raise ShopError(f"{made_of.name}: {names} are both in {folder}, one is read. Keep one")
    return found


def _there(wanted: WantedFile, folder: Path) -> tuple[Path, ...]:
    """The files there are; of a packed and an unpacked one of a name, the unpacked."""
    every = ([folder / (name + end) for end in _PACKED] for name in wanted.names)
    first = (next((path for path in paths if path.is_file()), None) for paths in every)
    return tuple(path for path in first if path)


def _told(wanted: WantedFile, found: tuple[Path, ...]) -> str:
    if found:
        return f"  found    {', '.join(path.name for path in found)}"
    name = " or ".join(wanted.names)
    packed = "" if name.endswith(".csv") else ", each packed (.gz) or not"
    return f"  {'missing ' if wanted.needed else 'optional'} {name}{packed}: {wanted.what}"
