"""Ask, check what comes back, and ask once more where it can't be used.

The second ask shows the model its reply and what was wrong. Engines that don't answer were tried
again already, so only replies are repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from adamroute.llm.chat import Ask, Call, ChatEngine, Failure, Form, Reply
from adamroute.llm.prompts import Prompt

REPLY_LIMIT = 1500  # characters of a bad reply that the model is shown again
ERROR_LIMIT = 200


@dataclass(frozen=True)
class Question(Generic[Form]):
    """An ask, and what no form can check of its reply."""

    ask: Ask[Form]
    problem: Callable[[Form], str] = lambda _: ""  # what a repair should change; "" where nothing


@dataclass(frozen=True)
class Heard(Generic[Form]):
    """What is left of a question after at most one repair."""

    value: Form | None
    failure: Failure | None  # why there is no value
    calls: tuple[Call, ...]


def hear(
    engine: ChatEngine, questions: Sequence[Question[Form]], repair: Prompt
) -> list[Heard[Form]]:
    """One answer a question, in order; all first asks leave together, then all repairs."""
    if not questions:
        return []
    replies = engine.chat([q.ask for q in questions])
    heard = [_heard(q.ask, r) for q, r in zip(questions, replies, strict=True)]
    problems = [_problem(q, r) for q, r in zip(questions, replies, strict=True)]
    wrong = [place for place, problem in enumerate(problems) if problem]
    if not wrong:
        return heard
    repairs = [_repair(questions[p].ask, repair, replies[p], problems[p]) for p in wrong]
    for place, ask, reply in zip(wrong, repairs, engine.chat(repairs), strict=True):
        heard[place] = _better(heard[place], _heard(ask, reply))
    return heard


def _heard(ask: Ask[Form], reply: Reply[Form]) -> Heard[Form]:
    call = Call(ask.prompt, reply.prompt_tokens, reply.reply_tokens, reply.ms)
    return Heard(reply.value, reply.failure, (call,))


def _problem(question: Question[Form], reply: Reply[Form]) -> str:
    if reply.value is not None:
        return question.problem(reply.value)
    return reply.error if reply.failure and reply.failure.startswith("reply_") else ""


def _repair(ask: Ask[Form], prompt: Prompt, reply: Reply[Form], problem: str) -> Ask[Form]:
    shown = prompt.part(
        "user",
        reply=reply.text, error=problem, reply_limit=REPLY_LIMIT, error_limit=ERROR_LIMIT,
    )  # fmt: skip
    return replace(ask, prompt=f"{ask.prompt}+{prompt.stamp}", user=f"{ask.user}\n\n{shown}")


def _better(first: Heard[Form], again: Heard[Form]) -> Heard[Form]:
    """The repaired answer, or the first where the repair brought none."""
    calls = (*first.calls, *again.calls)
    return replace(
        first if again.value is None and first.value is not None else again, calls=calls
    )
