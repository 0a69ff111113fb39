"""A real Ray cluster, started as a person starts it, asked over HTTP and stopped by Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import grpc  # type: ignore[import-untyped]
import httpx
import psutil
import pytest
import yaml
from pydantic import TypeAdapter

from adamroute.catalogue.folder import read_shop
from adamroute.config import Config
from adamroute.errors import ConfigError
from adamroute.recommender import Recommendation
from adamroute.run import Run, open_run
from adamroute.serving.app import open_port
from adamroute.serving.schemas import Problem, RecommendBody, asking
from adamroute.serving.telemetry import LOG_FILE

pytestmark = pytest.mark.slow

SERVE = "from adamroute.cli import main; main()"


@pytest.fixture(scope="module")
def url(tiny_run: Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`adamroute serve` in a process of its own; Ctrl-C at the end leaves nothing behind."""
    path = tmp_path_factory.mktemp("serve") / "tiny.yaml"
    patient = tiny_run.serve.model_copy(update={"timeout_s": 60.0})  # a busy machine is no failure
    config = tiny_run.model_copy(update={"serve": patient})
    path.write_text(yaml.safe_dump(config.model_dump(mode="json")), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**without("OMP_WAIT_POLICY"), "PYTHONUNBUFFERED": "1"},
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        line = server.stdout.readline()
        if "http://" not in line:
            pytest.fail(f"adamroute serve: {line}{server.stderr.read()}")
        family = psutil.Process(server.pid).children(recursive=True)
        try:
            yield line.split()[-1]
        finally:
            server.send_signal(signal.SIGINT)
            code = server.wait(timeout=60)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert code == 0
    assert alive == []


def without(variable: str) -> dict[str, str]:
    """This process's environment but for one variable."""
    return {name: value for name, value in os.environ.items() if name != variable}


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30.0) as client:
        yield client


@pytest.fixture(scope="module")
def asked(tiny_run: Config) -> list[dict[str, object]]:
    """Requests of known users, a query-free one, one of a stranger and one with all given."""
    shop = read_shop(tiny_run.shop)
    known = [{"user_id": q.user_id, "query": q.text, "n": 5} for q in shop.split("test")[:3]]
    first = shop.catalogue.items[0].item_id
    return [
        *known,
        {"user_id": known[0]["user_id"], "n": 5},
        {"query": "red striped mug", "n": 5},
        {
            "query": "something to sit on",
            "n": 5,
            "history": [{"item_id": first, "label": "pos"}],
            "preferences": {"strong_pref": ["blue"], "dislike": ["red"]},
        },
    ]


@pytest.fixture(scope="module")
def run(tiny_run: Config) -> Run:
    return open_run(tiny_run.out)


def post(client: httpx.Client, path: str, body: object) -> httpx.Response:
    return client.post(path, json=body)


@pytest.mark.parametrize("policy", ["auto", "auto@1", "student", "teacher", "static@0.3,40"])
def test_the_cluster_answers_exactly_as_the_library(
    client: httpx.Client, run: Run, asked: list[dict[str, object]], policy: str
) -> None:
    for body in asked:
        parsed = RecommendBody.model_validate_json(json.dumps(body))
        wanted = asyncio.run(
            run.recommender.recommend(policy=policy, n=parsed.n, **asking(parsed, "here"))
        )
        reply = post(client, "/v1/recommend", {**body, "policy": policy})
        assert reply.status_code == 200, reply.text
        answer = TypeAdapter(Recommendation).validate_json(reply.content)
        assert answer.theta == wanted.theta
        assert (answer.source, answer.fallback, answer.user, answer.versions) == (
            wanted.source,
            wanted.fallback,
            wanted.user,
            wanted.versions,
        )
        assert [i.item_id for i in answer.items] == [i.item_id for i in wanted.items]
        assert [i.score for i in answer.items] == pytest.approx([i.score for i in wanted.items])


def test_photos_of_an_answer_lie_in_the_shop_folder(
    client: httpx.Client, tiny_run: Config, asked: list[dict[str, object]]
) -> None:
    answer = post(client, "/v1/recommend", asked[0]).json()
    photos = [tiny_run.shop / item["image"] for item in answer["items"] if item["image"]]
    assert photos
    assert all(photo.is_file() for photo in photos)


def test_route_gives_the_theta_of_recommend(
    client: httpx.Client, asked: list[dict[str, object]]
) -> None:
    for body in asked:
        routed = post(client, "/v1/route", {k: v for k, v in body.items() if k != "n"})
        assert routed.status_code == 200
        assert routed.json()["theta"] == post(client, "/v1/recommend", body).json()["theta"]


@pytest.mark.parametrize(
    ("content", "status", "field"),
    [
        (b'{"query": "\xff"}', 422, "body"),
        (b"{", 422, "body"),
        (b'{"query": "rug", "n": NaN}', 422, "n"),
        (json.dumps({"query": "x" * 100_000}).encode(), 422, "query"),
        (json.dumps({"query": "x" * 2_000_000}).encode(), 413, "body"),
        (b'{"query": "rug", "history": [{"item_id": "?", "label": "pos"}]}', 422,
         "history[0].item_id"),
        (b'{"query": "rug", "policy": "magic"}', 422, "policy"),
    ],
)  # fmt: skip
def test_bad_input_is_a_problem_through_the_proxy_too(
    client: httpx.Client, content: bytes, status: int, field: str
) -> None:
    headers = {"content-type": "application/json"}
    reply = client.post("/v1/recommend", content=content, headers=headers)
    assert (reply.status_code, reply.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    assert Problem.model_validate_json(reply.content).field == field


def test_paths_and_methods_nobody_serves_are_problems(client: httpx.Client) -> None:
    for reply in (client.get("/nothing"), client.delete("/v1/route")):
        assert reply.status_code in (404, 405)
        assert reply.headers["content-type"] == "application/problem+json"


def test_health_readiness_and_documents(client: httpx.Client) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    replicas = client.get("/readyz").json()["replicas"]
    assert replicas == dict.fromkeys(("recommender", "router", "teacher"), "ready")
    assert client.get("/docs").status_code == 200
    assert "/v1/recommend" in client.get("/openapi.json").json()["paths"]


def test_requests_at_the_same_time_get_the_answers_they_get_alone(
    url: str, client: httpx.Client, asked: list[dict[str, object]]
) -> None:
    alone = [post(client, "/v1/recommend", body).json() for body in asked]

    async def together() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=url, timeout=30.0) as many:
            return list(
                await asyncio.gather(*(many.post("/v1/recommend", json=b) for b in asked * 4))
            )

    for one, reply in zip(alone * 4, asyncio.run(together()), strict=True):
        assert reply.status_code == 200
        assert reply.json()["theta"] == one["theta"]
        assert reply.json()["items"] == one["items"]


def test_two_hundred_clients_do_not_make_it_unready(
    url: str, asked: list[dict[str, object]]
) -> None:
    """Answers are 200 or 503 by admission control; health and readiness are always 200."""

    async def together() -> tuple[set[int], set[int]]:
        limits = httpx.Limits(max_connections=300)
        async with httpx.AsyncClient(base_url=url, timeout=120.0, limits=limits) as many:
            work = [
                asyncio.create_task(many.post("/v1/recommend", json=asked[k % len(asked)]))
                for k in range(200)
            ]
            states = set()
            while not all(task.done() for task in work):
                for path in ("/readyz", "/healthz"):
                    states.add((await many.get(path)).status_code)
                await asyncio.sleep(0.1)
            return {task.result().status_code for task in work}, states

    answers, states = asyncio.run(together())
    assert 200 in answers <= {200, 503}
    assert states == {200}


def test_a_replica_that_dies_is_named_and_comes_back(url: str, client: httpx.Client) -> None:
    family = _family(int(url.rsplit(":", 1)[1]))
    (router,) = (p for p in family if p.name().startswith("ray::ServeReplica:adamroute:router"))
    router.kill()
    seen = [client.get("/readyz")]
    deadline = monotonic() + 120.0  # of a start on a busy machine; nothing rests on it
    while (503 not in _codes(seen) or seen[-1].status_code != 200) and monotonic() < deadline:
        sleep(0.2)
        seen.append(client.get("/readyz"))
    assert _codes(seen) == [200, 503, 200]
    (told,) = {reply.json()["detail"].split(" not ready")[0] for reply in seen if reply.is_error}
    assert told == "router"


def _codes(replies: list[httpx.Response]) -> list[int]:
    """Status codes, each stretch of equal ones once."""
    return [code for code, _ in groupby(reply.status_code for reply in replies)]


def test_every_request_leaves_one_line_without_the_query(
    client: httpx.Client, tiny_run: Config
) -> None:
    reply = post(client, "/v1/recommend", {"query": "xylophone", "policy": "static@0.5,20"})
    lines = (tiny_run.out / LOG_FILE).read_text(encoding="utf-8").splitlines()
    mine = [x for x in map(json.loads, lines) if x["request_id"] == reply.json()["request_id"]]
    assert len(mine) == 1
    assert (mine[0]["theta"], mine[0]["source"]) == ({"alpha": 0.5, "budget": 20}, "static")
    assert "xylophone" not in "".join(lines)


def test_a_port_that_is_taken_is_said_before_anything_starts(url: str, tiny_run: Config) -> None:
    taken = tiny_run.serve.model_copy(update={"port": int(url.rsplit(":", 1)[1])})
    with pytest.raises(ConfigError, match=r"set serve\.port"):
        open_port(taken)


def test_a_replica_that_cannot_start_is_quoted(tiny_run: Config, tmp_path: Path) -> None:
    plain = tiny_run.model_dump(mode="json")
    path = tmp_path / "other.yaml"
    path.write_text(yaml.safe_dump({**plain, "reranker": {"kind": "llm"}}))
    found = subprocess.run(
        [sys.executable, "-c", SERVE, "serve", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 2
    assert "the server did not start: " in found.stderr
    assert "reranker: made for another `reranker`" in found.stderr


def test_waiting_threads_of_replicas_sleep(url: str) -> None:
    raylets = [p for p in _family(int(url.rsplit(":", 1)[1])) if p.name() == "raylet"]
    assert [p.environ().get("OMP_WAIT_POLICY") for p in raylets] == ["PASSIVE"]  # parent of all
    assert [p.environ().get("OMP_NUM_THREADS") for p in raylets] == [None]  # each by its CPUs


def test_beyond_loopback_only_replicas_listen_and_they_want_the_token(url: str) -> None:
    listening = _listening(int(url.rsplit(":", 1)[1]))
    beyond = {(port, name) for address, port, name in listening if address != "127.0.0.1"}
    # Serve binds these to all interfaces whatever it is told, and they take pickles.
    assert len(beyond) == 4
    for port, name in beyond:
        assert name.startswith("ray::ServeReplica")
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary("/ray.serve.ASGIService/HandleRequest")
            with pytest.raises(grpc.RpcError) as refused:
                call(b"", timeout=10.0)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def _listening(http_port: int) -> list[tuple[str, int, str]]:
    """Address, port and process of everything that the server's process tree listens on."""
    names = {p.pid: p.name() for p in _family(http_port)}
    return [
        (c.laddr.ip.removeprefix("::ffff:"), c.laddr.port, names[c.pid])
        for c in _sockets()
        if c.pid in names
    ]


def _family(http_port: int) -> list[psutil.Process]:
    """The server's process and all below it."""
    proxy = next(c.pid for c in _sockets() if c.laddr.port == http_port)
    server = next(p for p in psutil.Process(proxy).parents() if "serve" in p.cmdline())
    return [server, *server.children(recursive=True)]


def _sockets() -> list[Any]:
    return [c for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.pid]
