"""Bodies, errors and documents over HTTP, against the FastAPI application in this process."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter

from adamroute.config import ServeConfig
from adamroute.errors import ShopError
from adamroute.recommender import Recommendation, RecommendedItem, Routing
from adamroute.recommender.nodes import Grading
from adamroute.reranking.features import Case
from adamroute.serving.api import create_api
from adamroute.serving.problems import MAX_BODY
from adamroute.serving.schemas import Problem
from tests.recommender.small_shop import (
    FACTS,
    IDS,
    FullTeacher,
    StuckTeacher,
    nodes,
    recommender,
)
from tests.serving.front import admission

JSON = {"content-type": "application/json"}
BODY: dict[str, object] = {"user_id": "ann", "query": "red rug"}


def ask(
    app: FastAPI,
    method: str,
    path: str,
    *,
    content: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, content=content, headers=headers)

    return asyncio.run(send())


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_api(admission())


@pytest.fixture(params=["/v1/recommend", "/v1/route"])
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def post(app: FastAPI, path: str, body: object) -> httpx.Response:
    return ask(app, "POST", path, content=json.dumps(body).encode(), headers=JSON)


def problem(response: httpx.Response, status: int) -> Problem:
    """The response is a problem of this status, with all members of the contract."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert set(response.json()) == {"type", "title", "status", "detail", "field"}
    found = Problem.model_validate(response.json())
    assert found.status == status
    return found


def test_recommend_answers_with_all_members_of_the_contract(app: FastAPI) -> None:
    response = post(app, "/v1/recommend", {**BODY, "n": 2, "policy": "auto"})
    assert response.status_code == 200
    answer = TypeAdapter(Recommendation).validate_json(response.content)
    assert answer.request_id == "r1"
    assert set(response.json()) >= {
        "request_id", "theta", "source", "confidence", "threshold", "fallback", "items",
        "timings_ms", "versions",
    }  # fmt: skip
    assert response.json()["theta"] == {"alpha": 0.5, "budget": 4}
    assert set(response.json()["items"][0]) == {
        "item_id", "title", "image", "score", "levels", "text_rank", "mm_rank", "origin",
    }  # fmt: skip
    assert len(response.json()["items"][0]["levels"]) == 5
    assert answer.versions.index == "i"


def test_route_answers_with_theta_and_no_items(app: FastAPI) -> None:
    response = post(app, "/v1/route", BODY)
    assert TypeAdapter(Routing).validate_json(response.content).theta.budget == 4
    assert "items" not in response.json()


def test_the_body_of_the_contract_with_everything_given_is_understood(app: FastAPI) -> None:
    body = {
        "user_id": "u17", "query": "round lime green rug", "n": 3, "policy": "auto@0.8",
        "history": [{"item_id": "red-rug", "label": "pos"}],
        "preferences": {"strong_pref": ["wood"], "nice_to_have": [], "dislike": ["glossy"]},
    }  # fmt: skip
    response = post(app, "/v1/recommend", body)
    assert (response.status_code, response.json()["user"]) == (200, "given")


def test_a_given_history_is_of_now_and_hides_nothing_that_neighbours_did() -> None:
    clocked = recommender(facts=replace(FACTS, time="global"))
    given = [{"item_id": "red-rug", "label": "pos"}, {"item_id": "red-lamp", "label": "pos"}]
    body = {**BODY, "user_id": None, "history": given, "policy": "static@0.5,2", "n": 6}
    items = post(create_api(admission(clocked)), "/v1/recommend", body).json()["items"]
    assert {"item_id": "cable", "origin": "collaborative"} in [
        {name: item[name] for name in ("item_id", "origin")} for item in items
    ]


def test_an_unknown_user_is_answered_and_told_so(app: FastAPI) -> None:
    assert post(app, "/v1/route", {"query": "rug"}).json()["user"] == "unknown"


def test_null_and_absent_query_are_the_same_query_free_request(app: FastAPI) -> None:
    for body in ({"user_id": "ann"}, {"user_id": "ann", "query": None}):
        assert post(app, "/v1/route", body).status_code == 200


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t"}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"query": "x" * 100_000}, "query"),
        ({"query": 7}, "query"),
        ({"query": ["rug"]}, "query"),
        ({"query": None, "user_id": None}, "query"),
        ({"query": None, "user_id": "nobody"}, "query"),
        ({"query": None, "user_id": "cid"}, "query"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": 17}, "user_id"),
        ({"user_id": "x" * 257}, "user_id"),
        ({"policy": "oracle"}, "policy"),
        ({"policy": ""}, "policy"),
        ({"policy": None}, "policy"),
        ({"policy": "auto@1.5"}, "policy"),
        ({"policy": "auto@nan"}, "policy"),
        ({"policy": "static@2,20"}, "policy"),
        ({"policy": "static@0.5,0"}, "policy"),
        ({"policy": "static@0.5,7"}, "policy"),  # beyond tau
        ({"policy": "x" * 101}, "policy"),
        ({"history": "red-rug"}, "history"),
        ({"history": [{"item_id": "sofa", "label": "pos"}]}, "history[0].item_id"),
        (
            {"history": [{"item_id": "cable", "label": "pos"}, {"item_id": "", "label": "pos"}]},
            "history[1].item_id",
        ),
        ({"history": [{"item_id": "cable", "label": "yes"}]}, "history[0].label"),
        ({"history": [{"item_id": "cable"}]}, "history[0].label"),
        ({"history": [{"item_id": "cable", "label": "pos", "t": 1}]}, "history[0].t"),
        ({"history": [None]}, "history[0]"),
        ({"history": [{"item_id": "cable", "label": "pos"}] * 1001}, "history"),
        ({"preferences": ["red"]}, "preferences"),
        ({"preferences": {"strong_pref": "red"}}, "preferences.strong_pref"),
        ({"preferences": {"strong_pref": [1.5]}}, "preferences.strong_pref[0]"),
        ({"preferences": {"dislike": ["x" * 101]}}, "preferences.dislike[0]"),
        ({"preferences": {"likes": ["red"]}}, "preferences.likes"),
        ({"users": "ann"}, "users"),
    ],
)
def test_a_wrong_part_of_the_body_is_named(
    app: FastAPI, path: str, changes: dict[str, object], field: str
) -> None:
    found = problem(post(app, path, {**BODY, **changes}), 422)
    assert found.field == field
    assert len(found.detail) < 300


@pytest.mark.parametrize("n", [0, -1, 7, 201, 10**30, 2.5, "3", True, None, [3]])
def test_n_must_be_a_whole_number_in_range(app: FastAPI, n: object) -> None:
    assert problem(post(app, "/v1/recommend", {**BODY, "n": n}), 422).field == "n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"rug"',
        b"NaN",
        b'{"query": "rug", "n": NaN}',
        b'{"query": "rug", "n": Infinity}',
        b'{"query": "\xff\xfe"}',
        '{"query": "räk"}'.encode("latin-1"),
        '{"query": "rug"}'.encode("utf-16"),
        b'{"query": "\\ud800"}',  # half a surrogate pair
        b'{"query": "rug" "n": 3}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
    ],
)
def test_what_is_not_json_in_utf8_is_refused(app: FastAPI, content: bytes) -> None:
    found = problem(ask(app, "POST", "/v1/recommend", content=content, headers=JSON), 422)
    assert found.field in ("body", "n")


def test_odd_but_valid_text_is_served(app: FastAPI, path: str) -> None:
    for query in ("räksmörgås", "\x00rug\x1b", "🪑" * 500, "' OR 1=1 --", "\u202egur", "a" * 2000):
        assert post(app, path, {**BODY, "query": query}).status_code == 200


def test_a_body_of_more_than_a_megabyte_is_refused(app: FastAPI, path: str) -> None:
    assert problem(post(app, path, {"query": "x" * MAX_BODY}), 413).field == "body"


def test_another_content_type_is_refused_and_none_is_taken_for_json(app: FastAPI) -> None:
    content = json.dumps(BODY).encode()
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert problem(ask(app, "POST", "/v1/route", content=content, headers=form), 415)
    assert ask(app, "POST", "/v1/route", content=content).status_code == 200
    charset = {"content-type": "application/json; charset=utf-8"}
    assert ask(app, "POST", "/v1/route", content=content, headers=charset).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-encoding", "gzip"),
        ("content-encoding", "br"),
        ("content-encoding", "identity, gzip"),
        ("content-type", "application/json; charset=utf-16"),
        ("content-type", 'application/json; charset="ISO-8859-1"'),
        ("content-type", "application/json; charset=nonsense"),
    ],
)
def test_a_body_in_another_coding_is_refused_by_name(
    app: FastAPI, path: str, name: str, value: str
) -> None:
    content = gzip.compress(b"{}") if name == "content-encoding" else json.dumps(BODY).encode()
    found = problem(ask(app, "POST", path, content=content, headers={**JSON, name: value}), 415)
    assert found.field == name
    assert value.split("=")[-1].strip('"') in found.detail


@pytest.mark.parametrize(
    "headers",
    [
        {"content-encoding": "identity"},
        {"content-type": "application/json; Charset=UTF-8"},
        {"content-type": 'Application/JSON;charset="utf-8"; q=1'},
        {"content-type": "application/ld+json"},
    ],
)
def test_headers_that_say_json_in_utf8_are_taken(app: FastAPI, headers: dict[str, str]) -> None:
    content = json.dumps(BODY).encode()
    assert ask(app, "POST", "/v1/route", content=content, headers=JSON | headers).is_success


def test_a_byte_order_mark_is_skipped(app: FastAPI, path: str) -> None:
    content = codecs.BOM_UTF8 + json.dumps(BODY).encode()
    assert ask(app, "POST", path, content=content, headers=JSON).status_code == 200


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_unicode_is_called_by_its_name(app: FastAPI, coding: str) -> None:
    content = json.dumps(BODY).encode(coding)
    found = problem(ask(app, "POST", "/v1/route", content=content, headers=JSON), 422)
    assert (found.field, found.detail) == ("body", "body: UTF-16 or UTF-32; send UTF-8")


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b'{"query": "rug", "query": "lamp"}', "query"),
        (b'{"query": "rug", "user_id": "ann", "user_id": "ann"}', "user_id"),
        (b'{"query": "rug", "qu\\u0065ry": "lamp"}', "query"),
        (b'{"query": "rug", "preferences": {"dislike": ["a"], "dislike": []}}', "dislike"),
        (
            b'{"query": "rug", "history": [{"item_id": "cable", "label": "neg", "label": "pos"}]}',
            "label",
        ),
    ],
)
def test_a_key_that_stands_twice_is_named(
    app: FastAPI, path: str, content: bytes, key: str
) -> None:
    found = problem(ask(app, "POST", path, content=content, headers=JSON), 422)
    assert (found.field, found.detail) == (key, f"{key}: stands twice in one object of the body")


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b'{"query": "rug", "n": 18446744073709551616}', "n"),
        (b'{"query": "rug", "n": -9223372036854775809}', "n"),
        (b'{"query": "rug", "n": 1e400}', "n"),
        (b'{"query": "rug", "n": Infinity}', "n"),
        (b'{"query": "rug", "n": -Infinity}', "n"),
        (b'{"query": "rug", "n": NaN}', "n"),
        (b'{"query": Infinity}', "query"),
        (b'{"query": "rug", "n": ' + b"9" * 5000 + b"}", "body"),
        (b'{"query": "rug", "user_id": "\\udc00"}', "body"),
        (b'{"query": "rug", "history": ' + b"[" * 500 + b"]" * 500 + b"}", "body"),
        (b'{"query": "rug", "history": ' + b"[" * 50 + b"]" * 50 + b"}", "history[0]"),
    ],
)
def test_numbers_and_depths_beyond_all_measure_are_named(
    app: FastAPI, content: bytes, field: str
) -> None:
    found = problem(ask(app, "POST", "/v1/recommend", content=content, headers=JSON), 422)
    assert found.field == field
    assert len(found.detail) < 300


@pytest.mark.parametrize(
    ("exclude", "field"),
    [
        ("liked", "exclude"),
        (None, "exclude"),
        ([7], "exclude[0]"),
        (["liked", ""], "exclude[1]"),
        ([["liked"]], "exclude[0]"),
        (["x" * 257], "exclude[0]"),
        (["x"] * 1001, "exclude"),
    ],
)
def test_what_cannot_be_excluded_is_named(app: FastAPI, exclude: object, field: str) -> None:
    found = problem(post(app, "/v1/recommend", {**BODY, "exclude": exclude}), 422)
    assert found.field == field


def test_disliked_items_leave_unless_the_body_says_otherwise(app: FastAPI) -> None:
    body = {**BODY, "n": 6, "policy": "static@1,6"}  # ann said no to the charger

    def answer(**more: object) -> tuple[set[str], object]:
        reply = post(app, "/v1/recommend", {**body, **more}).json()
        return set(IDS) - {item["item_id"] for item in reply["items"]}, reply["excluded"]

    assert answer() == ({"charger"}, {"disliked": 1})
    assert answer(exclude=[]) == (set(), {})
    assert answer(exclude=["liked"]) == ({"red-rug", "red-lamp"}, {"liked": 2})
    assert answer(exclude=["cable", "?"]) == ({"cable"}, {"ids": 1})
    said = [{"item_id": "cable", "label": "neg"}]
    assert answer(history=said) == ({"cable"}, {"disliked": 1})


def test_routing_alone_excludes_nothing(app: FastAPI) -> None:
    assert problem(post(app, "/v1/route", {**BODY, "exclude": []}), 422).field == "exclude"


def test_unknown_paths_and_methods_are_problems_too(app: FastAPI) -> None:
    assert problem(ask(app, "GET", "/v2/recommend"), 404).title == "Not Found"
    assert problem(ask(app, "POST", "/v1/route/", content=b"{}", headers=JSON), 404)
    response = ask(app, "GET", "/v1/recommend")
    assert problem(response, 405)
    assert response.headers["allow"] == "POST"


def test_a_full_server_says_when_to_come_back() -> None:
    full = recommender(replace(nodes(), teacher=FullTeacher()))
    response = post(create_api(admission(full)), "/v1/route", {**BODY, "policy": "teacher"})
    problem(response, 503)
    assert response.headers["retry-after"] == "1"


def test_a_request_that_takes_too_long_is_a_504() -> None:
    stuck = recommender(replace(nodes(), teacher=StuckTeacher()))
    served = admission(stuck, limits=ServeConfig(timeout_s=0.05))
    problem(post(create_api(served), "/v1/route", {**BODY, "policy": "teacher"}), 504)


@dataclass
class BrokenReranker:
    """Raises what it is told to."""

    error: Exception

    async def grade(self, case: Case) -> Grading:
        assert case
        raise self.error

    async def contributions(self, case: Case) -> list[Mapping[str, float]]:
        assert case
        raise self.error


@pytest.mark.parametrize("error", [ShopError("index and store differ"), ZeroDivisionError("x")])
def test_an_error_of_ours_is_a_500_that_tells_nothing(error: Exception) -> None:
    broken = recommender(replace(nodes(), reranker=BrokenReranker(error)))
    response = post(create_api(admission(broken)), "/v1/recommend", BODY)
    assert str(error) not in problem(response, 500).detail


def test_health_is_of_the_ingress_and_readiness_of_all() -> None:
    whole = create_api(admission())
    assert ask(whole, "GET", "/healthz").json()["status"] == "ok"
    ready = ask(whole, "GET", "/readyz").json()
    names = ("recommender", "router", "teacher")
    assert ready == {"status": "ready", "replicas": dict.fromkeys(names, "ready")}

    async def teacher_gone() -> dict[str, str]:
        return {"recommender": "ready", "teacher": "not ready: restarting"}

    partial = create_api(admission(look=teacher_gone))
    assert ask(partial, "GET", "/healthz").status_code == 200
    response = ask(partial, "GET", "/readyz")
    assert problem(response, 503).detail == "teacher not ready: restarting"
    assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_head_is_answered_where_get_is(app: FastAPI, path: str) -> None:
    assert ask(app, "HEAD", path).status_code == 200


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_a_method_that_nobody_serves_is_a_problem_and_says_which_is(
    app: FastAPI, method: str
) -> None:
    response = ask(app, method, "/v1/recommend", content=b"{}")
    assert problem(response, 405).title == "Method Not Allowed"
    assert response.headers["allow"] == "POST"


def test_openapi_describes_bodies_answers_and_errors(app: FastAPI) -> None:
    document = ask(app, "GET", "/openapi.json").json()
    assert ask(app, "GET", "/docs").status_code == 200
    assert {"/v1/recommend", "/v1/route", "/healthz", "/readyz"} <= set(document["paths"])
    schemas = document["components"]["schemas"]
    references: list[str] = []
    _walk(document, references.append)
    assert {ref.rsplit("/", 1)[1] for ref in references} <= set(schemas)
    operation = document["paths"]["/v1/recommend"]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert body == "#/components/schemas/RecommendBody"
    assert {"200", "413", "415", "422", "503", "504"} <= set(operation["responses"])
    assert schemas["RecommendBody"]["properties"]["n"]["maximum"] == 200
    answer = schemas["Recommendation"]["properties"]
    assert set(answer) == {field.name for field in fields(Recommendation)}
    assert set(schemas["Routing"]["properties"]) == {field.name for field in fields(Routing)}
    assert set(schemas["RecommendedItem"]["properties"]) == {
        field.name for field in fields(RecommendedItem)
    }
    assert set(schemas["Theta"]["properties"]) == {"alpha", "budget"}
    assert schemas["RecommendedItem"]["properties"]["levels"]["type"] == "array"
    sources = [name for part in answer["source"]["anyOf"] for name in part["enum"]]
    assert set(sources) == {"student", "static", "teacher", "teacher:no_evidence"}


def _walk(value: object, found: Callable[[str], None]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                found(inner)
            else:
                _walk(inner, found)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, found)
