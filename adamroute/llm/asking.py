"""Ask, check what comes back, and ask once more where it can't be used.

The second ask shows the model its reply and what was wrong. Engines that don't answer were tried
again already, so only replies are repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import JsonValue

from adamroute.llm.chat import Ask, Call, ChatEngine, Failure, Reply
from adamroute.llm.prompts import Prompt

T = TypeVar("T")
REPLY_LIMIT = 1500  # characters of a bad reply that the model is shown again
ERROR_LIMIT = 200


@dataclass(frozen=True)
class Question(Generic[T]):
    """An ask and how its reply is read."""

    ask: Ask
    read: Callable[[JsonValue], T]  # of a value that fits the schema
    problem: Callable[[T], str] = lambda _: ""  # what a repair should change; "" where nothing


@dataclass(frozen=True)
class Heard(Generic[T]):
    """What is left of a question after at most one repair."""

    value: T | None
    failure: Failure | None  # why there is no value
    calls: tuple[Call, ...]


def hear(engine: ChatEngine, questions: Sequence[Question[T]], repair: Prompt) -> list[Heard[T]]:
    """One answer a question, in order; all first asks leave together, then all repairs."""
    if not questions:
        return []
    replies = engine.chat([q.ask for q in questions])
    heard = [_heard(q, r) for q, r in zip(questions, replies, strict=True)]
    wrong = {
        place: problem
        for place, (question, reply) in enumerate(zip(questions, replies, strict=True))
        if (problem := _problem(question, reply, heard[place].value))
    }
    if not wrong:
        return heard
    repairs = [_repair(questions[p].ask, repair, replies[p], wrong[p]) for p in wrong]
    for place, ask, reply in zip(wrong, repairs, engine.chat(repairs), strict=True):
        again = _heard(replace(questions[place], ask=ask), reply)
        heard[place] = _better(heard[place], again)
    return heard


def _heard(question: Question[T], reply: Reply) -> Heard[T]:
    call = Call(question.ask.prompt, reply.prompt_tokens, reply.reply_tokens, reply.ms)
    value = question.read(reply.value) if reply.failure is None else None
    return Heard(value, reply.failure, (call,))


def _problem(question: Question[T], reply: Reply, value: T | None) -> str:
    if value is not None:
        return question.problem(value)
    return reply.error if reply.failure and reply.failure.startswith("reply_") else ""


def _repair(ask: Ask, prompt: Prompt, reply: Reply, problem: str) -> Ask:
    shown = prompt.part(
        "user",
        reply=reply.text, error=problem, reply_limit=REPLY_LIMIT, error_limit=ERROR_LIMIT,
    )  # fmt: skip
    return replace(ask, prompt=f"{ask.prompt}+{prompt.stamp}", user=f"{ask.user}\n\n{shown}")


def _better(first: Heard[T], again: Heard[T]) -> Heard[T]:
    """The repaired answer, or the first where the repair brought none."""
    calls = (*first.calls, *again.calls)
    return replace(
        first if again.value is None and first.value is not None else again, calls=calls
    )
