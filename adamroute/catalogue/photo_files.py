"""Photos of a shop: found and hashed by their bytes; decoded only where an index is built.

7,910 photos of 224 x 224 take about 2 s to decode on one core. `Image.verify` would take 0.2 s,
but it lets truncated JPEG files pass, which then fail hours later; so the pixels are decoded, JPEG
at an eighth of its size.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote

from adamroute.catalogue.photo_decoding import open_photo
from adamroute.catalogue.shop import Catalogue, Shop
from adamroute.catalogue.table_files import inside
from adamroute.errors import PhotoDefectError
from adamroute.progress import SILENT, Progress
from adamroute.stages import content_hash

Defect = Literal["missing_photos", "unreadable_photos", "ambiguous_photos"]


@dataclass(frozen=True, slots=True)
class Photo:
    """What became of the photo of one item."""

    path: Path | None  # None where there is a defect, or where the shop has no photos
    defect: Defect | None
    other_name: bool = False  # the table spells it otherwise than the folder does

    @property
    def problems(self) -> tuple[str, ...]:
        """The names to count it under."""
        if self.defect:
            return (self.defect,)
        return ("photos_found_by_other_name",) if self.other_name else ()


class PhotoFolder:
    """Finds photos by the names of a table, exact or as another system would spell them.

    In this order: the name as it is; with slashes for backslashes, percent signs decoded, without
    the `?v=2` of an address, the first of a list; then each of these in another Unicode form; then
    in another case, where only one file fits. Folders are listed only for names not found at once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # resolved
        self._listed: dict[tuple[Path, Callable[[str], str]], dict[str, list[Path]]] = {}

    def find(self, name: str, where: str) -> Photo:
        """One photo; ShopError only where a path leaves the shop folder."""
        if not name:
            return Photo(None, "missing_photos")
        try:
            paths, exact = self._paths(name, where)
            if len(paths) != 1:
                return Photo(None, "ambiguous_photos" if paths else "missing_photos")
            paths[0].open("rb").close()
        except OSError:  # no permission, a name too long
            return Photo(None, "unreadable_photos")
        return Photo(paths[0], None, other_name=not exact)

    def _paths(self, name: str, where: str) -> tuple[list[Path], bool]:
        """The files that the name may mean, and whether it is the very name of one."""
        spellings = list(dict.fromkeys(_spellings(name)))
        for spelling in spellings:
            path = inside(self._folder, spelling, where)
            if path.is_file():
                return [path], spelling == name
        for form in (_composed, _folded):
            for spelling in spellings:
                found = {inside(self._folder, str(p), where) for p in self._alike(spelling, form)}
                if files := sorted(path for path in found if path.is_file()):
                    return files, False
        return [], False

    def _alike(self, spelling: str, form: Callable[[str], str]) -> list[Path]:
        """Paths below the folder whose every part has the same form, relative to it."""
        found = [self._folder]
        for part in PurePosixPath(spelling).parts:
            found = [path for above in found for path in self._names(above, form, form(part))]
        return [path.relative_to(self._folder) for path in found if path != self._folder]

    def _names(self, folder: Path, form: Callable[[str], str], wanted: str) -> list[Path]:
        key = folder, form
        if key not in self._listed:
            names: dict[str, list[Path]] = {}
            for path in folder.iterdir() if folder.is_dir() else ():
                names.setdefault(form(path.name), []).append(path)
            self._listed[key] = names
        return self._listed[key].get(wanted, [])


def _spellings(name: str) -> Iterator[str]:
    """The name, then what it may mean, likelier ones first."""
    whole = (name, name.replace("\\", "/"))
    first = name.replace("\\", "/")
    for sign in ",;|":
        first = first.partition(sign)[0].strip()
    for spelling in (*whole, first):
        short = spelling.partition("?")[0].partition("#")[0]
        yield from (text for text in (spelling, unquote(spelling), short, unquote(short)) if text)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    return _composed(_composed(text).casefold())


def photo_hash(photo: Photo) -> str:
    """sha256 of its bytes, or its defect."""
    return content_hash(photo.path) if photo.path else str(photo.defect)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What opening a photo tells of it, beside its pixels."""

    readable: bool
    counted_as: tuple[str, ...]  # changes, or the names of what is wrong with it


NO_PHOTO = Inspection(True, ())


def inspected(path: Path) -> Inspection:
    """A photo that looks as it did is decoded once a process."""
    try:
        state = path.stat()
    except OSError:
        return Inspection(False, ("unreadable_photos",))
    return _inspected(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _inspected(path: Path, size: int, mtime_ns: int) -> Inspection:  # noqa: ARG001  # the cache's key
    try:
        return Inspection(True, open_photo(path, 1).changes)
    except PhotoDefectError as error:
        return Inspection(False, tuple({"unreadable_photos": 1, error.defect: 1}))


def shown_hash(path: Path) -> str:
    """Name of a photo's pixels as they are shown: of its bytes, and of what was done to them."""
    return "+".join((content_hash(path), *inspected(path).counted_as))


def decoded(shop: Shop, progress: Progress = SILENT) -> Shop:
    """The shop as an index takes it in: each photo that no decoder reads is gone, and counted.

    What was done to photos that are read is counted too, once an item.
    """
    items, problems = [], Counter(shop.problems)
    found = _inspected_once([item.image for item in shop.catalogue.items if item.image], progress)
    for item in shop.catalogue.items:
        photo = found[item.image] if item.image else NO_PHOTO
        items.append(item if photo.readable else replace(item, image=None))
        problems.update(photo.counted_as)
    counted = {name: count for name, count in sorted(problems.items()) if count}
    return replace(shop, catalogue=Catalogue(tuple(items)), problems=counted)


def _inspected_once(paths: Sequence[Path], progress: Progress) -> dict[Path, Inspection]:
    found: dict[Path, Inspection] = {}  # variants often share one
    if paths:
        with progress.task("photos checked", total=len(paths)) as advance:
            for path in paths:
                found[path] = found.get(path) or inspected(path)
                advance(1)
    return found
