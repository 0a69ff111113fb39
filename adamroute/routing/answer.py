"""What the teacher's loop says of one request, and the trace of how it came to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adamroute.routing.theta import Theta

TeacherSource = Literal["teacher", "teacher:no_evidence"]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One row of a trace: what was asked, seen and decided at one step of the loop."""

    request_id: str
    step: int  # 0 is the start
    item_id: str | None  # the history item whose rank was observed; None at the start
    pseudo_query: str | None
    text_rank: int | None
    mm_rank: int | None
    alpha: float  # theta after this step
    budget: int
    reason: str


@dataclass(frozen=True, slots=True)
class TeacherAnswer:
    """The loop's result for one request (label row of CONTRACTS, "Teacher")."""

    request_id: str
    theta: Theta
    theta0: Theta  # the collaborative start
    source: TeacherSource
    item_ids: tuple[str, ...]  # evidence rows, in the order they were observed
    text_ranks: tuple[int, ...]  # as observed, before difficulty matching
    mm_ranks: tuple[int, ...]
    steps: tuple[TraceStep, ...]
    fallbacks: tuple[str, ...]  # names of what the loop had to do without
    llm_calls: int
    tokens: int
    ms: float
