"""Vectors kept by content, while they are computed and after."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adamroute.encoders import vector_file
from adamroute.encoders.vector_file import Array, VectorCache

KEYS = ["a", "b", "a", "c", "d", "e"]
VALUES = {key: np.full(3, number, np.float32) for number, key in enumerate("abcde")}


class Work:
    """Computes two rows at a time; stops, or lets somebody look, at a step."""

    def __init__(self, folder: Path, stop: int | None = None) -> None:
        self.cache = VectorCache(folder, "text", "encoder")
        self.stop, self.asked = stop, list[str]()

    def fill(self, keys: list[str], *passing: str) -> tuple[Array, int]:
        return self.cache.fill(keys, lambda places: self._parts(keys, places), passing)

    def _parts(self, keys: list[str], places: list[int]) -> Iterator[Array]:
        for step, start in enumerate(range(0, len(places), 2)):
            if step == self.stop:
                raise KeyboardInterrupt
            names = [keys[place] for place in places[start : start + 2]]
            self.asked += names
            yield np.stack([VALUES[name] for name in names])


def expected(keys: list[str]) -> Array:
    return np.stack([VALUES[key] for key in keys])


def test_each_content_is_computed_once_and_what_left_is_forgotten(tmp_path: Path) -> None:
    first, second, third = (Work(tmp_path) for _ in range(3))
    vectors, computed = first.fill(KEYS)
    assert np.array_equal(vectors, expected(KEYS))
    assert (computed, first.asked) == (5, list("abcde"))
    second = Work(tmp_path)
    assert second.fill(["b", "c"])[1] == 0
    third = Work(tmp_path)
    assert third.fill(["a", "b"])[1] == 1
    assert third.asked == ["a"]
    assert len(list(tmp_path.iterdir())) == 1


def test_after_ctrl_c_only_the_rest_is_computed(tmp_path: Path) -> None:
    for stop, asked in ((1, "ab"), (1, "cd"), (None, "e")):
        work = Work(tmp_path, stop)
        if stop is None:
            assert np.array_equal(work.fill(KEYS)[0], expected(KEYS))
        else:
            with pytest.raises(KeyboardInterrupt):
                work.fill(KEYS)
        assert "".join(work.asked) == asked
    assert len(list(tmp_path.iterdir())) == 1  # the pieces are in the file


def test_after_a_kill_the_pieces_before_it_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill lets nobody tidy up: what lies in the folder at that moment is all there is."""
    monkeypatch.setattr(vector_file, "PIECE", 2)
    running, killed = tmp_path / "running", tmp_path / "killed"

    def parts(places: list[int]) -> Iterator[Array]:
        yield expected([KEYS[place] for place in places[:2]])
        yield expected([KEYS[place] for place in places[2:4]])
        shutil.copytree(running, killed)
        yield expected([KEYS[place] for place in places[4:]])

    VectorCache(running, "text", "encoder").fill(KEYS, parts)
    assert [path.name.split(".")[1] for path in sorted(killed.iterdir())] == ["000001", "000002"]
    work = Work(killed)
    assert np.array_equal(work.fill(KEYS)[0], expected(KEYS))
    assert work.asked == ["e"]


def test_a_slow_encoder_keeps_a_piece_as_often_as_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "PIECE_S", 0.0)
    seen = []

    def parts(places: list[int]) -> Iterator[Array]:
        for place in places:
            yield expected([KEYS[place]])
            seen.append(len(list(tmp_path.iterdir())))

    VectorCache(tmp_path, "text", "encoder").fill(KEYS, parts)
    assert seen == [1, 2, 3, 4, 5]


def test_a_damaged_piece_is_computed_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Work(tmp_path, 1).fill(KEYS)
    (piece,) = tmp_path.iterdir()
    piece.write_bytes(piece.read_bytes()[:50])
    work = Work(tmp_path)
    assert np.array_equal(work.fill(KEYS)[0], expected(KEYS))
    assert work.asked == list("abcde")


def test_vectors_that_pass_are_returned_and_not_kept_by_any_piece(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Work(tmp_path, 2).fill(KEYS, "b")
    work = Work(tmp_path)
    assert np.array_equal(work.fill(KEYS, "b")[0], expected(KEYS))
    assert work.asked == ["b", "e"]
    again = Work(tmp_path)
    again.fill(KEYS)
    assert again.asked == ["b"]


def test_what_left_the_catalogue_leaves_with_the_pieces(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Work(tmp_path, 1).fill(KEYS)
    assert Work(tmp_path).fill(["a"])[1] == 0
    work = Work(tmp_path)
    work.fill(["a", "b"])
    assert work.asked == ["b"]
