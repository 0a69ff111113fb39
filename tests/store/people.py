"""Users for tests of the store, and a clock that stands still."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from adamroute.catalogue.request import Interaction
from adamroute.store import UserRecord
from adamroute.theta import Theta

STATIC = Theta(0.3, 40)
NOON = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 5, 17, 13, 30, tzinfo=UTC)


def user(name: str, *, wish: str = "red lamp", lends: bool = True) -> UserRecord:
    """Two interactions, the later one at 2.5."""
    e_pref = np.array([0.6, 0.8] if wish else [], dtype=np.float32)
    history = (Interaction("a", True, 1 / 3), Interaction("b", False, 2.5))
    return UserRecord(name, lends, wish, e_pref, history, STATIC, -1, 2.5)
