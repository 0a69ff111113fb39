"""The HTTP interface: FastAPI over `Admission`; bodies and errors are read and formed by us."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from adamroute import __version__
from adamroute.recommender import Recommendation, Routing
from adamroute.serving.admission import Admission
from adamroute.serving.problems import MEDIA_TYPE, install, problem, read_body
from adamroute.serving.readiness import READY
from adamroute.serving.schemas import (
    Health,
    Problem,
    RecommendBody,
    RouteBody,
)

_REF = "#/components/schemas/{model}"
_ERRORS: dict[int, str] = {
    413: "the body is larger than a megabyte",
    415: "the body is not JSON",
    422: "the body is wrong; `field` names where",
    503: "too busy, or a part is restarting; see Retry-After",
    504: "no answer in time",
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}},
    }
    for status, text in _ERRORS.items()
}


def create_api(admission: Admission) -> FastAPI:
    """All endpoints; needs no cluster."""
    app = FastAPI(
        title="adamroute",
        version=__version__,
        summary="Recommendations whose recall budget is split per request.",
        redirect_slashes=False,
        lifespan=_watching(admission),
    )
    install(app)

    @app.post("/v1/recommend", responses=_PROBLEMS, openapi_extra=_body_of(RecommendBody))
    async def recommend(request: Request) -> Recommendation:
        """Items for a request, with the theta that found them and why it was chosen."""
        return await admission.recommend(await read_body(request, RecommendBody))

    @app.post("/v1/route", responses=_PROBLEMS, openapi_extra=_body_of(RouteBody))
    async def route(request: Request) -> Routing:
        """Theta alone."""
        return await admission.route(await read_body(request, RouteBody))

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> Health:
        """The ingress is alive; says nothing of the rest."""
        return Health(status="ok")

    @app.head("/readyz", response_model=None, include_in_schema=False)
    @app.get("/readyz", response_model=Health)
    async def readyz() -> Health | JSONResponse:
        """200 while every replica is there, 503 otherwise; waits for no request's work."""
        replicas = await admission.ready()
        if all(state == READY for state in replicas.values()):
            return Health(status="ready", replicas=replicas)
        waiting = "; ".join(f"{k} {v}" for k, v in replicas.items() if v != READY)
        return problem(503, waiting, headers={"Retry-After": "1"})

    _describe_bodies(app)
    return app


def _watching(admission: Admission) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The replicas are watched from the start, so that the first question finds an answer."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await admission.ready()
        yield

    return lifespan


def _body_of(schema: type[BaseModel]) -> dict[str, Any]:
    """The endpoint reads its body itself, so OpenAPI must be told of it."""
    content = {"application/json": {"schema": {"$ref": _REF.format(model=schema.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


def _describe_bodies(app: FastAPI) -> None:
    built = app.openapi  # FastAPI's own; caches what it returns

    def openapi() -> dict[str, Any]:
        document = built()
        known = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (RecommendBody, RouteBody, Problem):
            schema = model.model_json_schema(ref_template=_REF)
            known.update(schema.pop("$defs", {}))
            known[model.__name__] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own hook
