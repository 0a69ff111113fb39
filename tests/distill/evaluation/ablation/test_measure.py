"""What deciding costs, from answers made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adamroute.distill.evaluation.ablation.measure import decision_ms
from adamroute.llm.chat import Call
from adamroute.teacher.answer import TraceStep
from tests.distill.taught import answer


def asked(*ms: float) -> TraceStep:
    calls = tuple(Call("theta_update@1", 10, 5, spent) for spent in ms)
    return TraceStep("r", 0, "start", None, None, None, None, 0.5, 40, "why", calls=calls)


@pytest.mark.parametrize(
    ("steps", "ms"),
    [
        ((), 8.0),  # no call: what the clock said
        ((asked(1.0, 2.0),), 8.0),  # calls at once
        ((asked(900.0), asked(300.0, 50.0)), 1250.0),  # kept replies, read in no time
    ],
)
def test_a_kept_reply_costs_what_it_cost_when_it_was_asked(
    steps: tuple[TraceStep, ...], ms: float
) -> None:
    assert decision_ms(replace(answer("r", 1), steps=steps)) == ms
