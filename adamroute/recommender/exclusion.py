"""What a request wants left out of its answer: liked items, disliked items, or items by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.preferences import disliked_items, liked_items
from adamroute.catalogue.request import Interaction
from adamroute.errors import RequestError

LIKED, DISLIKED, IDS = "liked", "disliked", "ids"
EXCLUDED = (DISLIKED,)  # where a request does not say
MAX_ID = 256  # characters


def check_exclude(exclude: Sequence[str]) -> None:
    """RequestError names the entry that is no word or id; an id that no item has is fine."""
    if isinstance(exclude, str) or not isinstance(exclude, Sequence):
        raise RequestError("exclude", f"exclude: a list of {LIKED}, {DISLIKED} and item ids")
    for place, entry in enumerate(exclude):
        if not isinstance(entry, str) or not 1 <= len(entry) <= MAX_ID:
            field, got = f"exclude[{place}]", repr(entry)[:60]
            wanted = f"{LIKED}, {DISLIKED} or an item id of 1 to {MAX_ID} characters"
            raise RequestError(field, f"{field}: {wanted}, got {got}")


def excluded_rows(
    exclude: Sequence[str], history: Sequence[Interaction], row_of: Mapping[str, int]
) -> dict[str, NDArray[np.int64]]:
    """Rows of the items to leave out, by the reason: `disliked`, `liked`, `ids`.

    Only reasons that `exclude` gives are there. The latest label of an item counts.
    """
    named = [entry for entry in exclude if entry not in (LIKED, DISLIKED)]
    rows = {}
    if DISLIKED in exclude:
        rows[DISLIKED] = disliked_items(history, row_of)
    if LIKED in exclude:
        rows[LIKED] = liked_items(history, row_of)
    if named:
        rows[IDS] = np.array([row_of[item] for item in named if item in row_of], np.int64)
    return rows
