"""Every error leaves as application/problem+json; bad input is never a 500."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus
from typing import TypeVar

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from adamroute.errors import BusyError, DeadlineError, RequestError
from adamroute.serving.schemas import Problem

MEDIA_TYPE = "application/problem+json"
MAX_BODY = 1_000_000  # bytes
RETRY_AFTER_S = 1
Body = TypeVar("Body", bound=BaseModel)
_SHOWN = 60  # characters of a wrong value that an error repeats


def problem(
    status: int, detail: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The one form in which an error leaves."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, field=field)
    return JSONResponse(body.model_dump(), status, dict(headers or {}), media_type=MEDIA_TYPE)


class BodyError(Exception):
    """The body cannot even be read as the schema; carries its HTTP status."""

    def __init__(self, status: int, detail: str, field: str = "body") -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field


async def read_body(request: Request, schema: type[Body]) -> Body:
    """Bytes to a checked body: 413 over a megabyte, 415 other than JSON in UTF-8, 422 all else.

    pydantic reads the bytes itself: it refuses broken UTF-8, lone surrogates and deep nesting,
    all of which the standard library's reader lets through or dies of. A byte order mark is
    skipped.
    """
    _check_headers(request.headers)
    data = (await _bytes(request)).removeprefix(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:2]:
        raise BodyError(422, "body: UTF-16 or UTF-32; send UTF-8")
    try:
        body = schema.model_validate_json(data)
    except ValidationError as error:
        raise _described(error) from None
    json.loads(data, object_pairs_hook=_once_each)  # it is small and flat: the schema says so
    return body


def _check_headers(headers: Mapping[str, str]) -> None:
    sent = Message()
    sent["content-type"] = headers.get("content-type", "application/json")
    kind, charset = sent.get_content_type(), str(sent.get_param("charset", "utf-8"))
    if kind != "application/json" and not kind.endswith("+json"):
        shown = sent["content-type"].partition(";")[0].strip().lower()
        raise BodyError(415, f"content type {shown[:_SHOWN]!r}: send application/json")
    if charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        raise BodyError(415, f"charset {charset[:_SHOWN]!r}: send UTF-8", "content-type")
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise BodyError(
            415, f"content encoding {encoding[:_SHOWN]!r}: send it as it is", "content-encoding"
        )


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """One object of the body; BodyError names a key that it has twice, of which one would win."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise BodyError(422, f"{key}: stands twice in one object of the body", key)
    return found


async def _bytes(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise BodyError(413, f"the body has more than {MAX_BODY:,} bytes")
        parts.append(part)
    return b"".join(parts)


def field_path(loc: tuple[int | str, ...]) -> str:
    """("history", 2, "item_id") to "history[2].item_id"; "body" for the whole."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "body"


def _described(error: ValidationError) -> BodyError:
    errors = error.errors(include_url=False, include_context=False)
    first = errors[0]
    field = field_path(first["loc"])
    detail = f"{field}: {first['msg']}"
    if first["type"] not in ("json_invalid", "missing"):
        detail += f", got {repr(first['input'])[:_SHOWN]}"
    if len(errors) > 1:
        detail += f" (and {len(errors) - 1} more)"
    return BodyError(422, detail, field)


def install(app: FastAPI) -> None:
    """Translate every exception that can leave an endpoint."""

    @app.exception_handler(BodyError)
    async def _body(_: Request, error: BodyError) -> JSONResponse:
        return problem(error.status, error.detail, error.field)

    @app.exception_handler(RequestError)
    async def _request(_: Request, error: RequestError) -> JSONResponse:
        return problem(422, str(error), error.field)

    @app.exception_handler(BusyError)
    async def _busy(_: Request, error: BusyError) -> JSONResponse:
        return problem(503, str(error), headers={"Retry-After": str(RETRY_AFTER_S)})

    @app.exception_handler(DeadlineError)
    async def _late(_: Request, error: DeadlineError) -> JSONResponse:
        return problem(504, str(error))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
        structlog.get_logger().error("unforeseen", path=request.url.path, error=repr(error))
        return problem(500, "an error of ours; the server's log has it")
