"""From what a model wrote to a Reply: both engines judge by the same rules.

A server may ignore the schema it was given, so each reply is checked here whatever was promised.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from adamroute.llm.chat import Failure, Reply

MAX_REPLY = 20_000  # characters; the longest reply that our schemas allow has about 5,000
KEPT_TEXT = 2_000  # characters of a bad reply that a repair shows the model again
KEPT_ERROR = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call cost over all attempts."""

    prompt_tokens: int = 0
    reply_tokens: int = 0
    ms: float = 0.0


def reply_of(
    text: str, schema: Mapping[str, JsonValue], cost: Cost, *, truncated: bool = False
) -> Reply:
    """A reply with its value, or with the name and wording of what is wrong with it."""
    if truncated:
        return failed("reply_truncated", f"cut after {cost.reply_tokens} tokens", cost, text)
    if len(text) > MAX_REPLY:
        problem = f"{len(text)} characters, at most {MAX_REPLY} are read"
        return failed("reply_not_json", problem, cost, text)
    try:
        # Not strict: xgrammar lets raw control characters into strings of bounded length, and
        # whoever reads a reply cleans its strings anyway.
        value: JsonValue = json.loads(
            text, strict=False, parse_constant=_refused, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:  # recursion: ten thousand opening brackets
        return failed("reply_not_json", str(error), cost, text)
    problem = _schema_problem(value, schema)
    if problem:
        return failed("reply_wrong_schema", problem, cost, text)
    return Reply(value, None, cost.prompt_tokens, cost.reply_tokens, cost.ms, text[:KEPT_TEXT])


def failed(failure: Failure, error: str, cost: Cost, text: str = "") -> Reply:
    """A reply that can't be used."""
    return Reply(
        value=None,
        failure=failure,
        prompt_tokens=cost.prompt_tokens,
        reply_tokens=cost.reply_tokens,
        ms=cost.ms,
        text=text[:KEPT_TEXT],
        error=error[:KEPT_ERROR],
    )


def _schema_problem(value: JsonValue, schema: Mapping[str, JsonValue]) -> str:
    """The most telling breach of the schema; "" where there is none."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    breach = best_match(Draft202012Validator(schema).iter_errors(value))
    return "" if breach is None else f"{breach.json_path}: {breach.message}"


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number
