"""The profile store: what is kept of every user between requests and labelling rounds.

A round reads a frozen `Snapshot` and commits at its end, so that labels depend neither on the
order of requests nor on restarts, nor on where the store lives. Served requests and evaluation
open it read-only.

records.py   what a user is, as frozen values
tables.py    the same as rows
profiles.py  ProfileStore: one class over SQLAlchemy, for an SQLite file and for PostgreSQL
place.py     a database's address: the engine for it, and its name without the password
shared.py    the database that the config names
migrations/  how older tables become today's (alembic)
"""

from adamroute.store.profiles import ProfileStore
from adamroute.store.records import Snapshot, UserRecord
from adamroute.store.shared import shared_store

__all__ = ["ProfileStore", "Snapshot", "UserRecord", "shared_store"]
