"""What the teacher's loop says of one request, and the trace of how it came to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adamroute.llm.chat import Call
from adamroute.retrieval.replay import TargetRank, TargetRanks
from adamroute.theta import Theta

TeacherSource = Literal["teacher", "teacher:no_evidence"]
Part = Literal["preferences", "start", "pseudo_queries", "update"]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One row of a trace: what was asked, seen and decided at one step of the loop."""

    request_id: str
    step: int  # 0 up to the first update
    part: Part  # preferences, pseudo_queries: only where they cost or lacked something
    item_id: str | None = None  # the history item whose rank was observed; None at the start
    pseudo_query: str | None = None
    text_rank: int | None = None
    mm_rank: int | None = None
    alpha: float | None = None  # theta after this step; None where it has none yet
    budget: int | None = None
    reason: str = ""
    fallbacks: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    dropped: tuple[str, ...] = ()  # history items that the policy judged irrelevant to the request


@dataclass(frozen=True, slots=True)
class TeacherAnswer:
    """The loop's result for one request (label row of CONTRACTS, "Teacher")."""

    request_id: str
    theta: Theta
    theta0: Theta  # the collaborative start
    source: TeacherSource
    item_ids: tuple[str, ...]  # evidence rows, in the order they were observed
    text_ranks: tuple[int, ...]  # as observed
    mm_ranks: tuple[int, ...]
    fused_ranks: tuple[tuple[int, ...], ...]  # at every alpha bin
    steps: tuple[TraceStep, ...]
    fallbacks: tuple[str, ...]  # names of what the loop had to do without
    ms: float

    @property
    def ranks(self) -> TargetRanks:
        """Of the evidence rows."""
        rows = zip(self.text_ranks, self.mm_ranks, self.fused_ranks, strict=True)
        return TargetRanks.of([TargetRank(*row) for row in rows])

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every model call, in order."""
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def llm_calls(self) -> int:
        return len(self.calls)

    @property
    def tokens(self) -> int:
        return sum(call.prompt_tokens + call.reply_tokens for call in self.calls)
