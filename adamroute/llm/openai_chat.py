"""Chat with any OpenAI-compatible server: vLLM, SGLang, llama.cpp, OpenAI and others.

Each attempt is bounded in time and in bytes. The `openai` client tries an unreachable, slow, busy
or broken server again, with growing, jittered waits or as long as the server asks for (2 minutes
at most), and what is left is named in the reply. An answer that breaks off, drips on or is no chat
completion is not tried again: the client has let go of it by then.

Waiting is all that happens here, so calls run in threads, at most `concurrency` at a time over all
callers of one engine. Neither the key nor a prompt is ever logged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from adamroute.config import LlmConfig
from adamroute.errors import EngineError, ModelError
from adamroute.hardware import is_here
from adamroute.llm.chat import Ask, Failure, Form, Reply, ReplyForm
from adamroute.llm.exchange import Cost, failed, messages_of, reply_of

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

MAX_BODY = 1 << 20  # bytes of an answer; a reply of any use to us is a hundredth of that
PLACEHOLDER_KEY = "none"  # the client insists on one; servers without keys ignore it
SHOWN_MODELS = 8


class _Probe(ReplyForm):
    ok: bool


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

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _CallError(Exception):
    """A call after all its attempts, under the name of what went wrong."""

    def __init__(self, failure: Failure, error: str) -> None:
        super().__init__(error)
        self.failure = failure


@dataclass(frozen=True)
class OpenAIChat:
    """A model behind an OpenAI-compatible server; `config.base_url` names it."""

    config: LlmConfig

    @property
    def name(self) -> str:
        return self.config.name

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        """One reply an ask, in order."""
        _ = self._client  # made before the threads want it
        return list(self._pool.map(self._reply, asks))

    def check(self) -> None:
        """One short call. EngineError says what is wrong with server, key, model or settings."""
        ask = Ask("check", "Reply in JSON.", 'Reply {"ok": true}.', _Probe, max_tokens=16)
        try:
            self._answer(ask)
        except _CallError as error:
            raise EngineError(
                f"{self.name} at {self.config.base_url}: {self._advice(error)}"
            ) from (error.__cause__)

    def close(self) -> None:
        """End threads and connections; a process that ends does the same."""
        self._pool.shutdown()
        self._client.close()

    def _reply(self, ask: Ask[Form]) -> Reply[Form]:
        start = time.perf_counter()
        try:
            answer = self._answer(ask)
        except _CallError as error:
            return failed(error.failure, str(error), Cost(ms=_ms_since(start)))
        except ModelError as error:  # a photo that can't be read
            return failed("engine_error", str(error), Cost(ms=_ms_since(start)))
        usage = answer.usage or _Usage()
        cost = Cost(usage.prompt_tokens, usage.completion_tokens, _ms_since(start))
        choice = answer.choices[0]
        text = choice.message.content or ""
        return reply_of(text, ask.form, cost, truncated=choice.finish_reason == "length")

    def _answer(self, ask: Ask[Form]) -> _Completion:
        """One call. _CallError for everything that can go wrong on the way."""
        import httpx2
        import openai

        try:
            return _Completion.model_validate_json(self._body(self._request(ask)))
        except ValidationError as error:
            problem = "the server's answer is no chat completion"
            raise _CallError("engine_error", problem) from error
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
            late = f"no whole answer within {self.config.timeout_s:g} s"
            raise _CallError("engine_timeout", late) from error
        except openai.APIStatusError as error:
            raise _by_status(error) from error
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            why = type(error.__cause__ or error).__name__
            raise _CallError("engine_unreachable", why) from error

    def _body(self, request: Mapping[str, Any]) -> bytes:
        """The answer's bytes; a body that drips on, or doesn't end, is given up."""
        with self._client.chat.completions.with_streaming_response.create(**request) as response:
            deadline = time.monotonic() + self.config.timeout_s
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY:
                    problem = f"an answer of more than {MAX_BODY} bytes"
                    raise _CallError("reply_not_json", problem)
                if time.monotonic() > deadline:
                    raise TimeoutError
        return bytes(body)

    def _request(self, ask: Ask[Form]) -> dict[str, Any]:
        name, schema = ask.prompt.partition("@")[0], ask.form.schema_sent()
        shape = {"name": name, "strict": True, "schema": schema}
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

    def _advice(self, error: _CallError) -> str:
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
        from openai import DefaultHttpxClient, OpenAI

        url = self.config.base_url or ""
        return OpenAI(
            base_url=self.config.base_url,
            api_key=os.environ.get(self.config.key_env) or PLACEHOLDER_KEY,
            timeout=self.config.timeout_s,
            max_retries=self.config.retries,
            http_client=DefaultHttpxClient(trust_env=False) if is_here(url) else None,
        )

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.config.concurrency, thread_name_prefix="chat")


def _by_status(error: APIStatusError) -> _CallError:
    if error.status_code == 429:
        return _CallError("engine_busy", "429, too busy")
    return _CallError("engine_error", error.message[:300])


def _ms_since(start: float) -> float:
    return 1e3 * (time.perf_counter() - start)
