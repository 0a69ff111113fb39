"""The profile store: what is kept of every user between requests and labelling rounds.

A round reads a frozen `Snapshot` and commits at its end, so that labels depend neither on the
order of requests nor on restarts. Served requests and evaluation open the store read-only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    create_engine,
    insert,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from adamroute.errors import ArtifactError
from adamroute.routing.theta import Theta
from adamroute.shop.catalogue import Interaction

_META = MetaData()
_USERS = Table(
    "users",
    _META,
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


@dataclass(frozen=True, eq=False)
class UserRecord:
    """One user as the store holds it."""

    user_id: str
    lends: bool  # may be another user's neighbour; users held out for calibration and test may not
    preference: str  # preference text of the whole history, "" where no wish is known
    e_pref: NDArray[np.float32]  # its unit vector [D]; [0] where no wish is known
    history: tuple[Interaction, ...]
    theta: Theta
    round: int  # labelling round that wrote theta; -1 is the static prior
    updated: float  # timestamp of the latest interaction, in the shop's own time

    def fingerprint(self) -> str:
        """sha256 of everything in the record."""
        state = hashlib.sha256(json.dumps(_plain(self), sort_keys=True).encode())
        state.update(self.e_pref.tobytes())
        return state.hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """All users at one moment, by user id."""

    users: tuple[UserRecord, ...]

    @cached_property
    def by_id(self) -> Mapping[str, UserRecord]:
        """User id to record."""
        return {user.user_id: user for user in self.users}

    @cached_property
    def hash(self) -> str:
        """Names this content, 16 hex digits."""
        state = hashlib.sha256()
        for user in self.users:
            state.update(user.fingerprint().encode())
        return state.hexdigest()[:16]

    def with_thetas(self, thetas: Mapping[str, Theta], round_: int) -> Snapshot:
        """The same users with the thetas that a round wrote; unnamed users keep theirs."""
        return Snapshot(
            tuple(
                replace(u, theta=thetas[u.user_id], round=round_) if u.user_id in thetas else u
                for u in self.users
            )
        )


class ProfileStore(Protocol):
    """Where users' records live: SQLite beside the labels, PostgreSQL behind a cluster."""

    def snapshot(self) -> Snapshot:
        """All records as they stand, ordered by user id."""
        ...

    def commit_round(self, round_: int, thetas: Mapping[str, Theta]) -> None:
        """Write the thetas of one round, all or none. ArtifactError where opened read-only."""
        ...


class SqliteProfileStore:
    """ProfileStore over SQLAlchemy; nothing in it is special to SQLite but the URL."""

    def __init__(self, path: Path, *, read_only: bool = True) -> None:
        if not path.is_file():
            raise ArtifactError(f"{path}: no profile store there. Run: adamroute label CONFIG")
        self._path = path
        self._read_only = read_only
        self._engine = _engine(path, read_only=read_only)

    @classmethod
    def create(cls, path: Path, users: Iterable[UserRecord]) -> Self:
        """A new store, opened for writing; it appears whole or not at all."""
        partial = path.with_name(path.name + ".partial")
        for stale in (partial, partial.with_name(partial.name + "-journal")):
            stale.unlink(missing_ok=True)  # of a run that was killed here
        engine = _engine(partial, read_only=False)
        rows = [_row(user) for user in sorted(users, key=lambda u: u.user_id)]
        _META.create_all(engine)
        with engine.begin() as connection:
            if rows:
                connection.execute(insert(_USERS), rows)
        engine.dispose()
        partial.replace(path)
        return cls(path, read_only=False)

    def snapshot(self) -> Snapshot:
        """All records as they stand, ordered by user id. ArtifactError where unreadable."""
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(select(_USERS)).mappings().all()
        except SQLAlchemyError as error:
            raise ArtifactError(
                f"{self._path}: not a readable profile store ({type(error).__name__}). "
                "Delete it and run: adamroute label CONFIG"
            ) from error
        return Snapshot(tuple(sorted((_record(row) for row in rows), key=lambda u: u.user_id)))

    def commit_round(self, round_: int, thetas: Mapping[str, Theta]) -> None:
        """Write the thetas of one round, all or none. ArtifactError where opened read-only."""
        if self._read_only:
            raise ArtifactError(f"{self._path}: opened read-only, so no theta can be written back")
        with self._engine.begin() as connection:
            for user_id, theta in sorted(thetas.items()):
                values = {"alpha": theta.alpha, "budget": theta.budget, "round": round_}
                where = _USERS.c.user_id == user_id
                connection.execute(update(_USERS).where(where).values(values))


def _engine(path: Path, *, read_only: bool) -> Engine:
    mode = "ro" if read_only else "rwc"
    url = f"sqlite:///file:{quote(str(path.resolve()))}?mode={mode}&uri=true"
    return create_engine(url, poolclass=NullPool)  # no open file left between calls


def _plain(user: UserRecord) -> dict[str, object]:
    """A record as column values, all but e_pref."""
    return {
        "user_id": user.user_id,
        "lends": user.lends,
        "preference": user.preference,
        "history": [[x.item_id, x.positive, x.timestamp] for x in user.history],
        "alpha": user.theta.alpha,
        "budget": user.theta.budget,
        "round": user.round,
        "updated": user.updated,
    }


def _row(user: UserRecord) -> dict[str, object]:
    return {**_plain(user), "e_pref": user.e_pref.astype("<f4").tobytes()}


def _record(row: RowMapping) -> UserRecord:
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
