"""The language model's seam: chat with a reply form, one list of asks at a time.

Two engines stand behind it: any OpenAI-compatible server (openai_chat.py) and vLLM in this process
(vllm_chat.py). An engine answers every ask; one that failed after retries, was cut, or does not
fit its form says so by name, so that whoever asked can count it and go on without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue

Failure = Literal[
    "engine_unreachable",
    "engine_timeout",
    "engine_busy",  # 429 until the retries ran out
    "engine_error",  # 5xx, or an engine that raised
    "reply_truncated",
    "reply_not_json",
    "reply_wrong_schema",
]


class ReplyForm(BaseModel):
    """What a reply must be: schema, check and type in one.

    Bound every text and list, so that a reply can end, and give no field a default: the strict
    mode of OpenAI's API wants all of them required and no other allowed.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @classmethod
    def schema_sent(cls) -> dict[str, JsonValue]:
        """JSON schema for engines: no references, which some can't follow, and no titles."""
        return _sent(cls)


@cache
def _sent(form: type[ReplyForm]) -> dict[str, JsonValue]:
    whole = form.model_json_schema()
    return cast("dict[str, JsonValue]", _inlined(whole, whole.get("$defs", {})))


def _inlined(schema: Any, defined: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(part, defined) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(defined[schema["$ref"].rpartition("/")[2]], defined)
    fields = schema.get("properties", {})
    kept = {key: schema[key] for key in schema if key not in ("title", "description", "$defs")}
    plain = {key: _inlined(value, defined) for key, value in kept.items()}
    if fields:  # a field may be called title
        plain["properties"] = {name: _inlined(field, defined) for name, field in fields.items()}
    return plain


Form = TypeVar("Form", bound=ReplyForm)


@dataclass(frozen=True)
class Ask(Generic[Form]):
    """One prompt. Text of items and users stands in `user` only, delimited: it is data."""

    prompt: str  # template and hash, "theta_update@3f2a9c1b", for traces
    system: str
    user: str
    form: type[Form]
    max_tokens: int
    images: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Reply(Generic[Form]):
    """What came back, and what it cost over all attempts."""

    value: Form | None  # None where it failed
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

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        """One reply an ask, in order; many at a time up to the engine's limit."""
        ...
