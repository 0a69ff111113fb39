import pickle
from typing import Literal

import pytest

from adamroute.errors import PolicyError
from adamroute.routing.policy_string import Auto, Forced, Standing, Static, judge, parse_policy
from adamroute.theta import Theta


def test_policy_strings_mean_what_contracts_says() -> None:
    assert parse_policy("auto", 200) == Auto()
    assert parse_policy("auto@0.8", 200) == Auto(0.8)
    assert parse_policy("student", 200) == Forced("student")
    assert parse_policy("teacher", 200) == Forced("teacher")
    assert parse_policy("static@0.5,200", 200) == Static(Theta(0.5, 200))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not known"),
        ("AUTO", "is not known"),
        ("auto@", "is not known"),
        ("auto@nan", "is not known"),
        ("auto@1.5", "between 0 and 1"),
        ("static@0.5", "is not known"),
        ("static@1.5,20", "need 0 <= alpha <= 1"),
        ("static@0.5,0", "budget >= 1"),
        ("static@0.5,201", "at most tau = 200"),
        ("static@-1,20", "is not known"),
        ("x" * 100_000, "is not known"),
    ],
)
def test_an_unknown_policy_is_an_error_that_names_the_field(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message) as caught:
        parse_policy(text, 200)
    assert caught.value.field == "policy"
    assert len(str(caught.value)) < 200


def test_a_policy_error_survives_the_border_between_processes() -> None:
    error = pickle.loads(pickle.dumps(PolicyError("policy", "no")))
    assert (type(error), error.field, str(error)) == (PolicyError, "policy", "no")


GAIN = Standing(certified=True, gain=True, on_uncertified="student")
NO_GAIN = Standing(certified=True, gain=False, on_uncertified="student")
UNSURE = Standing(certified=False, gain=False, on_uncertified="student")
UNSURE_TEACHER = Standing(certified=False, gain=False, on_uncertified="teacher")


@pytest.mark.parametrize(
    ("confidence", "standing", "history", "time", "asks", "skipped"),
    [
        (0.7, GAIN, True, True, False, None),  # at the threshold the student answers
        (0.69, GAIN, True, True, True, None),
        (0.69, GAIN, False, True, False, "no_history"),
        (0.69, GAIN, True, False, False, "budget"),
        (0.69, NO_GAIN, True, True, False, "no_gain"),
        (0.69, UNSURE, True, True, False, "uncertified"),
        (0.69, UNSURE_TEACHER, True, True, True, None),
    ],
)
def test_the_teacher_is_asked_only_where_calibration_measured_a_gain(
    confidence: float,
    standing: Standing,
    history: bool,
    time: bool,
    asks: bool,
    skipped: Literal["no_history", "budget", "no_gain", "uncertified"] | None,
) -> None:
    verdict = judge(
        Auto(),
        confidence=confidence,
        threshold=0.7,
        standing=standing,
        has_history=history,
        time_left=time,
    )
    assert (verdict.ask_teacher, verdict.skipped) == (asks, skipped)
    assert verdict.fallback == ("low_confidence" if asks else None)


def test_auto_with_a_number_moves_the_threshold() -> None:
    verdict = judge(
        Auto(0.5),
        confidence=0.6,
        threshold=0.7,
        standing=GAIN,
        has_history=True,
        time_left=True,
    )
    assert not verdict.ask_teacher
