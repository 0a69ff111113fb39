"""An engine that loads when it is first asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.config import LlmConfig
from adamroute.errors import EngineError
from adamroute.llm.chat import Ask, ReplyForm
from adamroute.llm.engines import LazyChat, chat_engine
from tests.llm.loopback import completion, loopback, refusal
from tests.llm.minds import Scripted

ASK = Ask("p@1", "s", "u", ReplyForm, 64)
NOTHING = ReplyForm()


class Fussy(Scripted):
    """Refuses the first check."""

    checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.checks == 1:
            raise EngineError("start the server")


def test_nothing_is_built_before_the_first_ask_and_then_once() -> None:
    built: list[Scripted] = []

    def build() -> Scripted:
        built.append(Scripted(lambda _: "{}"))
        return built[-1]

    engine = LazyChat("scripted", build)
    assert (engine.name, engine.chat([]), built) == ("scripted", [], [])
    assert [engine.chat([ASK])[0].value for _ in range(2)] == [NOTHING, NOTHING]
    assert len(built) == 1


def test_a_failed_check_is_raised_and_made_again_at_the_next_ask() -> None:
    fussy = Fussy(lambda _: "{}")
    engine = LazyChat("fussy", lambda: fussy)
    with pytest.raises(EngineError, match="start the server"):
        engine.chat([ASK])
    assert engine.chat([ASK])[0].value == NOTHING
    assert (fussy.checks, len(fussy.asks)) == (2, 1)


def test_a_config_becomes_an_engine_that_keeps_replies(tmp_path: Path) -> None:
    with loopback(lambda _: completion("{}")) as server:
        config = LlmConfig(model="tiny", base_url=server.base_url)
        for _ in range(2):
            assert chat_engine(config, tmp_path / "r.sqlite").chat([ASK])[0].value == NOTHING
        asked = [request["messages"][1]["content"] for request in server.requests]
    assert asked[1:] == ["u"]  # after the check


def test_a_refused_key_stops_the_run_at_its_first_question() -> None:
    with loopback(lambda _: refusal(401, "who are you")) as server:
        config = LlmConfig(model="tiny", base_url=server.base_url, key_env="SHOP_KEY")
        with pytest.raises(EngineError, match="SHOP_KEY"):
            chat_engine(config).chat([ASK])
