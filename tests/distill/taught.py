"""Four requests of two users, with a teacher whose numbers are worked by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from adamroute.distill.evaluation.pictures import Ranks
from adamroute.distill.evaluation.routers import routers
from adamroute.distill.evaluation.table import Results
from adamroute.distill.evaluation.teacher_report import Taught
from adamroute.teacher.answer import TeacherAnswer
from adamroute.theta import ALPHAS, Theta

TEACHER = [[1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]]  # 8 of 12
STATIC = [[1, 1, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1]]  # 6 of 12
KNOWN = [[1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]]  # 9 of 12
AT_K = {"teacher": TEACHER, "static_best": STATIC, "kind_known": KNOWN, "oracle": KNOWN}


def answer(request_id: str, steps: int, *fallbacks: str) -> TeacherAnswer:
    return TeacherAnswer(
        request_id=request_id,
        theta=Theta(0.3, 40),
        theta0=Theta(0.5, 20),
        source="teacher" if steps else "teacher:no_evidence",
        item_ids=("item",) * steps,
        text_ranks=(1,) * steps,
        mm_ranks=(2,) * steps,
        fused_ranks=((1,) * len(ALPHAS),) * steps,
        steps=(),
        fallbacks=fallbacks,
        ms=8.0,
    )


def table() -> Results:
    requests = pl.DataFrame(
        {
            "request": ["q0", "q1", "q2", "q3"],
            "user": ["u0", "u0", "u1", "u1"],
            "kind": ["visual", "visual", "functional", ""],
            "history": ["0", "3 to 5", "3 to 5", "21 and more"],
            "steps": ["2", "2", "1", "0"],
            "unproved": [False, False, False, True],
            "fallbacks": [["no_neighbours"], [], ["no_neighbours", "odd|name"], []],
            "ms": [8.0] * 4,
        }
    )
    own: dict[str, list[float]] = {
        "recall": [1.0, 1.0, 0.0, 1.0], "regret": [0.0, 0.1, 0.3, 0.0], "budget": [40.0] * 4,
        "llm_calls": [0.0] * 4, "tokens": [0.0] * 4,
    }  # fmt: skip
    rows = [
        (name, request, metric, value)
        for name in routers("teacher")
        for metric, values in {**columns(AT_K.get(name, STATIC)), **own}.items()
        for request, value in zip(requests["request"], values, strict=True)
    ]
    named = pl.DataFrame(rows, schema=["router", "request", "metric", "value"], orient="row")
    return Results(named, requests, seed=0)


def columns(at_k: list[list[int]]) -> dict[str, list[float]]:
    found = np.array(at_k, np.float64)
    names = ("recall@20", "recall@40", "recall@100")
    return {
        **dict(zip(names, found.T.tolist(), strict=True)),
        "recall_at_k_mean": found.mean(axis=1).tolist(),
    }


def taught() -> Taught:
    ranks = Ranks(
        pseudo_text=np.array([1.0, 1.0, 2.0, 4.0]),
        pseudo_mm=np.array([1.0, 1.0, 1.0, 1.0]),
        real_text=np.array([3.0, 3.0, 6.0, 12.0]),
        real_mm=np.array([5.0, 9.0]),
    )
    return Taught(table(), ranks)
