"""The judging page: a person types real queries and clicks what was meant. Loopback only.

Plain forms, so that it works without JavaScript; a few lines of it bring keys. A page of another
origin cannot speak here: the Host must be this machine's, every form carries this start's token,
and nothing is loaded from elsewhere. Only photos that the index names are shown.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qsl, quote

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.middleware.trustedhost import TrustedHostMiddleware

from adamroute.assembly import load_index
from adamroute.catalogue.folds import judged_file
from adamroute.catalogue.judged_queries import ENOUGH
from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS
from adamroute.config import Config
from adamroute.errors import AdamrouteError, ConfigError, RequestError
from adamroute.failures import ending
from adamroute.process import Stopped
from adamroute.serving.judge_desk import JudgeDesk, Tally

HOST = "127.0.0.1"
HOSTS = [HOST, "localhost"]
MOST_FORM = 64 * 1024  # bytes
STOPPING_S = 2
Render = Callable[..., HTMLResponse]


class JudgeForm(BaseModel):
    """What a button of the page sends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    query: str = ""
    item_id: str = ""


def judge_forever(config: Config, on_ready: Callable[[str], None], port: int) -> Tally:
    """Serve the page over a finished build until Ctrl-C or SIGTERM; the value is how far it got.

    ArtifactError where there is no index, ConfigError where the port is taken.
    """
    with _listener(port) as listener:
        desk = JudgeDesk(load_index(config.stage("index")), config.shop, judged_file(config))
        settings = uvicorn.Config(
            create_judging(desk, config.name),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=STOPPING_S,
        )
        on_ready(f"http://{HOST}:{listener.getsockname()[1]}")
        with suppress(Stopped):  # once it has shut down, uvicorn raises the signal once more
            uvicorn.Server(settings).run(sockets=[listener])
        return desk.tally()


def create_judging(desk: JudgeDesk, shop: str) -> FastAPI:
    """The page and its forms."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)
    token, nonce = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
    render = _renderer(desk, shop, token, nonce)
    _guard(app, render, nonce)

    @app.get("/")
    def home(q: str = "", name: str = "") -> HTMLResponse:
        if not q.strip():
            return render()
        named = desk.named(name, q) if name.strip() else None
        return render(words=q, lists=desk.lists(q), named=named)

    @app.post("/meant")
    async def meant(request: Request) -> Response:
        form = await _form(request, token)
        await run_in_threadpool(desk.mean, form.query, form.item_id)
        return RedirectResponse("/", 303)

    @app.post("/none")
    async def none(request: Request) -> Response:
        form = await _form(request, token)
        await run_in_threadpool(desk.mean_none, form.query)
        return RedirectResponse("/", 303)

    @app.post("/undo")
    async def undo(request: Request) -> Response:
        await _form(request, token)
        query = await run_in_threadpool(desk.undo)
        return RedirectResponse("/" if query is None else f"/?q={quote(query)}", 303)

    _serve_photos(app, desk)
    return app


def _serve_photos(app: FastAPI, desk: JudgeDesk) -> None:
    @app.get("/photo/{row}")
    def photo(row: int) -> Response:
        try:
            content = desk.thumbnail(row)
        except AdamrouteError:
            return Response(status_code=404)
        return Response(content, media_type="image/jpeg")


async def _form(request: Request, token: str) -> JudgeForm:
    """The fields of a form; RequestError where it is none of this page."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_FORM:
            raise RequestError("body", f"More than {MOST_FORM:,} bytes. Shorten the words")
    try:
        pairs = parse_qsl(data.decode("ascii"), keep_blank_values=True, max_num_fields=10)
        form = JudgeForm.model_validate(dict(pairs))
    except (ValueError, ValidationError) as error:
        raise RequestError("body", "Not a form of this page. Open it anew") from error
    if not secrets.compare_digest(form.token.encode(), token.encode()):
        raise RequestError("token", "This page is of an earlier start. Search again")
    return form


def _renderer(desk: JudgeDesk, shop: str, token: str, nonce: str) -> Render:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("adamroute.serving"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("judge.html.j2")

    def render(status: int = 200, **values: object) -> HTMLResponse:
        given = {"words": "", "lists": None, "named": None, "error": "", **values}
        text = template.render(
            shop=shop,
            token=token,
            nonce=nonce,
            tally=desk.tally(),
            enough=ENOUGH,
            version=desk.version,
            **given,
        )
        return HTMLResponse(text, status)

    return render


def _guard(app: FastAPI, render: Render, nonce: str) -> None:
    """Errors as a page, and headers that let nothing in from elsewhere."""
    policy = "; ".join(
        (
            "default-src 'none'", "img-src 'self' data:", f"style-src 'nonce-{nonce}'",
            f"script-src 'nonce-{nonce}'", "form-action 'self'", "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )  # fmt: skip

    @app.middleware("http")
    async def _headers(
        request: Request, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await answer(request)
        photo = request.url.path.startswith("/photo/")
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "private, max-age=3600" if photo else "no-store"
        return response

    @app.exception_handler(RequestError)
    async def _wrong(request: Request, error: RequestError) -> HTMLResponse:
        words = request.query_params.get("q", "")[:MAX_QUERY_CHARACTERS]
        return render(403 if error.field == "token" else 422, words=words, error=str(error))

    @app.exception_handler(OSError)
    async def _unwritten(_: Request, error: OSError) -> HTMLResponse:
        return render(500, error=f"Not kept. {ending(error)[0].splitlines()[-1]}")


def _listener(port: int) -> socket.socket:
    """Bound to loopback alone; ConfigError where the port cannot be had."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        raise ConfigError(
            f"judge: cannot listen on {HOST}:{port} ({error}). Stop what runs there, or give "
            "another --port (0 takes any free one)"
        ) from error
    return found
