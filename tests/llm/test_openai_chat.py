"""The OpenAI client against a loopback server that misbehaves in every way we know a name for."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from adamroute.config import LlmConfig
from adamroute.errors import EngineError
from adamroute.llm.chat import Ask, Reply, ReplyForm
from adamroute.llm.openai_chat import MAX_BODY, OpenAIChat
from tests.catalogue.pictures import red_above_blue, saved
from tests.llm.loopback import Answer, Loopback, Say, completion, loopback, refusal


class Setting(ReplyForm):
    alpha: Annotated[float, Field(ge=0, le=1)]
    budget: Literal[20, 40]


SCHEMA = {
    "type": "object",
    "properties": {
        "alpha": {"type": "number", "minimum": 0, "maximum": 1},
        "budget": {"type": "integer", "enum": [20, 40]},
    },
    "required": ["alpha", "budget"],
    "additionalProperties": False,
}
ASK = Ask("theta_update@12345678", "be brief", "query: lamp", Setting, max_tokens=64)
GOOD = '{"alpha": 0.25, "budget": 40}'


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time here."""
    waited: list[float] = []
    monkeypatch.setattr("openai._base_client.time.sleep", waited.append)
    return waited


def chat(server: Loopback, **settings: Any) -> OpenAIChat:
    return OpenAIChat(
        LlmConfig(model="tiny", base_url=server.base_url, **{"timeout_s": 5.0, **settings})
    )


def asked(say: Say, **settings: Any) -> tuple[Reply[Setting], Loopback]:
    with loopback(say) as server:
        engine = chat(server, **settings)
        reply = engine.chat([ASK])[0]
        engine.close()
    return reply, server


def in_turn(*answers: Answer) -> Say:
    """The answers one after the other, the last one for ever."""
    left: Iterator[Answer] = iter(answers[:-1])
    return lambda _: next(left, answers[-1])


def test_a_good_reply_comes_with_its_tokens_and_time() -> None:
    reply, _ = asked(lambda _: completion(GOOD, prompt=30, reply=7))
    assert (reply.value, reply.failure) == (Setting(alpha=0.25, budget=40), None)
    assert (reply.prompt_tokens, reply.reply_tokens) == (30, 7)
    assert reply.ms > 0


def test_the_request_is_greedy_bounded_without_thinking_and_carries_the_strict_schema() -> None:
    _, server = asked(lambda _: completion(GOOD))
    request = server.requests[0]
    assert request["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "query: lamp"},
    ]
    assert (request["temperature"], request["max_completion_tokens"]) == (0.0, 64)
    assert request["chat_template_kwargs"] == {"enable_thinking": False}
    shape = request["response_format"]["json_schema"]
    assert shape == {"name": "theta_update", "strict": True, "schema": SCHEMA}


def test_a_server_that_refuses_the_thinking_switch_is_not_sent_it() -> None:
    _, server = asked(lambda _: completion(GOOD), thinking=None)
    assert "chat_template_kwargs" not in server.requests[0]


def test_the_key_comes_from_the_named_variable_or_is_a_placeholder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_KEY", "k-1")
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert asked(lambda _: completion(GOOD), key_env="SHOP_KEY")[1].keys == ["Bearer k-1"]
    assert asked(lambda _: completion(GOOD), key_env="NO_SUCH_KEY")[1].keys == ["Bearer none"]


def test_photos_travel_as_data_urls(tmp_path: Path) -> None:
    photo = saved(tmp_path / "lamp.png", red_above_blue())
    with loopback(lambda _: completion(GOOD)) as server:
        engine = chat(server)
        ask = Ask("p@1", "s", "u", Setting, 64, (photo, tmp_path / "gone.png"))
        lost = engine.chat([ask])[0]
        engine.chat([Ask("p@1", "s", "u", Setting, 64, (photo,))])
        engine.close()
    content = server.requests[0]["messages"][1]["content"]
    told = base64.b64encode(photo.read_bytes()).decode()
    assert content[0]["image_url"]["url"] == f"data:image/png;base64,{told}"
    assert content[1] == {"type": "text", "text": "u"}
    assert (lost.failure, "gone.png" in lost.error) == ("engine_error", True)
    assert len(server.requests) == 1


def test_a_busy_server_is_asked_again_when_it_says(waits: list[float]) -> None:
    say = in_turn(refusal(429, "slow down", retry_after="7"), completion(GOOD))
    reply, server = asked(say)
    assert (reply.failure, waits, len(server.requests)) == (None, [7.0], 2)


@pytest.mark.parametrize("asked_for", ["nan", "inf", "soon"])
def test_a_wait_that_is_no_time_is_ours_to_choose(asked_for: str, waits: list[float]) -> None:
    reply, _ = asked(in_turn(refusal(429, "later", retry_after=asked_for), completion(GOOD)))
    assert reply.failure is None
    assert max(waits) <= 0.5


def test_a_server_cannot_make_us_wait_for_an_hour(waits: list[float]) -> None:
    reply, server = asked(lambda _: refusal(429, "later", retry_after="3600"))
    assert (reply.failure, waits, len(server.requests)) == ("engine_busy", [], 1)


def test_a_server_that_stays_busy_is_named_after_all_retries(waits: list[float]) -> None:
    reply, server = asked(lambda _: refusal(429, "slow down"), retries=3)
    assert (reply.failure, len(server.requests)) == ("engine_busy", 4)
    # .5, 1 and 2 seconds, each less up to a quarter of it.
    most = [0.5, 1.0, 2.0]
    assert all(0.75 * m <= wait <= m for m, wait in zip(most, waits, strict=True))


def test_a_broken_server_is_tried_again_and_a_refusal_is_not() -> None:
    reply, server = asked(in_turn(refusal(500, "oops"), refusal(503, "oops"), completion(GOOD)))
    assert (reply.failure, len(server.requests)) == (None, 3)
    reply, server = asked(lambda _: refusal(500, "oops"), retries=2)
    assert (reply.failure, len(server.requests)) == ("engine_error", 3)
    reply, server = asked(lambda _: refusal(400, "no such field"), retries=2)
    assert (reply.failure, len(server.requests)) == ("engine_error", 1)


def test_an_answer_that_is_no_completion_is_an_engine_error() -> None:
    for body in (b"<html>gateway</html>", b'{"choices": []}', b"null", b""):
        reply, server = asked(lambda _, body=body: Answer(body=body))  # type: ignore[misc]
        assert (reply.failure, len(server.requests)) == ("engine_error", 1)


def test_a_slow_server_is_given_up_and_named() -> None:
    reply, server = asked(lambda _: Answer(hang=True), timeout_s=0.2, retries=1)
    assert (reply.failure, len(server.requests)) == ("engine_timeout", 2)
    assert (reply.prompt_tokens, reply.reply_tokens) == (0, 0)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    reply = OpenAIChat(nowhere(retries=1)).chat([ASK])[0]
    assert reply.failure == "engine_unreachable"


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("Of course! Here is my answer.", "reply_not_json"),
        ("", "reply_not_json"),
        ("word " * 20_480, "reply_not_json"),  # 100 KB of prose
        ('{"alpha": NaN, "budget": 20}', "reply_not_json"),
        ('{"alpha": 0.5}', "reply_wrong_schema"),
        ('{"alpha": 7, "budget": 20}', "reply_wrong_schema"),
        ('{"alpha": 0.5, "budget": -3}', "reply_wrong_schema"),
    ],
)
def test_a_reply_that_cannot_be_used_is_named_and_still_counted(text: str, failure: str) -> None:
    reply, _ = asked(lambda _: completion(text, prompt=30, reply=7))
    assert (reply.value, reply.failure) == (None, failure)
    assert (reply.prompt_tokens, reply.reply_tokens) == (30, 7)


def test_a_reply_without_an_end_is_dropped_before_it_fills_the_memory() -> None:
    reply, server = asked(lambda _: completion("x" * (MAX_BODY + 1)), retries=2)
    assert (reply.failure, len(server.requests)) == ("reply_not_json", 1)


def test_a_cut_reply_is_truncated_even_where_its_text_is_json() -> None:
    reply, _ = asked(lambda _: completion(GOOD, finish="length"))
    assert (reply.value, reply.failure) == (None, "reply_truncated")


def test_replies_keep_the_order_of_the_asks_and_calls_the_limit() -> None:
    gate = threading.Barrier(3)  # each answer waits for two others: three calls are under way

    def say(request: dict[str, Any]) -> Answer:
        gate.wait(10)
        return completion(f'{{"alpha": {request["messages"][1]["content"]}, "budget": 20}}')

    asks = [Ask("a@1", "s", f"0.{number}", Setting, 64) for number in range(9)]
    with loopback(say) as server:
        engine = chat(server, concurrency=3)
        values = [reply.value for reply in engine.chat(asks)]
        engine.close()
    assert values == [Setting(alpha=number / 10, budget=20) for number in range(9)]
    assert server.most_at_once == 3


def test_check_passes_where_the_server_answers_at_all() -> None:
    with loopback(lambda _: completion('{"ok"', finish="length"), "tiny") as server:
        engine = chat(server)
        engine.check()
        engine.close()


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (refusal(401, "bad key"), "variable SHOP_KEY"),
        (refusal(404, "no model tiny"), "Models it has: other-8b, other-2b"),
        (refusal(400, "unknown field"), "thinking: null"),
    ],
)
def test_check_says_what_to_do(answer: Answer, advice: str) -> None:
    with loopback(lambda _: answer, "other-8b", "other-2b") as server:
        engine = chat(server, key_env="SHOP_KEY")
        with pytest.raises(EngineError, match=advice):
            engine.check()
        engine.close()


def test_check_of_a_server_that_is_not_there_names_its_address() -> None:
    config = nowhere(retries=0)
    with pytest.raises(EngineError, match=r"http://127.0.0.1:\d+/v1.*Start the server"):
        OpenAIChat(config).check()


def nowhere(**settings: Any) -> LlmConfig:
    """A config of a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return LlmConfig(model="tiny", base_url=f"http://127.0.0.1:{port}/v1", **settings)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_no_proxy_of_the_environment_stands_before_a_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    assert asked(lambda _: completion(GOOD))[0].value == Setting(alpha=0.25, budget=40)
