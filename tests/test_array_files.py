"""Arrays in files: whole, or one kind of error whatever is wrong with the bytes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.array_files import mapped_array, read_arrays


def stored(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "npz":
        np.savez(out, mean=np.arange(3.0), names=np.array(["a", "b"]))
    else:
        np.save(out, np.arange(6, dtype=np.float32).reshape(3, 2))
    return out.getvalue()


def read(path: Path, data: bytes) -> object:
    path.write_bytes(data)
    return read_arrays(path) if path.suffix == ".npz" else mapped_array(path)


def test_arrays_come_back_by_name_and_a_mapped_one_is_read_only(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(stored("npz"))
    arrays = read_arrays(path)
    assert (arrays["mean"].tolist(), arrays["names"].tolist()) == ([0.0, 1.0, 2.0], ["a", "b"])
    (tmp_path / "a.npy").write_bytes(stored("npy"))
    mapped = mapped_array(tmp_path / "a.npy")
    assert mapped.tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_no_file_is_an_error_of_the_system_and_pickles_are_refused(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"a.{kind}"
    with pytest.raises(FileNotFoundError):
        read_arrays(path) if kind == "npz" else mapped_array(path)
    out = io.BytesIO()
    things = np.array([{}], dtype=object)
    np.savez(out, things=things) if kind == "npz" else np.save(out, things)
    with pytest.raises(ValueError, match="damaged"):
        read(path, out.getvalue())


@pytest.mark.parametrize("kind", ["npz", "npy"])
@given(st.data())
def test_damage_is_a_value_error_or_not_seen(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    whole = stored(kind)
    path = tmp_path_factory.getbasetemp() / f"damaged.{kind}"
    left = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match=r"^damaged: \w+: "):
        read(path, whole[:left])
    flipped = bytearray(whole)
    flipped[left] ^= data.draw(st.integers(1, 255))
    try:
        read(path, bytes(flipped))
    except ValueError as error:
        assert str(error).startswith("damaged: ")  # noqa: PT017  # what no check sums may pass
