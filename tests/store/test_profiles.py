"""The contract of the store, on SQLite and on a real PostgreSQL: what goes in comes out, a round
is written whole and once, runs and writers don't disturb each other, readers change nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy import select, text

from adamroute.catalogue.request import Interaction
from adamroute.errors import ArtifactError, StoreError
from adamroute.store import ProfileStore, UserRecord
from adamroute.store.place import Place
from adamroute.store.tables import THETAS
from adamroute.theta import Theta
from tests.conftest import ROOT
from tests.store.people import LATER, NOON, STATIC, user

RUN = "shop/1"


def begun(place: Place, *users: UserRecord, run: str = RUN, now: datetime = NOON) -> ProfileStore:
    store = ProfileStore(place, run, read_only=False, clock=lambda: now)
    store.start(users)
    return store


def written_at(place: Place) -> list[datetime]:
    """Of every theta, in UTC without saying so, which is all that SQLite keeps."""
    with place.engine(read_only=True).connect() as connection:
        found = connection.execute(select(THETAS.c.written_at)).scalars().all()
    return [when.replace(tzinfo=None) for when in found]


def test_a_snapshot_returns_every_field_in_the_order_of_user_ids(place: Place) -> None:
    users = [user("zoë"), user("Zoe"), user("ann", wish="", lends=False)]
    read = begun(place, *users).snapshot()
    assert [u.user_id for u in read.users] == ["Zoe", "ann", "zoë"]
    for each in users:
        assert read.by_id[each.user_id].fingerprint() == each.fingerprint()
        assert read.by_id[each.user_id].history == each.history
    assert read.by_id["ann"].e_pref.shape == (0,)


def test_a_user_with_no_history_and_one_with_10000_interactions_come_back(place: Place) -> None:
    long = tuple(Interaction(f"item {n}", n % 3 == 0, n / 7) for n in range(10_000))
    users = [replace(user("busy"), history=long), replace(user("new", wish=""), history=())]
    read = begun(place, *users).snapshot().by_id
    assert read["busy"].history == long
    assert read["new"].history == ()


def test_a_round_writes_the_thetas_it_names_and_leaves_the_others(place: Place) -> None:
    begun(place, user("ann"), user("zoe")).commit_round(0, {"zoe": Theta(0.1 + 0.2, 80)})
    after = ProfileStore(place, RUN).snapshot().by_id
    assert (after["zoe"].theta, after["zoe"].round) == (Theta(0.1 + 0.2, 80), 0)
    assert (after["ann"].theta, after["ann"].round) == (STATIC, -1)


def test_writing_a_round_and_computing_it_give_the_same_snapshot(place: Place) -> None:
    store = begun(place, user("ann"), user("zoe"))
    before, thetas = store.snapshot(), {"ann": Theta(0.1, 20)}
    store.commit_round(3, thetas)
    assert store.snapshot().hash == before.with_thetas(thetas, 3).hash != before.hash


def test_every_round_stays_in_the_history_with_the_time_of_its_writing(place: Place) -> None:
    begun(place, user("ann"), user("zoe")).commit_round(0, {"ann": STATIC, "zoe": STATIC})
    later = begun(place, user("ann"), user("zoe"), now=LATER)
    later.commit_round(1, {"ann": Theta(1.0, 20)})
    assert later.rounds() == {0: {"ann": STATIC, "zoe": STATIC}, 1: {"ann": Theta(1.0, 20)}}
    assert sorted(written_at(place)) == [
        NOON.replace(tzinfo=None), NOON.replace(tzinfo=None), LATER.replace(tzinfo=None),
    ]  # fmt: skip


def test_the_time_of_writing_is_no_part_of_a_snapshot(place: Place) -> None:
    hashes = set()
    for run, now in (("one", NOON), ("two", LATER)):
        store = begun(place, user("ann"), run=run, now=now)
        store.commit_round(0, {"ann": Theta(0.5, 20)})
        hashes.add(store.snapshot().hash)
    assert len(hashes) == 1


def test_the_same_round_twice_changes_nothing(place: Place) -> None:
    begun(place, user("ann")).commit_round(0, {"ann": Theta(0.5, 20)})
    begun(place, user("ann"), now=LATER).commit_round(0, {"ann": Theta(0.5, 20)})
    assert written_at(place) == [NOON.replace(tzinfo=None)]


def test_a_round_that_comes_late_leaves_the_later_one_standing(place: Place) -> None:
    store = begun(place, user("ann"))
    store.commit_round(1, {"ann": Theta(0.9, 80)})
    store.commit_round(0, {"ann": Theta(0.1, 20)})
    assert store.snapshot().by_id["ann"].theta == Theta(0.9, 80)
    assert store.rounds() == {0: {"ann": Theta(0.1, 20)}, 1: {"ann": Theta(0.9, 80)}}


def test_a_run_that_begins_again_keeps_its_rounds_unless_its_users_differ(place: Place) -> None:
    store = begun(place, user("ann"))
    store.commit_round(0, {"ann": Theta(0.5, 20)})
    store.start([user("ann")])
    assert store.snapshot().by_id["ann"].round == 0
    store.start([user("ann", wish="blue lamp"), user("zoe")])
    assert [u.round for u in store.snapshot().users] == [-1, -1]
    assert store.rounds() == {}


def test_runs_in_one_database_do_not_see_each_other(place: Place) -> None:
    one, two = begun(place, user("ann"), run="one"), begun(place, user("ann"), run="two")
    one.commit_round(0, {"ann": Theta(0.9, 80)})
    one.start([user("bob")])
    assert [u.user_id for u in one.snapshot().users] == ["bob"]
    assert two.snapshot().by_id["ann"].theta == STATIC


def test_a_round_with_one_user_of_nobody_is_not_written_at_all(place: Place) -> None:
    store = begun(place, user("ann"))
    before = store.snapshot().hash
    with pytest.raises(StoreError, match="round 0, nothing of which was kept"):
        store.commit_round(0, {"ann": Theta(0.9, 80), "nobody": Theta(0.9, 80)})
    assert store.snapshot().hash == before
    assert store.rounds() == {}


def test_an_empty_round_is_no_write(place: Place) -> None:
    store = begun(place, user("ann"))
    store.commit_round(0, {})
    assert store.rounds() == {}


def test_a_store_opened_for_reading_refuses_to_write(place: Place) -> None:
    begun(place, user("ann"))
    reader = ProfileStore(place, RUN)
    with pytest.raises(ArtifactError, match="read-only"):
        reader.commit_round(0, {"ann": STATIC})
    with pytest.raises(ArtifactError, match="read-only"):
        reader.start([])


def test_the_database_itself_refuses_what_a_reader_writes(place: Place) -> None:
    begun(place, user("ann"))
    engine = place.engine(read_only=True)
    with pytest.raises(Exception, match=r"(?i)read-?only"), engine.begin() as connection:
        connection.execute(text("DELETE FROM profile_users"))


def test_a_run_that_is_not_there_says_what_to_run(place: Place) -> None:
    begun(place, user("ann"))
    with pytest.raises(ArtifactError, match=r"knows no run 'other'.*adamroute label"):
        ProfileStore(place, "other").check()
    with pytest.raises(ArtifactError, match="knows no run 'other'"):
        ProfileStore(place, "other", read_only=False).commit_round(0, {"ann": STATIC})
    ProfileStore(place, RUN).check()


WRITER = """
import os, sys
from adamroute.theta import Theta
from adamroute.store import ProfileStore
from adamroute.store.place import Place
from tests.store.people import user
run, names = sys.argv[1], sys.argv[2].split(",")
everybody = [user(f"u{n:02d}") for n in range(40)]
store = ProfileStore(Place.shared(os.environ["URL"], "test"), run, read_only=False)
print("ready", flush=True)
sys.stdin.readline()
store.start(everybody)
for round_ in range(10):
    store.commit_round(round_, {name: Theta(round_ / 10, 20) for name in names})
"""


def test_processes_write_at_the_same_time_and_all_of_it_arrives(place: Place) -> None:
    names = [f"u{n:02d}" for n in range(40)]
    work = [("one", names[:25]), ("one", names[15:]), ("two", names)]
    url = place.url.render_as_string(hide_password=False)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, run, ",".join(mine)], cwd=ROOT, text=True,
            env={"URL": url}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for run, mine in work
    ]  # fmt: skip
    for writer in writers:  # each has opened the database, and made its tables or waited for that
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, said = writer.communicate(timeout=60)
        assert writer.returncode == 0, said
    for run in ("one", "two"):
        store = ProfileStore(place, run)
        assert {(u.theta, u.round) for u in store.snapshot().users} == {(Theta(0.9, 20), 9)}
        assert {n: len(thetas) for n, thetas in store.rounds().items()} == dict.fromkeys(
            range(10), 40
        )
