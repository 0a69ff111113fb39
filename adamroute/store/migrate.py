"""Tables of any age become today's (alembic), under a lock: many may open a new database at once.

The version table and the tables have names of their own, so a database may hold others' too.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from adamroute.errors import ArtifactError
from adamroute.store.place import Place

REVISION = "0001"  # newest of migrations/versions
VERSION_TABLE = "profile_version"
_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0xADA3  # any number that other users of the database don't lock


def revision(connection: Connection) -> str:
    """Of the tables that are there; `none` where there are none, or only those from before."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return "none"
    return str(connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}")))


def upgrade(connection: Connection, place: Place) -> None:
    """Bring the tables to REVISION. ArtifactError where a newer adamroute made them."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found = revision(connection)
    if found == REVISION:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise ArtifactError(
            f"{place}: its tables are at revision {found}, the newest known here is "
            f"{REVISION}. Update adamroute"
        ) from error
