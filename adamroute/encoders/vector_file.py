"""Vectors computed once a content: rows keyed by the sha256 of what they were made from.

While they are computed they are kept in pieces beside the file, so that a run that was cut, even
by a kill, goes on from the last piece; the file takes the pieces in when all is done.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import read_arrays
from adamroute.stages import digest, written

Array = NDArray[np.float32]
PIECE = 256  # rows
PIECE_S = 20.0  # or sooner, once this long has passed


class VectorCache:
    """One file of an encoder's vectors. A damaged or foreign file counts as empty."""

    def __init__(self, folder: Path, kind: str, encoder: str) -> None:
        self._path = folder / f"{kind}-{digest(encoder)}.npz"
        self._rows = read_vectors(self._path)
        for piece in self._pieces():
            self._rows |= read_vectors(piece)

    def fill(
        self,
        keys: Sequence[str],
        compute: Callable[[list[int]], Iterable[Array]],
        passing: Collection[str] = (),
    ) -> tuple[Array, int]:
        """[N, D] vectors of all keys, and how many were computed now.

        `compute` gets the first place of each key not known yet and gives a vector for each, some
        rows at a time. The file then holds exactly these keys: what left the catalogue leaves the
        cache. `compute` may put keys into `passing` before it gives their vectors: these are
        returned and not kept.
        """
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        missing = sorted(place for key, place in first.items() if key not in self._rows)
        if missing:
            wanted = [keys[place] for place in missing]
            self._rows |= self._computed(wanted, compute(missing), passing)
        if missing or self._pieces() or len(first) != len(self._rows):
            self._rows = {key: self._rows[key] for key in first}
            write_vectors(self._path, _without(self._rows, passing))
            for piece in self._pieces():
                piece.unlink()
        return np.stack([self._rows[key] for key in keys]), len(missing)

    def _computed(
        self, keys: Sequence[str], parts: Iterable[Array], passing: Collection[str]
    ) -> dict[str, Array]:
        """Rows by key, kept in pieces as they come; an error leaves what came before it kept."""
        rows: list[Array] = []
        saved, last = 0, time.monotonic()

        def save() -> None:
            nonlocal saved, last
            piece = dict(zip(keys[saved:], rows[saved:], strict=False))
            write_vectors(self._next_piece(), _without(piece, passing))
            saved, last = len(rows), time.monotonic()

        try:
            for part in parts:
                rows.extend(part)
                if len(rows) - saved >= PIECE or time.monotonic() - last >= PIECE_S:
                    save()
        except BaseException:  # Ctrl-C above all
            save()
            raise
        return dict(zip(keys, rows, strict=True))

    def _pieces(self) -> list[Path]:
        return sorted(self._path.parent.glob(f"{self._path.stem}.*.npz"))

    def _next_piece(self) -> Path:
        names = [piece.name.split(".")[-2] for piece in self._pieces()]
        return self._path.with_suffix(f".{int(max(names, default='0')) + 1:06}.npz")


def _without(rows: Mapping[str, Array], passing: Collection[str]) -> dict[str, Array]:
    return {key: row for key, row in rows.items() if key not in passing}


def text_key(text: str) -> str:
    """sha256 of a text, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_vectors(path: Path) -> dict[str, Array]:
    """Vectors by key; none where the file is absent, damaged or foreign."""
    try:
        arrays = read_arrays(path)
        return dict(zip(arrays["keys"].tolist(), arrays["vectors"], strict=True))
    except (OSError, KeyError, ValueError):
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
