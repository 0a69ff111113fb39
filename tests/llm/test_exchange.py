"""Judging what a model wrote."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from adamroute.errors import ModelError
from adamroute.llm.chat import Ask, ReplyForm
from adamroute.llm.exchange import KEPT_TEXT, MAX_REPLY, Cost, messages_of, reply_of
from tests.catalogue.pictures import (
    BLUE,
    RED,
    at,
    bytes_of,
    near,
    red_above_blue,
    saved,
    turned,
)


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


def shown(path: Path) -> str:
    """The data URL that a photo becomes."""
    content = messages_of(Ask("p@1", "s", "u", Number, 8, (path,)))[1]["content"]
    return str(content[0]["image_url"]["url"])


def test_a_plain_photo_is_sent_as_it_is_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "photo.gif"
    path.write_bytes(bytes_of(red_above_blue(), "JPEG"))
    kind, _, data = shown(path).partition(";base64,")
    assert (kind, base64.b64decode(data)) == ("data:image/jpeg", path.read_bytes())


@pytest.mark.parametrize("large", [10**6, 0])
def test_a_photo_that_readers_would_see_otherwise_is_sent_as_every_part_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr("adamroute.llm.exchange.LARGE", large)
    lying = red_above_blue().transpose(Image.Transpose.ROTATE_90)
    path = saved(tmp_path / "a.jpg", lying, **turned(6))
    kind, _, data = shown(path).partition(";base64,")
    assert kind == ("data:image/png" if large else "data:image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert near(at(image, 0.5, 0.15), RED)
        assert near(at(image, 0.5, 0.7), BLUE)
        assert 0x0112 not in image.getexif()


def test_a_photo_that_cannot_be_used_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    with pytest.raises(ModelError, match=r"a\.jpg: photo can't be read"):
        shown(tmp_path / "a.jpg")
