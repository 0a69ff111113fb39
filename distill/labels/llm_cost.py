"""What a language model did for the labels, what it cost, and where it was of no use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from adamroute.config import LlmConfig
from adamroute.llm.chat import Call
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.policy import Liking


def spent(
    config: LlmConfig | None, likings: Mapping[str, Liking], answers: Iterable[TeacherAnswer]
) -> dict[str, JsonValue]:
    """Counts for the manifest: answers of all rounds, and the users' stored preferences.

    Calls that were answered from the kept replies count like others: labels rest on them.
    """
    told = list(answers)
    calls = list(_calls(likings, told))
    prompt_tokens = sum(call.prompt_tokens for call in calls)
    reply_tokens = sum(call.reply_tokens for call in calls)
    stamps: list[JsonValue] = [*sorted({call.prompt for call in calls})]
    return {
        "llm_calls": len(calls),
        "tokens": prompt_tokens + reply_tokens,
        "prompt_tokens": prompt_tokens,
        "reply_tokens": reply_tokens,
        "cost": config.cost(prompt_tokens, reply_tokens) if config else 0.0,
        "prompts": stamps,
        "fallbacks_all_rounds": dict(sorted(_lacked(told).items())),
        "stored_preferences_fallbacks": dict(sorted(_unstored(likings).items())),
        "irrelevant_evidence": sum(len(step.dropped) for a in told for step in a.steps),
    }


def failed_steps(likings: Mapping[str, Liking], answers: Iterable[TeacherAnswer]) -> list[str]:
    """A line for the person who waits where steps fell back from the model; none otherwise."""
    told = list(answers)
    lacked = _lacked(told) + _unstored(likings)
    failed = {name: n for name, n in lacked.most_common() if ":" in name}
    if not failed:
        return []
    calls = sum(1 for _ in _calls(likings, told))
    names = ", ".join(f"{name} {count:,}" for name, count in failed.items())
    return [
        f"language model: {sum(failed.values()):,} steps fell back to the evidence rule "
        f"({names}) beside {calls:,} calls; counts are in the labels' manifest"
    ]


def _calls(likings: Mapping[str, Liking], answers: Iterable[TeacherAnswer]) -> Iterator[Call]:
    for answer in answers:
        yield from answer.calls
    for liking in likings.values():
        yield from liking.calls


def _lacked(answers: Iterable[TeacherAnswer]) -> Counter[str]:
    return Counter(name for answer in answers for name in answer.fallbacks)


def _unstored(likings: Mapping[str, Liking]) -> Counter[str]:
    return Counter(name for liking in likings.values() for name in liking.fallbacks)
