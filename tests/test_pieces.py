"""Finished pieces survive a kill, and only under their own key."""

from pathlib import Path

import numpy as np
import pytest

from adamroute.stages import Arrays, Pieces, Record


def test_a_piece_is_made_once_and_read_afterwards(tmp_path: Path) -> None:
    made: list[str] = []

    def arrays() -> Arrays:
        made.append("arrays")
        return {"x": np.array([1.5, 2.5], dtype=np.float32), "n": np.array([7])}

    def records() -> list[Record]:
        made.append("records")
        return [{"a": 0.1, "b": ["ü", None]}]

    for _ in range(2):
        pieces = Pieces(tmp_path / "p", "key")
        found = pieces.arrays("one", arrays)
        assert found["x"].tolist() == [1.5, 2.5]
        assert found["x"].dtype == np.float32
        assert pieces.records("two", records) == [{"a": 0.1, "b": ["ü", None]}]
    assert made == ["arrays", "records"]


def test_pieces_of_another_key_are_thrown_away(tmp_path: Path) -> None:
    Pieces(tmp_path / "p", "old").records("one", lambda: [{"a": 1}])
    assert Pieces(tmp_path / "p", "new").records("one", lambda: [{"a": 2}]) == [{"a": 2}]


def test_a_piece_cut_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    def cut() -> list[Record]:
        raise KeyboardInterrupt

    pieces = Pieces(tmp_path / "p", "key")
    with pytest.raises(KeyboardInterrupt):
        pieces.records("one", cut)
    (tmp_path / "p" / "one.json.partial").write_text('[{"a"', encoding="utf-8")
    assert Pieces(tmp_path / "p", "key").records("one", lambda: [{"a": 3}]) == [{"a": 3}]


@pytest.mark.parametrize("left", [b"", b"PK", b"\x93NUMPY"])
def test_a_damaged_piece_is_made_again(tmp_path: Path, left: bytes) -> None:
    for name in ("one.npz", "two.json"):
        pieces = Pieces(tmp_path / "p", "key")
        pieces.arrays("one", lambda: {"x": np.ones(2)})
        pieces.records("two", lambda: [{"a": 1}])
        (tmp_path / "p" / name).write_bytes(left)
        again = Pieces(tmp_path / "p", "key")
        assert again.arrays("one", lambda: {"x": np.ones(2)})["x"].tolist() == [1.0, 1.0]
        assert again.records("two", lambda: [{"a": 1}]) == [{"a": 1}]


def test_removing_leaves_no_folder(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path / "p", "key")
    pieces.remove()
    assert not (tmp_path / "p").exists()
