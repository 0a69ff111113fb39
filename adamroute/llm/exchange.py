"""What both engines share: an ask as chat messages, and what a model wrote as a Reply.

A server may ignore the schema it was given, so each reply is checked here whatever was promised.
"""

from __future__ import annotations

import base64
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from adamroute.catalogue.photo_decoding import open_photo
from adamroute.errors import ModelError, PhotoDefectError
from adamroute.llm.chat import Ask, Failure, Form, Reply

MAX_REPLY = 20_000  # characters; the longest reply that our forms allow has about 5,000
KEPT_TEXT = 2_000  # characters of a bad reply that a repair shows the model again
KEPT_ERROR = 200
LARGE = 1_000_000  # pixels; as PNG, a picture of more would be too much for many servers
Message = dict[str, Any]  # the OpenAI chat format, which is nested JSON


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call cost over all attempts."""

    prompt_tokens: int = 0
    reply_tokens: int = 0
    ms: float = 0.0


def messages_of(ask: Ask[Form]) -> list[Message]:
    """System and user message, photos as data URLs. ModelError where a photo can't be read."""
    text = {"type": "text", "text": ask.user}
    images = [{"type": "image_url", "image_url": {"url": _data_url(p)}} for p in ask.images]
    content: object = [*images, text] if images else ask.user
    return [{"role": "system", "content": ask.system}, {"role": "user", "content": content}]


def reply_of(text: str, form: type[Form], cost: Cost, *, truncated: bool = False) -> Reply[Form]:
    """A reply with its value, or with the name and wording of what is wrong with it."""
    if truncated:
        return failed("reply_truncated", f"cut after {cost.reply_tokens} tokens", cost, text)
    if len(text) > MAX_REPLY:
        problem = f"{len(text)} characters, at most {MAX_REPLY} are read"
        return failed("reply_not_json", problem, cost, text)
    try:
        # Not strict: xgrammar lets raw control characters into strings of bounded length, and
        # whoever reads a reply cleans its strings anyway.
        said = json.loads(text, strict=False, parse_constant=_refused, parse_float=_finite)
        whole = json.dumps(said, ensure_ascii=False).encode("utf-8", "ignore")  # no half pairs
    except (ValueError, RecursionError) as error:  # recursion: ten thousand opening brackets
        return failed("reply_not_json", str(error), cost, text)
    try:
        value = form.model_validate_json(whole)
    except ValidationError as error:
        return failed("reply_wrong_schema", _breach(error), cost, text)
    return Reply(value, None, cost.prompt_tokens, cost.reply_tokens, cost.ms, text[:KEPT_TEXT])


def failed(failure: Failure, error: str, cost: Cost, text: str = "") -> Reply[Any]:
    """A reply that can't be used."""
    return Reply(
        value=None,
        failure=failure,
        prompt_tokens=cost.prompt_tokens,
        reply_tokens=cost.reply_tokens,
        ms=cost.ms,
        text=text[:KEPT_TEXT],
        error=error[:KEPT_ERROR],
    )


def photo_sent(path: Path) -> tuple[str, bytes]:
    """What a model is sent of a photo: its MIME type, and the file's bytes or what was made of it.

    The bytes are the file's own where every reader sees the same in them. PhotoDefectError where
    the photo can't be used.
    """
    photo = open_photo(path)
    if photo.stored:
        return f"image/{photo.stored.lower()}", path.read_bytes()
    made = io.BytesIO()
    kind = "PNG" if photo.image.width * photo.image.height <= LARGE else "JPEG"
    photo.image.save(made, kind, quality=95)
    return f"image/{kind.lower()}", made.getvalue()


def _data_url(path: Path) -> str:
    try:
        kind, data = photo_sent(path)
    except PhotoDefectError as error:
        raise ModelError(str(error)) from error
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _breach(error: ValidationError) -> str:
    """The outermost breach of the form, as "$.items[0].query: Field required"."""
    breach = min(error.errors(include_url=False), key=lambda one: len(one["loc"]))
    place = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in breach["loc"])
    said = breach["input"]
    found = "" if isinstance(said, (dict, list)) else f", not {json.dumps(said)[:40]}"
    return f"${place}: {breach['msg']}{found}"


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number
