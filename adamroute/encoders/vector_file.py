"""Vectors computed once a content: rows keyed by the sha256 of what they were made from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from adamroute.stages import digest, written

Array = NDArray[np.float32]


class VectorCache:
    """One file of an encoder's vectors. A damaged or foreign file counts as empty."""

    def __init__(self, folder: Path, kind: str, encoder: str) -> None:
        self._path = folder / f"{kind}-{digest(encoder)}.npz"
        self._rows = read_vectors(self._path)

    def fill(
        self,
        keys: Sequence[str],
        compute: Callable[[list[int]], Array],
        passing: Collection[str] = (),
    ) -> tuple[Array, int]:
        """[N, D] vectors of all keys, and how many were computed now.

        `compute` gets the first place of each key not known yet and returns a vector for each. The
        file then holds exactly these keys: what left the catalogue leaves the cache. `compute` may
        put keys into `passing`: their vectors are returned and not kept.
        """
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        missing = sorted(place for key, place in first.items() if key not in self._rows)
        if missing:
            computed = compute(missing)
            fresh = {keys[place]: row for place, row in zip(missing, computed, strict=True)}
        else:
            fresh = {}
        kept = {key: self._rows[key] for key in first if key in self._rows}
        if fresh or len(kept) != len(self._rows):
            self._rows = kept | fresh
            lasting = {key: row for key, row in self._rows.items() if key not in passing}
            write_vectors(self._path, lasting)
        return np.stack([self._rows[key] for key in keys]), len(missing)


def text_key(text: str) -> str:
    """sha256 of a text, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_vectors(path: Path) -> dict[str, Array]:
    """Vectors by key; none where the file is absent, damaged or foreign."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            names, vectors = arrays["keys"].tolist(), arrays["vectors"]
        return dict(zip(names, vectors, strict=True))
    except (OSError, KeyError, ValueError, BadZipFile, EOFError):
        return {}  # computing again is the repair


def write_vectors(path: Path, rows: Mapping[str, Array]) -> None:
    """Exactly these vectors, whole or not at all; no file where there are none."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    names = sorted(rows)
    with written(path) as stream:
        np.savez(stream, keys=np.array(names), vectors=np.stack([rows[name] for name in names]))
