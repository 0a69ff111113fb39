"""The file beside the labels: whole or not at all, and the same bytes for the same users."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.errors import ArtifactError, StoreError
from adamroute.store import ProfileStore
from adamroute.theta import Theta
from tests.store.people import STATIC, user


def test_the_same_users_and_rounds_give_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store = ProfileStore.create_file(tmp_path / name, [user("zoe"), user("ann")])
        store.commit_round(0, {"ann": Theta(0.5, 20), "zoe": Theta(0.0, 20)})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_reader_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    ProfileStore.create_file(tmp_path / "s.sqlite", [user("ann")])
    before = (tmp_path / "s.sqlite").read_bytes()
    reader = ProfileStore.file(tmp_path / "s.sqlite")
    assert reader.snapshot().by_id["ann"].theta == STATIC
    with pytest.raises(ArtifactError, match="read-only"):
        reader.commit_round(0, {"ann": STATIC})
    assert (tmp_path / "s.sqlite").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_what_a_killed_creation_left_behind_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite.partial").write_bytes(b"half a database")
    store = ProfileStore.create_file(tmp_path / "s.sqlite", [])
    assert store.snapshot().users == ()
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_an_absent_or_broken_store_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute label"):
        ProfileStore.file(tmp_path / "none.sqlite")
    (tmp_path / "bad.sqlite").write_bytes(b"no database at all, but long enough to be read" * 9)
    with pytest.raises(StoreError, match=r"file is not a database\).*adamroute label"):
        ProfileStore.file(tmp_path / "bad.sqlite").snapshot()
