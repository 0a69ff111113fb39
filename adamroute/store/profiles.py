"""ProfileStore: users' records and the thetas of each round, in SQLite or PostgreSQL.

What is written is written in one transaction: the users that a run starts with, or one round.
Both may be repeated after a crash, and processes may write at the same time. A million users are
more than this is made for: a snapshot is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Table, bindparam, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from adamroute.errors import ArtifactError, StoreError
from adamroute.store.migrate import REVISION, revision, upgrade
from adamroute.store.place import Place
from adamroute.store.records import Snapshot, UserRecord
from adamroute.store.tables import RUNS, THETAS, USERS, record_of, row_of
from adamroute.theta import Theta

LABELS_RUN = "labels"  # the one run of a file beside its labels

Clock = Callable[[], datetime]
Row = dict[str, object]


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class ProfileStore:
    """One run's users. Opening for writing brings the tables up to date."""

    def __init__(
        self, place: Place, run: str, *, read_only: bool = True, clock: Clock | None = utc_now
    ) -> None:
        self._place = place
        self._run = run
        self._read_only = read_only
        self._clock = clock
        try:
            self._engine = place.engine(read_only=read_only)
        except ImportError as error:
            raise StoreError(f"{place}: needs psycopg. pip install 'psycopg[binary]'") from error
        if not read_only:
            with self._transaction("preparing its tables") as connection:
                upgrade(connection, place)

    def __str__(self) -> str:
        return str(self._place)

    @classmethod
    def file(cls, path: Path) -> Self:
        """The store beside finished labels, for reading."""
        if not path.is_file():
            raise ArtifactError(f"{path}: no profile store there. Run: adamroute label CONFIG")
        return cls(Place.file(path), LABELS_RUN)

    @classmethod
    def create_file(cls, path: Path, users: Iterable[UserRecord]) -> Self:
        """A new file, opened for writing; it appears whole or not at all.

        The same users and rounds give the same bytes: no wall clock enters.
        """
        partial = path.with_name(path.name + ".partial")
        for stale in (partial, partial.with_name(partial.name + "-journal")):
            stale.unlink(missing_ok=True)  # of a run that was killed here
        cls(Place.file(partial), LABELS_RUN, read_only=False, clock=None).start(users)
        partial.replace(path)
        return cls(Place.file(path), LABELS_RUN, read_only=False, clock=None)

    def start(self, users: Iterable[UserRecord]) -> None:
        """The users that round 0 reads. Where the run began with exactly these, nothing changes;
        where it began with others, they and their rounds are replaced."""
        self._must_write()
        first = Snapshot(tuple(sorted(users, key=lambda u: u.user_id)))
        with self._transaction("writing its users, none of which was kept") as connection:
            begin = _upsert(connection, RUNS).values(run=self._run, first=first.hash)
            if connection.execute(begin.returning(RUNS.c.run)).first() is None:
                return
            connection.execute(delete(USERS).where(USERS.c.run == self._run))
            if first.users:
                connection.execute(insert(USERS), [row_of(self._run, u) for u in first.users])

    def commit_round(self, round_: int, thetas: Mapping[str, Theta]) -> None:
        """Write the thetas of one round, all or none. A round that comes twice changes nothing,
        and one that comes late leaves the thetas of later rounds standing.

        ArtifactError where opened read-only; StoreError where a user is none of the run's.
        """
        self._must_write()
        if not thetas:
            return
        now = self._clock() if self._clock else None
        rows: list[Row] = [  # by user id: writers that meet wait for each other in one order
            {"user_id": user_id, "round": round_, "alpha": theta.alpha, "budget": theta.budget}
            for user_id, theta in sorted(thetas.items())
        ]
        latest = (
            update(USERS)
            .where(USERS.c.run == self._run, USERS.c.user_id == bindparam("whose"))
            .where(USERS.c.round <= round_)
            .values({name: bindparam(f"new_{name}") for name in ("round", "alpha", "budget")})
        )
        with self._transaction(f"writing round {round_}, nothing of which was kept") as connection:
            # Shared with other rounds; only who replaces the run's users has to wait.
            self._must_know_run(connection, lock=True)
            kept = [{"run": self._run, "written_at": now, **row} for row in rows]
            connection.execute(_upsert(connection, THETAS), kept)
            connection.execute(latest, [_bound(row) for row in rows])

    def snapshot(self) -> Snapshot:
        """All records as they stand, ordered by user id."""
        query = select(USERS).where(USERS.c.run == self._run)
        with self._reading() as connection:
            users = [record_of(row) for row in connection.execute(query).mappings()]
        return Snapshot(tuple(sorted(users, key=lambda u: u.user_id)))

    def rounds(self) -> dict[int, dict[str, Theta]]:
        """What each round wrote, in order."""
        columns = (THETAS.c.round, THETAS.c.user_id, THETAS.c.alpha, THETAS.c.budget)
        query = select(*columns).where(THETAS.c.run == self._run).order_by(THETAS.c.round)
        found: dict[int, dict[str, Theta]] = {}
        with self._reading() as connection:
            for round_, user_id, alpha, budget in connection.execute(query):
                found.setdefault(round_, {})[user_id] = Theta(alpha, budget)
        return found

    def check(self) -> None:
        """ArtifactError where the database is away, or out of date, or has no such run."""
        with self._reading():
            pass

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._transaction("reading it") as connection:
            found = revision(connection)
            if found != REVISION:
                raise ArtifactError(
                    f"{self._place}: its tables are at revision {found}, wanted {REVISION}. "
                    f"{self._place.when_stale}"
                )
            self._must_know_run(connection)
            yield connection

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(
                f"{self._place}: the profile store failed while {doing} "
                f"({self._place.reason(error)}). {self._place.when_away}"
            ) from error

    def _must_know_run(self, connection: Connection, *, lock: bool = False) -> None:
        query = select(RUNS.c.run).where(RUNS.c.run == self._run)
        if connection.scalar(query.with_for_update(read=True) if lock else query) is None:
            raise ArtifactError(
                f"{self._place}: knows no run '{self._run}'. {self._place.when_stale}"
            )

    def _must_write(self) -> None:
        if self._read_only:
            raise ArtifactError(f"{self._place}: opened read-only, so nothing can be written")


def _upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that overwrites the row of the same key, where a value that counts differs."""
    new = sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
    rest = [column for column in table.columns if not column.primary_key]
    differs = or_(*(column != new.excluded[column.name] for column in rest if not column.nullable))
    return new.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={column.name: new.excluded[column.name] for column in rest},
        where=differs,
    )


def _bound(row: Row) -> Row:
    """Under names that are no column's, which an UPDATE would take for its own."""
    return {"whose" if name == "user_id" else f"new_{name}": row[name] for name in row}
