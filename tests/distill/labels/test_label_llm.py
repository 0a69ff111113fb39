"""The label stage with a language model over HTTP: counted, stamped, kept, and no call twice."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

from adamroute.assembly import load_teacher
from adamroute.config import Config
from adamroute.errors import EngineError
from adamroute.llm.prompts import prompts
from adamroute.progress import SilentProgress
from adamroute.stages import Manifest, read_manifest
from adamroute.teacher.constants import REPLIES_FILE
from tests.distill.market import label_market, market_config, market_index, market_shop
from tests.llm.loopback import Answer, Loopback, completion, loopback, refusal
from tests.llm.minds import obedient

INDEX = market_index()
STAMPS = {name: prompt.stamp for name, prompt in prompts().items()}


def answered(request: dict[str, Any]) -> Answer:
    name = request["response_format"]["json_schema"]["name"]
    if name == "check":
        return completion('{"ok": true}')
    return completion(obedient(name, request["messages"][1]["content"]), prompt=100, reply=10)


def without_updates(request: dict[str, Any]) -> Answer:
    """As `answered`, but each update is refused."""
    name = request["response_format"]["json_schema"]["name"]
    return refusal(400, "no") if name == "theta_update" else answered(request)


def config(out: Path, server: Loopback, **settings: Any) -> Config:
    llm = {
        "model": "tiny", "base_url": server.base_url, "price_in": 2.0, "price_out": 5.0, **settings
    }  # fmt: skip
    whole = market_config(out).model_dump(mode="json")
    return Config.model_validate({**whole, "teacher": {"policy": "llm", "llm": llm}})


def labelled(settings: Config) -> Manifest:
    return label_market(settings, market_shop(), INDEX)


def lines(settings: Config, name: str) -> list[dict[str, Any]]:
    text = (settings.stage("labels") / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def names(server: Loopback) -> Counter[str]:
    return Counter(r["response_format"]["json_schema"]["name"] for r in server.requests)


def test_labels_carry_prompts_calls_tokens_and_cost(tmp_path: Path) -> None:
    with loopback(answered) as server:
        settings = config(tmp_path, server)
        counts = labelled(settings).counts
    teacher = [row for row in lines(settings, "rows.jsonl") if row["source"] == "teacher"]
    wanted = sorted(stamp for name, stamp in STAMPS.items() if name != "repair")
    assert all(row["prompt_hashes"] == wanted for row in teacher)
    assert counts["prompts"] == wanted
    steps = lines(settings, "traces.jsonl")
    calls = [call for step in steps for call in step["calls"]]
    assert all(
        c["prompt_tokens"] == 100 and c["reply_tokens"] == 10 and c["ms"] > 0 for c in calls
    )
    made = len(calls) + 8  # the stored preferences of eight users
    assert (counts["llm_calls"], counts["tokens"]) == (made, 110 * made)
    assert counts["cost"] == pytest.approx(made * (100 * 2 + 10 * 5) / 1e6)
    assert counts["fallbacks_all_rounds"] == counts["stored_preferences_fallbacks"] == {}


def test_users_are_stored_with_the_preferences_that_the_model_wrote(tmp_path: Path) -> None:
    with loopback(answered) as server:
        settings = config(tmp_path, server)
        labelled(settings)
        users = load_teacher(settings.stage("labels"), INDEX, settings).contexts.snapshot.users
    assert {user.preference for user in users} == {"red, soft light"}


def test_a_second_run_asks_for_nothing_and_writes_the_same(tmp_path: Path) -> None:
    with loopback(answered) as server:
        settings = config(tmp_path, server)
        first = labelled(settings).hash
        before = names(server)
        shutil.rmtree(settings.stage("labels"))
        assert labelled(settings).hash == first
        assert names(server) == before
        (settings.out / REPLIES_FILE).unlink()
        shutil.rmtree(settings.stage("labels"))
        labelled(settings)
    assert sum(names(server).values()) > sum(before.values())


def test_what_only_moves_or_prices_calls_does_not_change_the_labels_key(tmp_path: Path) -> None:
    with loopback(answered) as server:
        key = labelled(config(tmp_path, server)).key
        moved = config(tmp_path, server, timeout_s=9.0, retries=1, concurrency=2, price_in=1.0)
        assert labelled(moved).key == key
        assert labelled(config(tmp_path, server, max_tokens=333)).key != key


def test_each_failed_step_is_counted_by_name(tmp_path: Path) -> None:
    class Noting(SilentProgress):
        notes: ClassVar[list[str]] = []

        def note(self, line: str) -> None:
            self.notes.append(line)

    with loopback(without_updates) as server:
        settings = config(tmp_path, server)
        label_market(settings, market_shop(), INDEX, Noting())
    counts = read_manifest(settings.stage("labels"), "label").counts
    updates = [step for step in lines(settings, "traces.jsonl") if step["part"] == "update"]
    assert updates
    assert all(step["fallbacks"][-1] == "theta_update:engine_error" for step in updates)
    assert counts["fallbacks_all_rounds"] == {"theta_update:engine_error": len(updates)}
    assert f"(theta_update:engine_error {len(updates)})" in Noting.notes[-1]


def test_an_engine_that_refuses_its_check_stops_the_run_before_it_writes(tmp_path: Path) -> None:
    with loopback(lambda _: refusal(401, "who are you")) as server:
        settings = config(tmp_path, server, key_env="SHOP_KEY")
        with pytest.raises(EngineError, match="SHOP_KEY"):
            labelled(settings)
    assert not settings.stage("labels").exists()


def test_a_served_teacher_does_not_start_without_its_engine(tmp_path: Path) -> None:
    with loopback(answered) as server:
        settings = config(tmp_path, server, retries=0)
        labelled(settings)
    with pytest.raises(EngineError, match="Start the server"):
        load_teacher(settings.stage("labels"), INDEX, settings)


def test_a_served_teacher_asks_the_engine_each_time(tmp_path: Path) -> None:
    with loopback(answered) as server:
        settings = config(tmp_path, server)
        labelled(settings)
        teacher = load_teacher(settings.stage("labels"), INDEX, settings)
        request = market_shop().request(market_shop().split("test")[0])
        before = sum(names(server).values())  # the check that loading made among them
        answer = teacher.decide(request)
        teacher.decide(request)
    assert answer.llm_calls > 3
    assert sum(names(server).values()) == before + 2 * answer.llm_calls
