"""Label rows, the format that training reads (CONTRACTS, "Teacher").

Beyond the contract's fields a row carries what a student's prompt is made of (`profile`) and its
`weight`. `ms` is null: timings go to the manifest's counts, so that the same inputs give the same
bytes. The steps themselves are in traces.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from adamroute.catalogue.request import PreferenceProfile
from adamroute.theta import Theta

FORMAT = 2
Source = Literal["teacher", "outcome", "synthetic"]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One labelled request; its target surface is the row of the same place in targets.npz."""

    request_id: str
    user_id: str
    query: str
    source: Source
    item_ids: tuple[str, ...]  # evidence rows; the target itself for outcome and synthetic rows
    text_ranks: tuple[int, ...]  # as observed; targets match those of synthetic rows
    mm_ranks: tuple[int, ...]
    fused_ranks: tuple[tuple[int, ...], ...]  # at every alpha bin
    theta: Theta  # the teacher's answer; elsewhere the best bin of the row's target
    theta0: Theta | None  # the collaborative start, teacher rows only
    steps: int  # updates the teacher made
    fallbacks: tuple[str, ...]
    prompt_hashes: tuple[str, ...]  # "theta_update@3f2a9c1b" of every prompt that was asked
    profile: PreferenceProfile  # without the request's own target
    weight: float

    def line(self) -> str:
        """The row as one line of JSON."""
        values = {**asdict(self), "format": FORMAT, "ms": None}
        return json.dumps(values, ensure_ascii=False, sort_keys=True) + "\n"


def as_lines(rows: Sequence[LabelRow]) -> str:
    """The rows as a JSONL file."""
    return "".join(row.line() for row in rows)
