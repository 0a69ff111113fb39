"""What is known of users, as frozen values. Nothing here knows how it is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import Interaction
from adamroute.theta import Theta

STATIC_ROUND = -1  # of a theta that no labelling round wrote


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

    def plain(self) -> dict[str, object]:
        """All fields but e_pref as JSON values."""
        return {
            "user_id": self.user_id,
            "lends": self.lends,
            "preference": self.preference,
            "history": [[x.item_id, x.positive, x.timestamp] for x in self.history],
            "alpha": self.theta.alpha,
            "budget": self.theta.budget,
            "round": self.round,
            "updated": self.updated,
        }

    def fingerprint(self) -> str:
        """sha256 of everything in the record. When it was written is not part of it."""
        state = hashlib.sha256(json.dumps(self.plain(), sort_keys=True).encode())
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

    def before_rounds(self, static: Theta) -> Snapshot:
        """The same users at the static prior, as the first round found them."""
        return self.with_thetas(dict.fromkeys(self.by_id, static), STATIC_ROUND)
