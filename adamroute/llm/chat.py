"""The language model's seam: chat with a JSON schema, one list of asks at a time.

Two engines stand behind it: any OpenAI-compatible server (openai_chat.py) and vLLM in this process
(vllm_chat.py). An engine answers every ask; one that failed after retries, was cut, or is no JSON
of the schema says so by name, so that whoever asked can count it and go on without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import JsonValue

Failure = Literal[
    "engine_unreachable",
    "engine_timeout",
    "engine_busy",  # 429 until the retries ran out
    "engine_error",  # 5xx, or an engine that raised
    "reply_truncated",
    "reply_not_json",
    "reply_wrong_schema",
]


@dataclass(frozen=True)
class Ask:
    """One prompt. Text of items and users stands in `user` only, delimited: it is data."""

    prompt: str  # template and hash, "theta_update@3f2a9c1b", for traces
    system: str
    user: str
    schema: Mapping[str, JsonValue]  # JSON schema of the reply; bounded, so that it can end
    max_tokens: int
    images: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What came back, and what it cost over all attempts."""

    value: JsonValue  # the parsed reply; None where it failed
    failure: Failure | None
    prompt_tokens: int
    reply_tokens: int
    ms: float
    text: str = ""  # as it came, cut; for a repair. Never logged: it may repeat user data
    error: str = ""  # what was wrong, in words for the model


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a language model, as a trace keeps it."""

    prompt: str  # template and hash, "theta_update@3f2a9c1b"
    prompt_tokens: int
    reply_tokens: int
    ms: float


class ChatEngine(Protocol):
    """A language model that replies in JSON."""

    @property
    def name(self) -> str:
        """Engine and model, for manifests: "openai:Qwen/Qwen3-8B"."""
        ...

    def check(self) -> None:
        """EngineError, saying what to do, where the engine can't be used at all."""
        ...

    def chat(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply an ask, in order; many at a time up to the engine's limit."""
        ...
