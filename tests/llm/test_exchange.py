"""Judging what a model wrote."""

from __future__ import annotations

import pytest

from adamroute.llm.chat import ReplyForm
from adamroute.llm.exchange import KEPT_TEXT, MAX_REPLY, Cost, reply_of


class Number(ReplyForm):
    n: float


class Why(ReplyForm):
    why: str


class Numbers(ReplyForm):
    title: str
    items: list[Number]


COST = Cost(3, 2, 1.0)


def test_a_reply_that_fits_is_its_value() -> None:
    reply = reply_of(' {"n": 0.5}\n', Number, COST)
    assert (reply.value, reply.failure, reply.error) == (Number(n=0.5), None, "")


@pytest.mark.parametrize(
    "text",
    ['{"n": NaN}', '{"n": Infinity}', '{"n": 1e999}', '{"n": 1', "[" * 19_000, "1" * 5000],
)
def test_numbers_that_are_none_and_endless_nesting_are_no_json(text: str) -> None:
    assert reply_of(text, Number, COST).failure == "reply_not_json"


def test_a_control_character_in_a_string_is_no_reason_to_refuse_a_reply() -> None:
    assert reply_of('{"why": "red\x18 lamp"}', Why, COST).value == Why(why="red\x18 lamp")


def test_a_breach_of_the_schema_says_where_it_is() -> None:
    reply = reply_of('{"n": "five"}', Number, COST)
    assert reply.failure == "reply_wrong_schema"
    assert reply.error == '$.n: Input should be a valid number, not "five"'


def test_of_many_breaches_the_outermost_is_told() -> None:
    reply = reply_of('{"items": [{"n": 1}, {"m": 2}]}', Numbers, COST)
    assert reply.error == "$.title: Field required"
    reply = reply_of('{"title": "", "items": [{"n": 1}, {}]}', Numbers, COST)
    assert reply.error == "$.items[1].n: Field required"
    assert reply_of("[1]", Numbers, COST).error == "$: Input should be an object"


def test_the_schema_sent_names_all_fields_and_holds_no_reference() -> None:
    number = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"],
              "additionalProperties": False}  # fmt: skip
    assert Numbers.schema_sent() == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "items": {"type": "array", "items": number}},
        "required": ["title", "items"],
        "additionalProperties": False,
    }


def test_truth_is_no_number() -> None:
    assert reply_of('{"n": true}', Number, COST).failure == "reply_wrong_schema"


def test_a_bad_reply_is_kept_for_its_repair_but_not_whole() -> None:
    long = "word " * MAX_REPLY
    reply = reply_of(long, Number, COST)
    assert (reply.failure, reply.text) == ("reply_not_json", long[:KEPT_TEXT])
    assert reply.error == f"{len(long)} characters, at most {MAX_REPLY} are read"
