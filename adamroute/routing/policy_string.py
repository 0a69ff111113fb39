"""RoutingPolicy strings, and the pure rule that says who answers a request and why.

`auto` lets the student answer where it is confident and the teacher where calibration measured
that the teacher is better; `auto@T` moves the threshold; `student`, `teacher` and `static@A,K`
force one source. CONTRACTS, "Serving behaviour".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from adamroute.errors import PolicyError, ThetaError
from adamroute.theta import Theta

KNOWN = "auto, auto@T (0 <= T <= 1), student, teacher, static@ALPHA,BUDGET"
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_AUTO = re.compile(rf"auto@{_NUMBER}")
_STATIC = re.compile(rf"static@{_NUMBER},(\d{{1,9}})")

Fallback = Literal["low_confidence"]
Skip = Literal["no_gain", "no_history", "budget", "uncertified"]


@dataclass(frozen=True, slots=True)
class Auto:
    """Student first; `threshold` None means the calibrated one."""

    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Forced:
    """One source, whatever the confidence."""

    source: Literal["student", "teacher"]


@dataclass(frozen=True, slots=True)
class Static:
    """The same theta for every request."""

    theta: Theta


RoutingPolicy = Auto | Forced | Static


def parse_policy(text: str, tau: int) -> RoutingPolicy:
    """A policy string as a value; PolicyError (field `policy`) names what is known."""
    if text == "auto":
        return Auto()
    if text in ("student", "teacher"):
        return Forced("student" if text == "student" else "teacher")
    if match := _AUTO.fullmatch(text):
        threshold = float(match[1])
        if threshold <= 1.0:
            return Auto(threshold)
        raise PolicyError("policy", f"policy {text!r}: the threshold must lie between 0 and 1")
    if match := _STATIC.fullmatch(text):
        try:
            theta = Theta(float(match[1]), int(match[2]))
        except ThetaError as error:
            raise PolicyError("policy", f"policy {text!r}: {error}") from error
        if theta.budget > tau:
            raise PolicyError("policy", f"policy {text!r}: the budget may be at most tau = {tau}")
        return Static(theta)
    raise PolicyError("policy", f"policy {text[:40]!r} is not known. Known: {KNOWN}")


@dataclass(frozen=True, slots=True)
class Standing:
    """What calibration found, as far as the rule below needs it."""

    certified: bool  # a threshold beats both always and never falling back
    gain: bool  # fallback_gain has its 95 % interval above 0
    on_uncertified: Literal["student", "teacher"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the teacher is asked. At most one of `fallback` and `skipped` is set."""

    ask_teacher: bool
    fallback: Fallback | None = None  # why the teacher is asked under `auto`
    skipped: Skip | None = None  # why it is not, although confidence is below the threshold


def judge(
    policy: Auto,
    *,
    confidence: float,
    threshold: float,
    standing: Standing,
    has_history: bool,
    time_left: bool,
) -> Verdict:
    """Who answers under `auto`.

    Above the threshold the student does. Below it the teacher is asked only where calibration
    measured a gain; every reason not to has a name. An uncertified calibration leaves the choice
    to the operator (`on_uncertified`), and asking the teacher is then still named a fallback.
    """
    limit = threshold if policy.threshold is None else policy.threshold
    if confidence >= limit:
        return Verdict(ask_teacher=False)
    if not has_history:
        return Verdict(ask_teacher=False, skipped="no_history")
    if not standing.gain:
        if standing.certified:
            return Verdict(ask_teacher=False, skipped="no_gain")
        if standing.on_uncertified == "student":
            return Verdict(ask_teacher=False, skipped="uncertified")
    if not time_left:
        return Verdict(ask_teacher=False, skipped="budget")
    return Verdict(ask_teacher=True, fallback="low_confidence")
