"""Collaborative knowledge: the users nearest to one, their thetas and what they liked (C_u).

Only users who lend take part (store.UserRecord): nothing of a user held out for calibration or
test reaches another user's answer. u itself is never among its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adamroute.routing.theta import Theta
from adamroute.shop.catalogue import Interaction, TimeMeaning
from adamroute.store import Snapshot, UserRecord


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of the K_c users nearest to u."""

    user_id: str
    similarity: float  # cosine of the two e_pref
    theta: Theta
    history: tuple[Interaction, ...]


@dataclass(frozen=True)
class Neighbourhood:
    """Finds N_u in one snapshot of the store."""

    snapshot: Snapshot
    size: int  # K_c

    def nearest(self, e_pref: NDArray[np.float32], user_id: str | None) -> tuple[Neighbour, ...]:
        """N_u, nearest first, ties by user id; empty where e_pref is (no wish is known)."""
        users, vectors = self._pool
        if not self.size or not len(e_pref) or not users:
            return ()
        similarity = vectors @ e_pref.astype(np.float64)
        order = np.argsort(-similarity, kind="stable")[: self.size + 1]
        found = [row for row in order.tolist() if users[row].user_id != user_id]
        return tuple(_neighbour(users[r], float(similarity[r])) for r in found[: self.size])

    @cached_property
    def _pool(self) -> tuple[tuple[UserRecord, ...], NDArray[np.float64]]:
        users = tuple(u for u in self.snapshot.users if u.lends and len(u.e_pref))
        if not users:
            return users, np.empty((0, 0))
        return users, np.stack([u.e_pref for u in users]).astype(np.float64)


def _neighbour(user: UserRecord, similarity: float) -> Neighbour:
    return Neighbour(user.user_id, similarity, user.theta, user.history)


def liked_rows(
    neighbours: Sequence[Neighbour],
    row_of: Mapping[str, int],
    *,
    time: TimeMeaning,
    history: Sequence[Interaction],
) -> tuple[int, ...]:
    """Rows of the neighbours' positive items, nearest neighbour first, each once.

    `time` is the shop's: only where its timestamps are one clock for all users are interactions
    later than the last one of `history` (the request's own user) cut. Items that left the
    catalogue are skipped.
    """
    now = max((x.timestamp for x in history), default=np.inf) if time == "global" else np.inf
    liked = (
        x.item_id
        for neighbour in neighbours
        for x in neighbour.history
        if x.positive and x.timestamp <= now
    )
    return tuple(dict.fromkeys(row_of[item] for item in liked if item in row_of))
