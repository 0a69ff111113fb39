"""What student, linear student and the cascade's rule say of requests with a known outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adamroute.assembly import load_linear_student, load_student
from adamroute.config import Config
from adamroute.distill.evaluation.splits import Array
from adamroute.pipeline import LABEL, TRAIN
from adamroute.progress import Advance
from adamroute.recommender.steps import Prepared
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.confidence import Calibration, load_calibration
from adamroute.routing.policy_string import Auto, Verdict, judge
from adamroute.routing.student import Prediction, RoutingInput, Student
from adamroute.teacher.answer import TeacherAnswer


@dataclass(frozen=True)
class Learned:
    """Students and calibration of one run."""

    student: Student
    linear: Student
    calibration: Calibration


@dataclass(frozen=True)
class Told:
    """What each of them answered, [B] throughout."""

    predictions: list[Prediction]
    student_ms: Array
    linear: list[Prediction]
    linear_ms: Array
    confidence: Array
    verdicts: list[Verdict]


def load_learned(config: Config, index: SearchIndex) -> Learned:
    """Those of a finished run; ArtifactError where they don't belong together."""
    calibration = load_calibration(config.stage("calibration"))
    calibration.check(
        {
            "index": index.hash,
            "labels": LABEL.hash(config),
            "student": TRAIN.hash(config),
        }
    )
    student = load_student(config)
    return Learned(student, load_linear_student(config), calibration)


def ask(learned: Learned, prepared: Sequence[Prepared], config: Config, advance: Advance) -> Told:
    """Ask both students, one request at a time as a server would, and the rule that falls back."""
    inputs = [one.context.routing for one in prepared]
    predictions, student_ms = _timed(learned.student, inputs, advance)
    linear, linear_ms = _timed(learned.linear, inputs, lambda _: None)
    fitted = learned.calibration
    sure = [fitted.confidence(p.alpha_probs, p.theta.alpha) for p in predictions]
    standing = fitted.standing(config.calibration.on_uncertified)
    verdicts = [
        judge(
            Auto(),
            confidence=value,
            threshold=fitted.threshold,
            standing=standing,
            has_history=one.context.request.has_positives,
            time_left=True,
        )
        for value, one in zip(sure, prepared, strict=True)
    ]
    return Told(predictions, student_ms, linear, linear_ms, np.array(sure), verdicts)


def decision_ms(answer: TeacherAnswer) -> float:
    """What deciding took; a kept reply counts with the time that it took when it was asked for."""
    return max(answer.ms, sum(call.ms for call in answer.calls))


def _timed(
    student: Student, inputs: Sequence[RoutingInput], advance: Advance
) -> tuple[list[Prediction], Array]:
    predictions, ms = [], []
    for asked in inputs:
        start = time.perf_counter()
        predictions += student.predict([asked])
        ms.append((time.perf_counter() - start) * 1000.0)
        advance(1)
    return predictions, np.array(ms)
