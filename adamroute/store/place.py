"""Where a store lives: the engine for it, and its name as people may see it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from adamroute.errors import ConfigError

BUSY_S = 60  # how long an SQLite writer waits for another one
CONNECT_S = 10  # how long PostgreSQL may take to answer; `?connect_timeout=` in the URL wins
AGAIN = "See that the database is up, then run the same command again: it goes on where it was"
NO_FILE = "See that its folder is there, then run: adamroute label CONFIG"
WANTED = "wanted postgresql+psycopg://USER:PASSWORD@HOST/DATABASE or sqlite:////ABSOLUTE/PATH"


@dataclass(frozen=True)
class Place:
    """A database. Its `str` has no password."""

    url: URL = field(repr=False)
    name: str
    when_away: str  # what helps where it cannot be reached or read
    when_stale: str  # what helps where it holds something else than wanted

    @classmethod
    def file(cls, path: Path) -> Self:
        """The SQLite file beside the labels."""
        url = URL.create("sqlite", database=str(path.resolve()))
        remedy = f"Delete {path.parent} and run: adamroute label CONFIG"
        return cls(url, str(path), remedy, remedy)

    @classmethod
    def shared(cls, url: str, source: str) -> Self:
        """A database that several runs share; `source` says where the URL came from.

        ConfigError names the source and never the URL, which may hold a password even where it
        cannot be read.
        """
        try:
            parsed = make_url(url)
            known = parsed.drivername in ("sqlite", "postgresql+psycopg")
        except (ArgumentError, ValueError):
            known = False
        if not known or not parsed.database:
            raise ConfigError(f"{source}: not a database URL we know; {WANTED}") from None
        if parsed.drivername == "sqlite" and not Path(parsed.database).is_absolute():
            raise ConfigError(f"{source}: a relative path, and servers run elsewhere; {WANTED}")
        name = parsed.set(query={}).render_as_string(hide_password=True)
        away = NO_FILE if parsed.drivername == "sqlite" else AGAIN
        return cls(parsed, name, away, "Run: adamroute label CONFIG")

    def __str__(self) -> str:
        return self.name

    def engine(self, *, read_only: bool) -> Engine:
        """Connections are closed after each use: the store is asked once a round or a start.

        Errors hide their parameters, which would print users' histories.
        """
        if self.url.drivername == "sqlite":
            return _sqlite(Path(str(self.url.database)), read_only=read_only)
        wait = {} if "connect_timeout" in self.url.query else {"connect_timeout": CONNECT_S}
        engine = create_engine(
            self.url, poolclass=NullPool, hide_parameters=True, connect_args=wait
        )
        return engine.execution_options(postgresql_readonly=True) if read_only else engine

    def reason(self, error: SQLAlchemyError) -> str:
        """What the driver says, in one line without the password."""
        cause = getattr(error, "orig", None) or error
        line = f"{type(cause).__name__}: {str(cause).strip()}".splitlines()[0].rstrip(": ")
        return line.replace(self.url.password, "***") if self.url.password else line


def _sqlite(path: Path, *, read_only: bool) -> Engine:
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"

    def connect() -> sqlite3.Connection:  # in a URL of SQLAlchemy's, `?` would end the path
        return sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

    # The driver would begin a transaction late, and none at all around CREATE TABLE. A writer
    # takes the lock at once: one that reads first could not wait for it later.
    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine
