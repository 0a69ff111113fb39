"""The store's tables as they stand at the newest revision, and records as their rows.

`run` keeps the labellings that share a database apart; a file beside its labels holds one run.
The names begin with `profile`, since a database may hold a shop's own tables too. A change here
needs a revision in migrations/versions: a test compares the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
)

from adamroute.catalogue.request import Interaction
from adamroute.store.records import UserRecord
from adamroute.theta import Theta

META = MetaData()
RUNS = Table(
    "profile_runs",
    META,
    Column("run", String, primary_key=True),
    Column("first", String, nullable=False),  # hash of the snapshot that round 0 read
)
USERS = Table(
    "profile_users",
    META,
    Column("run", String, ForeignKey("profile_runs.run", ondelete="CASCADE"), primary_key=True),
    Column("user_id", String, primary_key=True),
    Column("lends", Boolean, nullable=False),
    Column("preference", Text, nullable=False),
    Column("e_pref", LargeBinary, nullable=False),  # little-endian float32
    Column("history", JSON, nullable=False),  # [[item_id, positive, timestamp], ...]
    Column("alpha", Float, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("updated", Float, nullable=False),
)
THETAS = Table(  # every theta that a round wrote; `profile_users` has the latest
    "profile_thetas",
    META,
    Column("run", String, primary_key=True),
    Column("user_id", String, primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("alpha", Float, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("written_at", DateTime(timezone=True)),  # UTC; null in a file, whose bytes are hashed
    ForeignKeyConstraint(
        ["run", "user_id"], ["profile_users.run", "profile_users.user_id"], ondelete="CASCADE"
    ),
)


def row_of(run: str, user: UserRecord) -> dict[str, Any]:
    """A record as a row of USERS."""
    return {"run": run, **user.plain(), "e_pref": user.e_pref.astype("<f4").tobytes()}


def record_of(row: RowMapping) -> UserRecord:
    """A row of USERS as a record."""
    return UserRecord(
        user_id=row["user_id"],
        lends=row["lends"],
        preference=row["preference"],
        e_pref=np.frombuffer(row["e_pref"], dtype="<f4").astype(np.float32),
        history=tuple(Interaction(i, bool(p), float(t)) for i, p, t in row["history"]),
        theta=Theta(row["alpha"], row["budget"]),
        round=row["round"],
        updated=row["updated"],
    )
