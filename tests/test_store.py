"""The profile store: what goes in comes out, a round is written whole, readers change nothing."""

from pathlib import Path

import numpy as np
import pytest

from adamroute.errors import ArtifactError
from adamroute.routing.theta import Theta
from adamroute.shop.catalogue import Interaction
from adamroute.store import Snapshot, SqliteProfileStore, UserRecord

STATIC = Theta(0.3, 40)


def user(name: str, *, wish: str = "red lamp", lends: bool = True) -> UserRecord:
    e_pref = np.array([0.6, 0.8] if wish else [], dtype=np.float32)
    history = (Interaction("a", True, 1.0), Interaction("b", False, 2.5))
    return UserRecord(name, lends, wish, e_pref, history, STATIC, -1, 2.5)


def test_a_snapshot_returns_every_field_in_the_order_of_user_ids(tmp_path: Path) -> None:
    users = [user("zoe"), user("ann", wish="", lends=False)]
    read = SqliteProfileStore.create(tmp_path / "s.sqlite", users).snapshot()
    assert [u.user_id for u in read.users] == ["ann", "zoe"]
    assert [u.fingerprint() for u in read.users] == [
        users[1].fingerprint(),
        users[0].fingerprint(),
    ]
    assert read.by_id["zoe"].history == users[0].history
    assert read.by_id["zoe"].e_pref.dtype == np.float32
    assert read.by_id["ann"].e_pref.shape == (0,)


def test_a_round_writes_the_thetas_it_names_and_leaves_the_others(tmp_path: Path) -> None:
    store = SqliteProfileStore.create(tmp_path / "s.sqlite", [user("ann"), user("zoe")])
    store.commit_round(0, {"zoe": Theta(0.9, 80)})
    after = SqliteProfileStore(tmp_path / "s.sqlite").snapshot().by_id
    assert (after["zoe"].theta, after["zoe"].round) == (Theta(0.9, 80), 0)
    assert (after["ann"].theta, after["ann"].round) == (STATIC, -1)


def test_writing_a_round_and_computing_it_give_the_same_snapshot(tmp_path: Path) -> None:
    store = SqliteProfileStore.create(tmp_path / "s.sqlite", [user("ann"), user("zoe")])
    before, thetas = store.snapshot(), {"ann": Theta(0.1, 20)}
    store.commit_round(3, thetas)
    assert store.snapshot().hash == before.with_thetas(thetas, 3).hash != before.hash


def test_the_hash_sees_every_part_of_a_record() -> None:
    plain = Snapshot((user("ann"),)).hash
    assert plain == Snapshot((user("ann"),)).hash
    for other in (user("anna"), user("ann", wish="x"), user("ann", lends=False)):
        assert Snapshot((other,)).hash != plain


def test_a_store_opened_for_reading_refuses_to_write(tmp_path: Path) -> None:
    SqliteProfileStore.create(tmp_path / "s.sqlite", [user("ann")])
    before = (tmp_path / "s.sqlite").read_bytes()
    with pytest.raises(ArtifactError, match="read-only"):
        SqliteProfileStore(tmp_path / "s.sqlite").commit_round(0, {"ann": STATIC})
    assert (tmp_path / "s.sqlite").read_bytes() == before


def test_the_same_users_and_rounds_give_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store = SqliteProfileStore.create(tmp_path / name, [user("zoe"), user("ann")])
        store.commit_round(0, {"ann": Theta(0.5, 20), "zoe": Theta(0.0, 20)})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_what_a_killed_creation_left_behind_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite.partial").write_bytes(b"half a database")
    store = SqliteProfileStore.create(tmp_path / "s.sqlite", [])
    assert store.snapshot().users == ()
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_an_absent_or_broken_store_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute label"):
        SqliteProfileStore(tmp_path / "none.sqlite")
    (tmp_path / "bad.sqlite").write_bytes(b"no database at all, but long enough to be read" * 9)
    with pytest.raises(ArtifactError, match="not a readable profile store"):
        SqliteProfileStore(tmp_path / "bad.sqlite").snapshot()
