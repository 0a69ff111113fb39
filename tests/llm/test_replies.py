"""Judging what a model wrote."""

from __future__ import annotations

from typing import Any

import pytest

from adamroute.llm.replies import KEPT_TEXT, MAX_REPLY, Cost, reply_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "number"}}}
COST = Cost(3, 2, 1.0)


def test_a_reply_that_fits_is_its_value() -> None:
    reply = reply_of(' {"n": 0.5}\n', SCHEMA, COST)
    assert (reply.value, reply.failure, reply.error) == ({"n": 0.5}, None, "")


@pytest.mark.parametrize(
    "text",
    ['{"n": NaN}', '{"n": Infinity}', '{"n": 1e999}', '{"n": 1', "[" * 19_000, "1" * 5000],
)
def test_numbers_that_are_none_and_endless_nesting_are_no_json(text: str) -> None:
    assert reply_of(text, SCHEMA, COST).failure == "reply_not_json"


def test_a_control_character_in_a_string_is_no_reason_to_refuse_a_reply() -> None:
    assert reply_of('{"why": "red\x18 lamp"}', SCHEMA, COST).value == {"why": "red\x18 lamp"}


def test_a_breach_of_the_schema_says_where_it_is() -> None:
    reply = reply_of('{"n": "five"}', SCHEMA, COST)
    assert reply.failure == "reply_wrong_schema"
    assert reply.error.startswith("$.n: 'five' is not of type")


def test_truth_is_no_number() -> None:
    assert reply_of('{"n": true}', SCHEMA, COST).failure == "reply_wrong_schema"


def test_a_bad_reply_is_kept_for_its_repair_but_not_whole() -> None:
    long = "word " * MAX_REPLY
    reply = reply_of(long, SCHEMA, COST)
    assert (reply.failure, reply.text) == ("reply_not_json", long[:KEPT_TEXT])
    assert reply.error == f"{len(long)} characters, at most {MAX_REPLY} are read"
