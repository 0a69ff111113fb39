"""What student, linear student, teacher and cascade answer on requests with a known outcome."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.distill.evaluation.metrics import kl_divergence
from adamroute.distill.evaluation.outcomes import Choice, chosen
from adamroute.distill.evaluation.schema import Agreement, RouterName
from adamroute.distill.labels.targets import evidence_belief
from adamroute.progress import Advance
from adamroute.routing.confidence import Calibration
from adamroute.routing.policy_string import Auto, Verdict, judge
from adamroute.routing.student import Prediction, RoutingInput, Student
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.difficulty import Difficulty
from adamroute.teacher.loop import Teacher
from adamroute.theta import Theta

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Routers:
    """The learned routers of one run."""

    student: Student
    linear: Student
    teacher: Teacher
    constants: TeacherFile
    calibration: Calibration
    on_uncertified: Literal["student", "teacher"]


@dataclass(frozen=True)
class Asking:
    """B requests as routers see them."""

    requests: Sequence[Request]
    profiles: Sequence[PreferenceProfile]
    text_vectors: NDArray[np.float32]  # [B, D]


@dataclass(frozen=True)
class Told:
    """What each learned router answered, [B] throughout."""

    predictions: tuple[Prediction, ...]
    student_ms: Array
    linear_thetas: tuple[Theta, ...]
    linear_ms: Array
    answers: tuple[TeacherAnswer, ...]
    confidence: Array
    verdicts: tuple[Verdict, ...]
    teacher_soft: Array  # [B, A], NaN rows where the teacher had no evidence

    def __len__(self) -> int:
        return len(self.predictions)


def ask(routers: Routers, asking: Asking, advance: Advance) -> Told:
    """Ask all learned routers, one request at a time as a server would."""
    predictions, student_ms = _timed(routers.student, asking, advance)
    linear, linear_ms = _timed(routers.linear, asking, lambda _: None)
    answers = []
    for request in asking.requests:
        answers.append(routers.teacher.decide(request))
        advance(1)
    confidence = [
        routers.calibration.confidence(p.alpha_probs, p.theta.alpha) for p in predictions
    ]
    verdicts = [
        judge(
            Auto(),
            confidence=value,
            threshold=routers.calibration.threshold,
            standing=routers.calibration.standing(routers.on_uncertified),
            has_history=any(x.positive for x in request.history),
            time_left=True,
        )
        for value, request in zip(confidence, asking.requests, strict=True)
    ]
    return Told(
        predictions=tuple(predictions),
        student_ms=student_ms,
        linear_thetas=tuple(p.theta for p in linear),
        linear_ms=linear_ms,
        answers=tuple(answers),
        confidence=np.array(confidence),
        verdicts=tuple(verdicts),
        teacher_soft=np.stack([_soft_alpha(a, routers.constants) for a in answers]),
    )


def learned_choices(told: Told) -> dict[RouterName, Choice]:
    """Choices of the four learned routers."""
    student = _choice([p.theta for p in told.predictions], told.student_ms)
    teacher = replace(
        _choice([a.theta for a in told.answers], np.array([a.ms for a in told.answers])),
        llm_calls=np.array([float(a.llm_calls) for a in told.answers]),
        tokens=np.array([float(a.tokens) for a in told.answers]),
    )
    return {
        "student": student,
        "linear_student": _choice(told.linear_thetas, told.linear_ms),
        "teacher": teacher,
        "cascade": _cascade(student, teacher, told),
    }


def fallback_counts(told: Told) -> Mapping[str, int]:
    """How often each named fallback happened, the cascade's and the teacher's own."""
    counts: Counter[str] = Counter()
    for verdict in told.verdicts:
        if verdict.fallback:
            counts[f"cascade: {verdict.fallback}"] += 1
        if verdict.skipped:
            counts[f"cascade skipped: {verdict.skipped}"] += 1
    for answer in told.answers:
        counts.update(f"teacher: {name}" for name in set(answer.fallbacks))
    return dict(sorted(counts.items()))


def agreement(told: Told, student_recall: Array, teacher_recall: Array) -> Agreement:
    """Student against teacher; recalls are [B], each by its router's own theta."""
    student = np.array([p.theta.alpha for p in told.predictions])
    teacher = np.array([a.theta.alpha for a in told.answers])
    seen = ~np.isnan(told.teacher_soft[:, 0])
    probs = np.stack([p.alpha_probs for p in told.predictions])
    kl = kl_divergence(told.teacher_soft[seen], probs[seen]).mean() if seen.any() else 0.0
    budgets = [np.mean([p.theta.budget for p in told.predictions])]
    budgets += [np.mean([a.theta.budget for a in told.answers])]
    return Agreement(
        alpha_mae=float(np.abs(student - teacher).mean()),
        top_bin=float((np.round(student * 10) == np.round(teacher * 10)).mean()),
        kl=float(kl),
        budget_ratio=float(budgets[0] / budgets[1]),
        win=float((student_recall > teacher_recall).mean()),
        tie=float((student_recall == teacher_recall).mean()),
        loss=float((student_recall < teacher_recall).mean()),
        calls_saved=float(np.mean([a.llm_calls for a in told.answers])),
        tokens_saved=float(np.mean([a.tokens for a in told.answers])),
    )


def pool_told(parts: Sequence[Told]) -> Told:
    """The answers of several folds as one."""
    return Told(
        predictions=tuple(p for part in parts for p in part.predictions),
        student_ms=np.concatenate([part.student_ms for part in parts]),
        linear_thetas=tuple(t for part in parts for t in part.linear_thetas),
        linear_ms=np.concatenate([part.linear_ms for part in parts]),
        answers=tuple(a for part in parts for a in part.answers),
        confidence=np.concatenate([part.confidence for part in parts]),
        verdicts=tuple(v for part in parts for v in part.verdicts),
        teacher_soft=np.concatenate([part.teacher_soft for part in parts]),
    )


def _timed(student: Student, asking: Asking, advance: Advance) -> tuple[list[Prediction], Array]:
    predictions, ms = [], []
    for request, profile, vector in zip(
        asking.requests, asking.profiles, asking.text_vectors, strict=True
    ):
        start = time.perf_counter()
        predictions += student.predict([RoutingInput(request.query, profile, vector)])
        ms.append((time.perf_counter() - start) * 1000.0)
        advance(1)
    return predictions, np.array(ms)


def _choice(thetas: Sequence[Theta], ms: Array) -> Choice:
    return chosen(
        np.array([t.alpha for t in thetas]), np.array([float(t.budget) for t in thetas]), ms
    )


def _cascade(student: Choice, teacher: Choice, told: Told) -> Choice:
    """The teacher's answer where the rule asks it, at the cost of both."""
    sent = np.array([v.ask_teacher for v in told.verdicts])
    return Choice(
        alphas=np.where(sent, teacher.alphas, student.alphas),
        budgets=np.where(sent, teacher.budgets, student.budgets),
        fixed={k: np.where(sent, teacher.fixed[k], student.fixed[k]) for k in student.fixed},
        route_ms=student.route_ms + np.where(sent, teacher.route_ms, 0.0),
        fell_back=sent.astype(np.float64),
        llm_calls=np.where(sent, teacher.llm_calls, 0.0),
        tokens=np.where(sent, teacher.tokens, 0.0),
    )


def _soft_alpha(answer: TeacherAnswer, constants: TeacherFile) -> Array:
    """Votes of the answer's evidence for each alpha, [A]; NaN without evidence."""
    bins = constants.bins
    if not answer.item_ids:
        return np.full(bins.shape[0], np.nan)
    ranks = answer.text_ranks, answer.mm_ranks
    return evidence_belief(*ranks, Difficulty(), bins, constants.lam).votes
