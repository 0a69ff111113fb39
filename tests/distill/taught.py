"""Four requests of two users, with a teacher whose numbers are worked by hand."""

from __future__ import annotations

import numpy as np

from adamroute.catalogue.shop import Query
from adamroute.distill.evaluation.teaching.measure import Ranks, Taught
from adamroute.distill.evaluation.teaching.schema import ROWS
from adamroute.teacher.answer import TeacherAnswer
from adamroute.theta import Theta

TEACHER = [[1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]]  # 8 of 12
STATIC = [[1, 1, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1]]  # 6 of 12
KNOWN = [[1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]]  # 9 of 12


def answer(request_id: str, steps: int, *fallbacks: str) -> TeacherAnswer:
    return TeacherAnswer(
        request_id=request_id,
        theta=Theta(0.3, 40),
        theta0=Theta(0.5, 20),
        source="teacher" if steps else "teacher:no_evidence",
        item_ids=("item",) * steps,
        text_ranks=(1,) * steps,
        mm_ranks=(2,) * steps,
        steps=(),
        fallbacks=fallbacks,
        ms=8.0,
    )


def taught() -> Taught:
    rows = {"teacher": TEACHER, "static_best": STATIC, "kind_known": KNOWN, "oracle": KNOWN}
    kinds = ("visual", "visual", "functional", None)
    return Taught(
        queries=tuple(
            Query(f"q{b}", f"u{b // 2}", "a | b", "item", kind, "test")
            for b, kind in enumerate(kinds)
        ),
        answers=(
            answer("q0", 2, "no_neighbours", "no_neighbours"),
            answer("q1", 2),
            answer("q2", 1, "no_neighbours", "odd|name"),
            answer("q3", 0),
        ),
        liked=np.array([0, 3, 5, 40]),
        at_k={name: np.array(rows.get(name, STATIC), np.float64) for name in ROWS},
        recall=np.array([1.0, 1.0, 0.0, 1.0]),
        regrets=np.array([0.0, 0.1, 0.3, 0.0]),
        ranks=Ranks(
            pseudo_text=np.array([1.0, 1.0, 2.0, 4.0]),
            pseudo_mm=np.array([1.0, 1.0, 1.0, 1.0]),
            real_text=np.array([3.0, 3.0, 6.0, 12.0]),
            real_mm=np.array([5.0, 9.0]),
        ),
    )
