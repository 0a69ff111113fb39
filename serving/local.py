"""One request from a shell: answered in this process by the served logic, or by a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx
from pydantic import JsonValue, ValidationError

from adamroute.config import Config
from adamroute.errors import RequestError, ServingError
from adamroute.serving.flow import Flow, Nodes
from adamroute.serving.nodes import Recall, Router, Score, Teach
from adamroute.serving.problems import field_path
from adamroute.serving.schemas import RecommendAnswer, RecommendBody
from serving import parts

Body = Mapping[str, JsonValue]


class Unmetered:
    """A process that answers one request has nobody to count for."""

    def count(self, counter: str, /, **tags: str) -> None: ...

    def latency(self, stage: str, ms: float) -> None: ...

    def info(self, event: str, **values: object) -> None: ...


def local_flow(config: Config) -> Flow:
    """The served graph without a cluster; router, recall and teacher share one index."""
    facts = parts.check(config)
    index = parts.index(config)
    nodes = Nodes(
        router=Router(parts.student(config), parts.calibration(config)),
        recall=Recall(index, parts.users(config)),
        scorer=Score(parts.scorer(config)),
        teacher=Teach(parts.teacher(config, index)),
    )
    return Flow(nodes, facts, config.serve, meter=Unmetered(), log=Unmetered())


def answer_here(config: Config, body: Body) -> RecommendAnswer:
    """Answer in this process. RequestError names the part of the body that is wrong."""
    try:
        request = RecommendBody.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"])
        raise RequestError(field, f"{field}: {first['msg']}") from error
    return asyncio.run(local_flow(config).recommend(request))


def answer_over_http(url: str, body: Body, timeout_s: float = 30.0) -> RecommendAnswer:
    """Ask a server. ServingError with what it said, or that nothing listens there."""
    try:
        reply = httpx.post(f"{url.rstrip('/')}/v1/recommend", json=dict(body), timeout=timeout_s)
    except httpx.HTTPError as error:
        raise ServingError(
            f"{url}: no answer ({error}). Start a server first: adamroute serve CONFIG"
        ) from error
    if reply.status_code != httpx.codes.OK:
        raise ServingError(f"{url}: HTTP {reply.status_code}: {reply.text[:500]}")
    return RecommendAnswer.model_validate_json(reply.text)
