"""Chat with any OpenAI-compatible server: vLLM, SGLang, llama.cpp, OpenAI and others.

Each attempt is bounded in time and in bytes; an unreachable, slow, busy or broken server is tried
again with growing, jittered waits, and then named in the reply. Waiting is all that happens here,
so calls run in threads, at most `concurrency` at a time over all callers of one engine.

Neither the key nor a prompt is ever logged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, JsonValue, ValidationError

from adamroute.config import LlmConfig
from adamroute.errors import EngineError, ModelError
from adamroute.llm.chat import Ask, Failure, Reply
from adamroute.llm.messages import messages_of
from adamroute.llm.replies import Cost, failed, reply_of

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI
    from tenacity import RetryCallState

MAX_BODY = 1 << 20  # bytes of an answer; a reply of any use to us is a hundredth of that
MAX_WAIT_S = 30.0  # between two attempts, whatever the server asks for
PLACEHOLDER_KEY = "none"  # the client insists on one; servers without keys ignore it
SHOWN_MODELS = 8
_PROBE: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    """The part of a server's answer that is read."""

    choices: list[_Choice]
    usage: _Usage | None = None


class _AttemptError(Exception):
    """One attempt, under the name of what went wrong; `again`: a further one may succeed."""

    def __init__(
        self, failure: Failure, error: str, *, again: bool, wait_s: float | None = None
    ) -> None:
        super().__init__(error)
        self.failure = failure
        self.again = again
        self.wait_s = wait_s  # what the server asked for


@dataclass(frozen=True)
class OpenAIChat:
    """A model behind an OpenAI-compatible server; `config.base_url` names it."""

    config: LlmConfig
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        return self.config.name

    def chat(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply an ask, in order."""
        _ = self._client  # made before the threads want it
        return list(self._pool.map(self._reply, asks))

    def check(self) -> None:
        """One short call. EngineError says what is wrong with server, key, model or settings."""
        ask = Ask("check", "Reply in JSON.", 'Reply {"ok": true}.', _PROBE, max_tokens=16)
        try:
            self._retried(ask)
        except _AttemptError as error:
            raise EngineError(
                f"{self.name} at {self.config.base_url}: {self._advice(error)}"
            ) from (error.__cause__)

    def close(self) -> None:
        """End threads and connections; a process that ends does the same."""
        self._pool.shutdown()
        self._client.close()

    def _reply(self, ask: Ask) -> Reply:
        start = time.perf_counter()
        try:
            answer = self._retried(ask)
        except _AttemptError as error:
            return failed(error.failure, str(error), Cost(ms=_ms_since(start)))
        except ModelError as error:  # a photo that can't be read
            return failed("engine_error", str(error), Cost(ms=_ms_since(start)))
        usage = answer.usage or _Usage()
        cost = Cost(usage.prompt_tokens, usage.completion_tokens, _ms_since(start))
        choice = answer.choices[0]
        text = choice.message.content or ""
        return reply_of(text, ask.schema, cost, truncated=choice.finish_reason == "length")

    def _retried(self, ask: Ask) -> _Completion:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(self.config.retries + 1),
            retry=retry_if_exception(lambda e: isinstance(e, _AttemptError) and e.again),
            wait=_wait,
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(self._attempt, self._request(ask))

    def _attempt(self, request: Mapping[str, Any]) -> _Completion:
        """One call. _AttemptError for everything that can go wrong on the way."""
        import httpx2
        import openai

        try:
            return _parsed(self._body(request))
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            late = f"no answer within {self.config.timeout_s:g} s"
            raise _AttemptError("engine_timeout", late, again=True) from error
        except openai.APIStatusError as error:
            raise _by_status(error) from error
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            why = type(error.__cause__ or error).__name__
            raise _AttemptError("engine_unreachable", why, again=True) from error

    def _body(self, request: Mapping[str, Any]) -> bytes:
        """The answer's bytes; a body that drips on, or doesn't end, is given up."""
        deadline = time.monotonic() + self.config.timeout_s
        with self._client.chat.completions.with_streaming_response.create(**request) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY:
                    problem = f"an answer of more than {MAX_BODY} bytes"
                    raise _AttemptError("reply_not_json", problem, again=False)
                if time.monotonic() > deadline:
                    late = f"no whole answer within {self.config.timeout_s:g} s"
                    raise _AttemptError("engine_timeout", late, again=True)
        return bytes(body)

    def _request(self, ask: Ask) -> dict[str, Any]:
        shape = {"name": ask.prompt.partition("@")[0], "strict": True, "schema": dict(ask.schema)}
        request: dict[str, Any] = {
            "model": self.config.model,
            "messages": messages_of(ask),
            "max_completion_tokens": ask.max_tokens,
            "temperature": 0.0,
            "response_format": {"type": "json_schema", "json_schema": shape},
        }
        if self.config.thinking is not None:
            thinking = {"enable_thinking": self.config.thinking}
            request["extra_body"] = {"chat_template_kwargs": thinking}
        return request

    def _advice(self, error: _AttemptError) -> str:
        """What a failed check means for the person who wrote the config."""
        status = getattr(error.__cause__, "status_code", None)
        if error.failure in ("engine_unreachable", "engine_timeout"):
            return f"{error}. Start the server, or correct base_url (it ends in /v1)"
        if status in (401, 403):
            return (
                f"the key was refused ({status}). Set the environment variable "
                f"{self.config.key_env}, or name another by key_env"
            )
        if status == 404:
            return f"{error}. {self._models()}"
        if status == 400:
            return (
                f"{error}. If it refuses chat_template_kwargs, set thinking: null; the server "
                "must take response_format json_schema"
            )
        return str(error)

    def _models(self) -> str:
        import openai

        try:
            names = [model.id for model in self._client.models.list()]
        except openai.OpenAIError:
            return "It lists no models either: correct base_url (it ends in /v1)"
        shown = ", ".join(names[:SHOWN_MODELS]) or "none"
        return f"Models it has: {shown}. Set model to one of them"

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(
            base_url=self.config.base_url,
            api_key=os.environ.get(self.config.key_env) or PLACEHOLDER_KEY,
            timeout=self.config.timeout_s,
            max_retries=0,  # tenacity's are counted and bounded
        )

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.config.concurrency, thread_name_prefix="chat")


def _parsed(body: bytes) -> _Completion:
    try:
        answer = _Completion.model_validate_json(body)
    except ValidationError as error:
        problem = "the server's answer is no chat completion"
        raise _AttemptError("engine_error", problem, again=True) from error
    if not answer.choices:
        raise _AttemptError("engine_error", "the server's answer has no choices", again=True)
    return answer


def _by_status(error: APIStatusError) -> _AttemptError:
    if error.status_code == 429:
        wait_s = _seconds(error.response.headers.get("retry-after"))
        return _AttemptError("engine_busy", "429, too busy", again=True, wait_s=wait_s)
    broken = error.status_code >= 500
    wait_s = _seconds(error.response.headers.get("retry-after")) if broken else None
    return _AttemptError("engine_error", error.message[:300], again=broken, wait_s=wait_s)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds; its date form is rare and treated as absent."""
    try:
        return max(float(retry_after or ""), 0.0)
    except ValueError:
        return None


def _wait(state: RetryCallState) -> float:
    """What the server asked for, else .5, 1, 2, ... seconds and up to half a second more."""
    from tenacity import wait_exponential_jitter

    error = state.outcome.exception() if state.outcome else None
    asked = error.wait_s if isinstance(error, _AttemptError) else None
    if asked is not None:  # NaN compares false and falls to the bound
        return asked if asked < MAX_WAIT_S else MAX_WAIT_S
    return wait_exponential_jitter(multiplier=0.5, max=MAX_WAIT_S, jitter=0.5)(state)


def _ms_since(start: float) -> float:
    return 1e3 * (time.perf_counter() - start)
