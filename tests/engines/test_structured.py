"""Replies held to a form's schema by the real engine, in this process and over HTTP."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from adamroute.llm.chat import ReplyForm
from tests.engines.server import Server


class Setting(ReplyForm):
    alpha: Annotated[float, Field(ge=0, le=1)]
    budget: Annotated[int, Field(ge=1, le=200)]
    reason: Annotated[str, Field(max_length=40)]
    kinds: Annotated[list[Literal["visual", "functional"]], Field(max_length=3)]


SCHEMA = Setting.schema_sent()
FORMAT = {"type": "json_schema", "json_schema": {"name": "theta", "schema": SCHEMA}}
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
MESSAGES: list[Any] = [
    {"role": "system", "content": "Answer in JSON."},
    {"role": "user", "content": "Divide the budget for: round lime green rug"},
]


def ask(server: Server, **options: Any) -> Any:
    """One chat completion by the real client."""
    from openai import OpenAI

    with OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(
            model=server.model, messages=MESSAGES, temperature=0, **options
        )


@pytest.mark.parametrize("name", ["qwen3_server", "smollm2_server"])
def test_a_server_answers_in_the_schema_asked_for(
    name: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(name)
    reply = ask(server, max_tokens=400, response_format=FORMAT, extra_body=NO_THINKING)
    (choice,) = reply.choices
    assert choice.finish_reason == "stop"
    Setting.model_validate_json(choice.message.content)
    assert 0 < reply.usage.completion_tokens < 400


def test_a_reply_cut_by_max_tokens_says_so(qwen3_server: Server) -> None:
    reply = ask(qwen3_server, max_tokens=5, response_format=FORMAT, extra_body=NO_THINKING)
    (choice,) = reply.choices
    assert (choice.finish_reason, reply.usage.completion_tokens) == ("length", 5)
    with pytest.raises(json.JSONDecodeError):
        json.loads(choice.message.content)


def test_the_engine_in_this_process_answers_in_the_schema(qwen3_engine: Any) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    sampling = SamplingParams(
        max_tokens=400, temperature=0, structured_outputs=StructuredOutputsParams(json=SCHEMA)
    )
    answers = qwen3_engine.chat([MESSAGES, MESSAGES[1:]], sampling, use_tqdm=False, **NO_THINKING)
    first, second = (answer.outputs[0] for answer in answers)
    assert (first.finish_reason, second.finish_reason) == ("stop", "stop")
    Setting.model_validate_json(first.text)
    Setting.model_validate_json(second.text)
    assert first.text != second.text  # the system message was read
