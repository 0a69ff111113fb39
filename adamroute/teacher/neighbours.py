"""Collaborative knowledge: the users nearest to one, their thetas and what they liked (C_u).

Only users who lend take part (store.UserRecord): nothing of a user held out for calibration or
test reaches another user's answer. u itself is never among its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import TimeMeaning
from adamroute.retrieval.branch_index import MARGIN
from adamroute.store import Snapshot, UserRecord
from adamroute.theta import Theta


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of the K_c users nearest to u."""

    user_id: str
    similarity: float  # cosine of the two e_pref
    theta: Theta
    history: tuple[Interaction, ...]


@dataclass(frozen=True)
class Lenders:
    """The users of one snapshot who lend, by their row of the index."""

    users: Mapping[int, UserRecord]
    index: Any  # FAISS, inner product
    only: Any  # search parameters that leave all other rows out

    def nearest(
        self, e_pref: NDArray[np.float32], count: int
    ) -> tuple[list[UserRecord], NDArray[np.float32]]:
        """The `count` nearest and their float32 cosines, falling."""
        cosines, rows = self.index.search(e_pref[None], count, params=self.only)
        return [self.users[row] for row in rows[0].tolist()], cosines[0]


class WishIndex:
    """Every user's e_pref in one FAISS index, from snapshot to snapshot.

    A changed vector is a new row and no row ever changes, so what was handed out stays right.
    The index is made anew once most of its rows are out of date.
    """

    def __init__(self) -> None:
        import faiss

        self._faiss: Any = faiss
        self._index: Any = None  # as wide as the first vector
        self._latest: dict[str, tuple[int, NDArray[np.float32]]] = {}  # row and e_pref, by user

    def __len__(self) -> int:
        return 0 if self._index is None else int(self._index.ntotal)

    def lenders(self, snapshot: Snapshot) -> Lenders:
        """Those of the snapshot; only wishes that are new or changed are indexed."""
        users = [user for user in snapshot.users if user.lends and len(user.e_pref)]
        if len(self) > 2 * len(users):
            self._index, self._latest = None, {}
        self._add([user for user in users if not self._holds(user)])
        rows = [self._latest[user.user_id][0] for user in users]
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[rows] = True
        bits = self._faiss.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))
        only = self._faiss.SearchParameters(sel=bits)
        return Lenders(dict(zip(rows, users, strict=True)), self._index, only)

    def _add(self, users: Sequence[UserRecord]) -> None:
        if not users:
            return
        vectors = np.stack([user.e_pref for user in users])
        if self._index is None:
            self._index = self._faiss.IndexFlatIP(vectors.shape[1])
        for row, user in enumerate(users, start=len(self)):
            self._latest[user.user_id] = row, user.e_pref
        self._index.add(vectors)

    def _holds(self, user: UserRecord) -> bool:
        if user.user_id not in self._latest:
            return False
        held = self._latest[user.user_id][1]
        return held is user.e_pref or np.array_equal(held, user.e_pref)


class Neighbourhood:
    """Finds N_u in one snapshot of the store.

    FAISS proposes in float32; the float64 cosine decides, and the user id where that ties, so
    the order is that of a comparison with every user.
    """

    def __init__(self, snapshot: Snapshot, size: int, wishes: WishIndex | None = None) -> None:
        """`size` is K_c. With the `wishes` of an earlier snapshot little is left to index."""
        self._size = size
        self._lenders = (WishIndex() if wishes is None else wishes).lenders(snapshot)

    def nearest(self, e_pref: NDArray[np.float32], user_id: str | None) -> tuple[Neighbour, ...]:
        """N_u, nearest first, ties by user id; empty where e_pref is (no wish is known)."""
        if not self._size or not len(e_pref) or not self._lenders.users:
            return ()
        near = self._proposed(e_pref)
        vectors = np.stack([user.e_pref for user in near]).astype(np.float64)
        cosines = np.vecdot(vectors, e_pref.astype(np.float64)).tolist()
        found = (
            Neighbour(user.user_id, cosine, user.theta, user.history)
            for user, cosine in zip(near, cosines, strict=True)
            if user.user_id != user_id
        )
        return tuple(sorted(found, key=lambda n: (-n.similarity, n.user_id))[: self._size])

    def _proposed(self, e_pref: NDArray[np.float32]) -> list[UserRecord]:
        """The nearest, one more since u may be among them, and all that float32 cannot tell from
        the last of these."""
        most = len(self._lenders.users)
        count = min(self._size + 1, most)
        wanted = count + 16
        while True:
            wanted = min(wanted, most)
            users, cosines = self._lenders.nearest(e_pref, wanted)
            floor = cosines[count - 1] - MARGIN
            if wanted == most or cosines[-1] < floor:
                return users[: int((cosines >= floor).sum())]
            wanted *= 2


def known_then(
    neighbours: Iterable[Neighbour], *, time: TimeMeaning, history: Sequence[Interaction]
) -> tuple[Neighbour, ...]:
    """The neighbours as they were at the last interaction of `history` (the request's own user).

    `time` is the shop's: only where its timestamps are one clock for all users is anything cut.
    Who is near and what theta they have is not undone: both come from the store's round.
    """
    if time != "global" or not history:
        return tuple(neighbours)
    now = max(x.timestamp for x in history)
    return tuple(
        replace(n, history=tuple(x for x in n.history if x.timestamp <= now)) for n in neighbours
    )


def liked_rows(
    neighbours: Sequence[Neighbour],
    row_of: Mapping[str, int],
    *,
    time: TimeMeaning,
    history: Sequence[Interaction],
) -> tuple[int, ...]:
    """Rows of the neighbours' positive items, nearest neighbour first, each once.

    Of what they did, only what was `known_then`. Items that left the catalogue are skipped.
    """
    liked = (
        x.item_id
        for neighbour in known_then(neighbours, time=time, history=history)
        for x in neighbour.history
        if x.positive
    )
    return tuple(dict.fromkeys(row_of[item] for item in liked if item in row_of))
