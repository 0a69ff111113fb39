"""One path: the server's answer is the library's, under every policy and every switch.

That a report's rows are the library's answers too: distill/evaluation/test_served_rows.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

import httpx
import pytest
from pydantic import JsonValue, TypeAdapter

from adamroute.assembly import (
    calibration,
    check_run,
    load_contexts,
    load_index,
    load_reranker,
    load_served_teacher,
    load_student,
)
from adamroute.catalogue.folder import read_shop
from adamroute.config import Config
from adamroute.recommender import Recommendation, Recommender
from adamroute.recommender.nodes import Nodes, Reranking, Router, Teaching
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.policy_string import Standing
from adamroute.routing.student import Student
from adamroute.run import Run
from adamroute.serving.api import create_api
from adamroute.serving.schemas import RecommendBody, asking
from adamroute.serving.warm import warm_index
from tests.serving.front import admission

POLICIES = ("auto", "auto@0.0", "auto@1", "student", "teacher", "static@0.3,40")
SWITCHES: Mapping[str, Mapping[str, Mapping[str, JsonValue]]] = {
    "nothing": {},
    "collaborative start": {"teacher": {"collaborative_start": False}},
    "evidence": {"teacher": {"evidence": 0}},
    "memory": {"teacher": {"memory": False}},
    "augmentation": {"retrieval": {"augmentation": False}},
    "attribute filter": {"reranker": {"attribute_filter": False}},
    "re-ranker": {"reranker": {"kind": "none"}},
}
TEACHER_ASKED = Standing(certified=True, gain=True, on_uncertified="student")
ANSWER = TypeAdapter(Recommendation)
Body = dict[str, object]


def switched_off(config: Config, name: str) -> Config:
    """The config of a run with one part of the method off."""
    parts = {
        section: getattr(config, section).model_copy(update=dict(keys))
        for section, keys in SWITCHES[name].items()
    }
    return config.model_copy(update=parts)


def assembled(config: Config, run: Config, index: SearchIndex, student: Student) -> Recommender:
    """From its parts, as an ablation must: `check_run` refuses labels of another teacher."""
    facts = replace(
        check_run(run),
        standing=TEACHER_ASKED,  # so small a run certifies nothing
        augmentation=config.retrieval.augmentation,
        attribute_filter=config.reranker.attribute_filter,
    )
    nodes = Nodes(
        Router(student, calibration(run)),
        Teaching(load_served_teacher(config, index)),
        Reranking(load_reranker(config)),
    )
    return Recommender(load_contexts(config, index), facts, nodes)


@pytest.fixture(scope="module")
def index(tiny_run: Config) -> SearchIndex:
    return load_index(tiny_run.stage("index"))


@pytest.fixture(scope="module")
def served_index(tiny_run: Config) -> SearchIndex:
    return warm_index(tiny_run)


@pytest.fixture(scope="module")
def student(tiny_run: Config) -> Student:
    return load_student(tiny_run)


@pytest.fixture(scope="module")
def bodies(tiny_run: Config) -> list[Body]:
    """A known user with and without a query, a stranger, and one who tells everything."""
    shop = read_shop(tiny_run.shop)
    query = next(q for q in shop.split("test") if any(x.positive for x in shop.request(q).history))
    first, second = (item.item_id for item in shop.catalogue.items[:2])
    return [
        {"user_id": query.user_id, "query": query.text},
        {"user_id": query.user_id},
        {"query": "red striped mug"},
        {
            "query": "something to sit on",
            "history": [
                {"item_id": first, "label": "pos"}, {"item_id": second, "label": "neg"},
            ],
            "preferences": {"strong_pref": ["blue"], "dislike": ["red"]},
        },
        {"user_id": query.user_id, "query": query.text, "exclude": ["liked", second]},
    ]  # fmt: skip


def ask_library(run: Run, body: Body, policy: str) -> Recommendation:
    parsed = RecommendBody.model_validate_json(json.dumps(body))
    known = asking(parsed, "unused")
    return run.recommend(
        query=known["query"], user_id=known["user_id"], history=known["history"],
        preferences=known["preferences"], policy=policy, n=10, exclude=parsed.exclude,
    )  # fmt: skip


def ask_server(served: Recommender, bodies: list[Body]) -> list[Recommendation]:
    transport = httpx.ASGITransport(create_api(admission(served)))

    async def send() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.post("/v1/recommend", json=body) for body in bodies]

    replies = asyncio.run(send())
    assert [reply.status_code for reply in replies] == [200] * len(bodies)
    return [ANSWER.validate_json(reply.content) for reply in replies]


@pytest.mark.parametrize("off", SWITCHES)
def test_the_server_answers_as_the_library(
    off: str,
    tiny_run: Config,
    index: SearchIndex,
    served_index: SearchIndex,
    student: Student,
    bodies: list[Body],
) -> None:
    config = switched_off(tiny_run, off)
    run = Run(config, assembled(config, tiny_run, index, student))
    served = assembled(config, tiny_run, served_index, student)
    sources = set()
    for policy in POLICIES:
        answers = ask_server(served, [{**b, "policy": policy, "n": 10} for b in bodies])
        for body, answer in zip(bodies, answers, strict=True):
            wanted = ask_library(run, body, policy)
            sources.add(wanted.source)
            assert answer.theta == wanted.theta
            assert (answer.source, answer.fallback, answer.user, answer.versions) == (
                wanted.source, wanted.fallback, wanted.user, wanted.versions,
            )  # fmt: skip
            assert answer.teacher_fallbacks == wanted.teacher_fallbacks
            assert answer.excluded == wanted.excluded
            assert answer.confidence == pytest.approx(wanted.confidence)
            assert [i.item_id for i in answer.items] == [i.item_id for i in wanted.items]
            assert [(i.text_rank, i.mm_rank, i.origin) for i in answer.items] == [
                (i.text_rank, i.mm_rank, i.origin) for i in wanted.items
            ]
            for one, other in zip(answer.items, wanted.items, strict=True):
                assert one.levels == pytest.approx(other.levels, abs=1e-5)
    assert {"student", "static", "teacher:no_evidence"} <= sources
    assert ("teacher" in sources) == (off != "evidence")
    collaborative = {item.origin for answer in answers for item in answer.items}
    assert off != "augmentation" or "collaborative" not in collaborative
