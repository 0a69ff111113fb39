"""Finished pieces of an unfinished stage, kept beside its folder so that a killed run goes on.

A piece is written whole under its name (temporary file, then rename) and read back instead of
being made again; pieces of another key are thrown away. Since every piece is a pure function of
the key and its name, a resumed run gives the same bytes as one that was never cut.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.stages import write_text

Arrays = Mapping[str, NDArray[np.generic]]
Record = dict[str, JsonValue]


class Parts:
    """The pieces made under one key."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        marker = folder / "key"
        if not marker.is_file() or marker.read_text(encoding="utf-8") != key:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            write_text(marker, key)

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The named arrays, made now or read from an earlier run."""
        path = self._folder / f"{name}.npz"
        if not path.is_file():
            buffer = io.BytesIO()
            np.savez(buffer, **dict(make()))  # type: ignore[arg-type]  # arrays by name
            _write_bytes(path, buffer.getvalue())
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}

    def records(self, name: str, make: Callable[[], list[Record]]) -> list[Record]:
        """The named records, made now or read from an earlier run."""
        path = self._folder / f"{name}.json"
        if not path.is_file():
            write_text(path, json.dumps(make(), ensure_ascii=False))
        found: list[Record] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def remove(self) -> None:
        """Throw all pieces away: the stage is finished."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _write_bytes(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
