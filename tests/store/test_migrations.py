"""Tables of any age become today's, once, and nobody else's tables are touched."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from adamroute import store
from adamroute.errors import ArtifactError
from adamroute.store import ProfileStore
from adamroute.store.migrate import REVISION, VERSION_TABLE
from adamroute.store.place import Place
from adamroute.store.tables import META
from adamroute.theta import Theta
from tests.postgres import Postgres
from tests.store.people import user

BEFORE = """
CREATE TABLE users (
    user_id VARCHAR NOT NULL, lends BOOLEAN NOT NULL, preference TEXT NOT NULL,
    e_pref BLOB NOT NULL, history JSON NOT NULL, alpha FLOAT NOT NULL, budget INTEGER NOT NULL,
    round INTEGER NOT NULL, updated FLOAT NOT NULL, PRIMARY KEY (user_id)
)
"""  # what files were before there were revisions


def old_file(path: Path) -> Path:
    ann = user("ann").plain() | {"e_pref": user("ann").e_pref.tobytes()}
    with sqlite3.connect(path) as connection:
        connection.execute(BEFORE)
        connection.execute(
            "INSERT INTO users VALUES (:user_id, :lends, :preference, :e_pref,"
            """ '[["a", true, 0.3333333333333333], ["b", false, 2.5]]',"""
            " :alpha, :budget, 1, :updated)",
            {name: ann[name] for name in ann if name not in ("history", "round")},
        )
    connection.close()
    return path


def test_the_newest_revision_makes_exactly_the_tables_that_the_code_uses(place: Place) -> None:
    ProfileStore(place, "run", read_only=False)
    with place.engine(read_only=True).connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, META) == []
        assert context.get_current_revision() == REVISION


def test_the_revision_in_the_code_is_the_newest_of_the_folder() -> None:
    folder = Path(store.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [REVISION]


def test_opening_again_migrates_nothing_and_keeps_everything(place: Place) -> None:
    first = ProfileStore(place, "run", read_only=False)
    first.start([user("ann")])
    first.commit_round(0, {"ann": Theta(0.5, 20)})
    again = ProfileStore(place, "run", read_only=False)
    assert again.snapshot().hash == first.snapshot().hash


def test_many_may_open_a_new_database_at_once(place: Place) -> None:
    def opened(number: int) -> None:
        ProfileStore(place, f"run {number}", read_only=False).start([user("ann")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(opened, range(4)))
    for number in range(4):
        ProfileStore(place, f"run {number}").check()


def test_a_database_without_tables_says_what_to_run(place: Place) -> None:
    place.engine(read_only=False).connect().close()  # SQLite has no file before
    with pytest.raises(
        ArtifactError, match=r"at revision none, wanted 0001\. Run: adamroute label"
    ):
        ProfileStore(place, "run").snapshot()


@pytest.mark.parametrize("read_only", [True, False])
def test_tables_of_another_revision_are_not_read_by_guess(place: Place, read_only: bool) -> None:
    ProfileStore(place, "run", read_only=False).start([])
    with place.engine(read_only=False).begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(ArtifactError, match="at revision 9999") as caught:
        ProfileStore(place, "run", read_only=read_only).check()
    assert str(caught.value).startswith(str(place))


def test_a_file_from_before_revisions_says_what_to_run_where_it_is_only_read(
    tmp_path: Path,
) -> None:
    path = old_file(tmp_path / "store.sqlite")
    with pytest.raises(ArtifactError, match=f"revision none.*Delete {tmp_path} and run"):
        ProfileStore.file(path).snapshot()


def test_a_file_from_before_revisions_is_adopted_where_it_is_opened_for_writing(
    tmp_path: Path,
) -> None:
    place = Place.file(old_file(tmp_path / "store.sqlite"))
    ProfileStore(place, "labels", read_only=False)
    ann = ProfileStore(place, "labels").snapshot().by_id["ann"]
    assert (ann.history, ann.round) == (user("ann").history, 1)
    assert ann.e_pref.tolist() == user("ann").e_pref.tolist()
    with place.engine(read_only=True).connect() as connection:
        assert not inspect(connection).has_table("users")


def test_the_shops_own_tables_of_such_names_are_left_alone(postgres: Postgres) -> None:
    place = Place.shared(postgres.url(), "test")
    with place.engine(read_only=False).begin() as connection:
        connection.execute(text("CREATE TABLE users (user_id TEXT, email TEXT)"))
        connection.execute(text("INSERT INTO users VALUES ('ann', 'ann@example.org')"))
        connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
    ProfileStore(place, "run", read_only=False).start([user("bob")])
    with place.engine(read_only=True).connect() as connection:
        rows = connection.execute(text("SELECT * FROM users")).all()
        assert [tuple(row) for row in rows] == [("ann", "ann@example.org")]
        assert connection.execute(text("SELECT * FROM alembic_version")).all() == []
