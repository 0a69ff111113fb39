"""What a request gets under each policy, from plain nodes and without a cluster."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np
import pytest

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.errors import BusyError, ModelError, PolicyError, RequestError
from adamroute.recommender import Recommendation, Recommender, Routing
from adamroute.recommender.nodes import Routed, Router, TeacherNode, Teaching
from adamroute.recommender.path import RESERVE_S, Asking
from adamroute.routing.linear_student import LinearStudent
from adamroute.routing.policy_string import Standing
from adamroute.routing.student import RoutingInput
from adamroute.teacher.answer import TeacherAnswer
from adamroute.theta import ALPHAS, Bins, Theta
from tests.leanings import AS_MEAN
from tests.recommender.small_shop import (
    FACTS,
    IDS,
    STORED,
    STUDENT,
    TEACHER,
    WORDS,
    FullTeacher,
    OneMind,
    SaidStudent,
    StuckTeacher,
    WordEncoder,
    calibration,
    nodes,
    recommender,
    teacher,
)

ANN = Asking(user_id="ann", query="red rug")


def route(
    served: Recommender,
    policy: str = "auto",
    time_s: float | None = None,
    **asking: Unpack[Asking],
) -> Routing:
    return asyncio.run(served.route(policy=policy, time_s=time_s, **(ANN | asking)))


def recommend(
    served: Recommender,
    policy: str = "auto",
    n: int | None = 3,
    exclude: Sequence[str] | None = None,
    **asking: Unpack[Asking],
) -> Recommendation:
    said = served.recommend(policy=policy, n=n, exclude=exclude, **(ANN | asking))
    return asyncio.run(said)


def test_a_confident_student_answers_alone() -> None:
    answer = route(recommender(nodes(confidence=0.9)))
    assert (answer.source, answer.theta) == ("student", STUDENT)
    assert answer.confidence == pytest.approx(0.9)
    assert (answer.threshold, answer.fallback) == (0.7, None)
    assert list(answer.timings_ms) == ["profile", "route", "total"]


def test_an_unsure_student_hands_over_to_the_teacher_where_calibration_found_a_gain() -> None:
    answer = route(recommender(nodes(confidence=0.5)))
    assert (answer.source, answer.fallback) == ("teacher", "low_confidence")
    assert answer.theta == TEACHER
    assert answer.confidence == pytest.approx(0.5)
    assert answer.teacher_fallbacks == ("no_neighbours",)
    assert "teacher" in answer.timings_ms


@pytest.mark.parametrize(
    ("standing", "asking", "name"),
    [
        (Standing(True, False, "student"), Asking(), "no_gain"),
        (Standing(False, False, "student"), Asking(), "uncertified"),
        (Standing(True, True, "student"), Asking(user_id="nobody"), "no_history"),
        (Standing(True, True, "student"), Asking(history=()), "no_history"),
    ],
)
def test_a_fallback_that_does_not_happen_has_a_name(
    standing: Standing, asking: Asking, name: str
) -> None:
    served = recommender(nodes(confidence=0.5), facts=replace(FACTS, standing=standing))
    answer = route(served, **asking)
    assert (answer.source, answer.fallback) == ("student", f"fallback_skipped: {name}")


def test_an_uncertified_calibration_is_flagged_and_may_send_to_the_teacher() -> None:
    standing = Standing(certified=False, gain=False, on_uncertified="teacher")
    answer = route(recommender(nodes(confidence=0.5), facts=replace(FACTS, standing=standing)))
    assert (answer.source, answer.fallback) == ("teacher", "low_confidence")
    assert answer.certified is False


@pytest.mark.parametrize(("threshold", "source"), [("0.4", "student"), ("0.95", "teacher")])
def test_a_policy_may_bring_its_own_threshold(threshold: str, source: str) -> None:
    answer = route(recommender(nodes(confidence=0.5)), f"auto@{threshold}")
    assert (answer.source, answer.threshold) == (source, float(threshold))


def test_the_student_can_be_forced_however_unsure_it_is() -> None:
    answer = route(recommender(nodes(confidence=0.01)), "student")
    assert (answer.source, answer.fallback, answer.threshold) == ("student", None, None)


def test_the_teacher_can_be_forced_and_the_student_is_not_asked() -> None:
    student = SaidStudent()
    answer = route(recommender(nodes(student=student)), "teacher")
    assert (answer.source, answer.confidence, student.asked) == ("teacher", None, [])


def test_a_teacher_without_evidence_says_so() -> None:
    answer = route(recommender(), "teacher", user_id="nobody")
    assert (answer.source, answer.theta) == ("teacher:no_evidence", STORED)
    assert answer.teacher_fallbacks == ("no_neighbours", "no_history")


def test_a_static_theta_asks_nobody() -> None:
    answer = recommend(recommender(), "static@0.25,4")
    assert (answer.source, answer.theta) == ("static", Theta(0.25, 4))
    assert not {"route", "teacher"} & set(answer.timings_ms)


def test_a_static_budget_beyond_tau_is_refused() -> None:
    with pytest.raises(PolicyError, match="tau = 6"):
        route(recommender(), "static@0.5,7")


def test_a_teacher_that_takes_too_long_leaves_the_answer_to_the_student() -> None:
    stuck = StuckTeacher()
    served = recommender(replace(nodes(confidence=0.5), teacher=stuck))
    answer = route(served, time_s=RESERVE_S + 1.0)  # so long is it waited for
    assert (answer.source, answer.fallback) == ("student", "fallback_skipped: budget")
    assert stuck.cancelled


def test_a_busy_teacher_leaves_the_answer_to_the_student() -> None:
    parts = replace(nodes(confidence=0.5), teacher=FullTeacher())
    assert route(recommender(parts)).fallback == "fallback_skipped: budget"


@dataclass
class SlowTeacher:
    """Says that it needed a minute."""

    like: TeacherNode
    asked: int = 0

    async def decide(self, request: Request) -> TeacherAnswer:
        self.asked += 1
        return replace(await self.like.decide(request), ms=60_000.0)


def test_a_teacher_known_to_be_slower_than_the_time_left_is_not_asked() -> None:
    parts = nodes(confidence=0.5)
    slow = SlowTeacher(parts.teacher)
    served = recommender(replace(parts, teacher=slow))
    first, second = route(served, time_s=10.0), route(served, time_s=10.0)
    assert (first.source, second.fallback) == ("teacher", "fallback_skipped: budget")
    assert slow.asked == 1
    assert route(served).source == "teacher"  # who has time may wait for it


def test_items_come_best_first_with_ranks_grades_and_origin() -> None:
    answer = recommend(recommender(), "static@0.5,2", n=6)
    # One place each: both branches put the red rug first. bob, ann's neighbour, adds his two.
    assert [item.item_id for item in answer.items] == ["red-rug", "red-lamp", "cable"]
    first = answer.items[0]
    assert (first.title, first.image) == ("red rug", "a.png")
    assert (first.text_rank, first.mm_rank, first.origin) == (1, 1, "both")
    assert [item.origin for item in answer.items[1:]] == ["collaborative", "collaborative"]
    assert sum(first.levels) == pytest.approx(1.0)
    assert first.score == pytest.approx(
        sum(grade * p for grade, p in enumerate(first.levels, start=1))
    )
    assert first.score > answer.items[2].score
    stages = ["profile", "encode", "recall", "score", "total"]
    assert list(answer.timings_ms) == stages


def test_n_cuts_the_answer_and_must_lie_between_1_and_tau() -> None:
    assert len(recommend(recommender(), "static@0.5,6", n=2).items) == 2
    for n in (0, 7):
        with pytest.raises(RequestError, match=f"1 to tau = 6 items, got {n}") as caught:
            recommend(recommender(), n=n)
        assert caught.value.field == "n"


def test_what_the_shopper_disliked_leaves_before_it_is_graded() -> None:
    answer = recommend(recommender(), "static@1,6", n=6)
    assert "charger" not in [item.item_id for item in answer.items]  # ann said no to it
    assert (len(answer.items), answer.excluded) == (5, {"disliked": 1})
    kept = recommend(recommender(), "static@1,6", n=6, exclude=())
    assert ([item.item_id for item in kept.items].count("charger"), kept.excluded) == (1, {})


@pytest.mark.parametrize(
    ("exclude", "gone", "counted"),
    [
        (("liked",), {"red-rug", "red-lamp"}, {"liked": 2}),
        (("liked", "disliked"), {"red-rug", "red-lamp", "charger"}, {"disliked": 1, "liked": 2}),
        (("cable", "sofa"), {"cable"}, {"ids": 1}),
        (("sofa",), set(), {"ids": 0}),
        (("liked", "red-rug"), {"red-rug", "red-lamp"}, {"liked": 2, "ids": 0}),
        (IDS, set(IDS), {"ids": 6}),
    ],
)  # fmt: skip
def test_liked_disliked_and_named_items_leave_where_they_are_not_wanted(
    exclude: tuple[str, ...], gone: set[str], counted: dict[str, int]
) -> None:
    answer = recommend(recommender(), "static@1,6", n=6, exclude=exclude)
    assert set(IDS) - {item.item_id for item in answer.items} == gone
    assert answer.excluded == counted


def test_the_given_history_says_what_is_disliked_and_its_latest_label_counts() -> None:
    said = [Interaction("red-rug", False), Interaction("cable", False), Interaction("cable", True)]
    answer = recommend(recommender(), "static@1,6", n=6, history=tuple(said))
    assert {"red-rug"} == set(IDS) - {item.item_id for item in answer.items}


def test_what_leaves_takes_no_place_of_the_others_and_no_rank() -> None:
    whole = recommend(recommender(), "static@1,6", n=6, exclude=())
    less = recommend(recommender(), "static@1,6", n=6)
    assert less.theta == whole.theta
    assert list(less.items) == [item for item in whole.items if item.item_id != "charger"]


@pytest.mark.parametrize(
    ("exclude", "field"),
    [("liked", "exclude"), (7, "exclude"), ([7], "exclude[0]"), (["liked", ""], "exclude[1]"),
     (["x" * 257], "exclude[0]"), ([None], "exclude[0]")],
)  # fmt: skip
def test_what_cannot_be_excluded_is_named(exclude: object, field: str) -> None:
    with pytest.raises(RequestError, match=r"exclude") as caught:
        recommend(recommender(), exclude=exclude)  # type: ignore[arg-type]  # what is tested
    assert caught.value.field == field


def test_an_explanation_leaves_out_the_same() -> None:
    told = asyncio.run(recommender().explain(policy="static@1,6", n=6, exclude=("liked",), **ANN))
    assert told.recommendation.excluded == {"liked": 2}
    assert [reason.item for reason in told.reasons] == list(told.recommendation.items)


def test_an_answer_says_what_the_run_does_without() -> None:
    lacks = ("calibration: 3 requests",)
    assert route(recommender(facts=replace(FACTS, lacks=lacks))).lacks == lacks
    assert route(recommender()).lacks == ()


def test_where_nobody_says_how_many_a_tau_below_twenty_is_no_error() -> None:
    assert len(recommend(recommender(), "static@1,6", n=None, exclude=()).items) == 6


@dataclass
class WaitingRouter:
    """Answers once the query has been encoded."""

    encoder: WordEncoder
    begun: bool = False
    asked: list[RoutingInput] = field(default_factory=list)

    async def route(self, asked: RoutingInput) -> Routed:
        self.begun = not self.encoder.seen  # it was called before anything was encoded
        self.asked.append(asked)
        while not self.encoder.seen:
            await asyncio.sleep(0)
        return Routed(STUDENT, 0.9, np.full(11, 1 / 11))


def test_router_and_encoder_work_at_the_same_time() -> None:
    encoder = WordEncoder()
    router = WaitingRouter(encoder)
    served = recommender(replace(nodes(), router=router), encoder=encoder)
    assert recommend(served).source == "student"
    assert router.begun
    assert router.asked[0].text_vector is None  # words and profile alone leave this process


class BrokenRouter:
    """Its replica restarts."""

    async def route(self, asked: RoutingInput) -> Routed:
        raise BusyError(f"router: no answer to {asked.query}")


def test_routings_error_is_the_requests() -> None:
    with pytest.raises(BusyError, match="no answer to red rug"):
        recommend(recommender(replace(nodes(), router=BrokenRouter())))


def test_an_error_of_routing_that_comes_second_is_not_left_lying_about() -> None:
    told: list[Mapping[str, object]] = []

    async def both_break() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: told.append(said))
        encoder = WordEncoder()
        served = recommender(replace(nodes(), router=BrokenRouter()), encoder=encoder)
        encoder.broken = True
        with pytest.raises(ModelError):
            await served.recommend(**ANN)
        gc.collect()  # a task whose error nobody read complains when it goes

    asyncio.run(both_break())
    assert told == []


def test_a_request_that_is_given_up_gives_up_its_teacher() -> None:
    stuck = StuckTeacher()
    served = recommender(replace(nodes(), teacher=stuck))

    async def impatient() -> None:
        async with asyncio.timeout(0.05):
            await served.recommend(policy="teacher", **ANN)

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    assert stuck.cancelled


@pytest.mark.parametrize("told", [PreferenceProfile(strong_pref=("cable",)), None])
def test_preferences_told_with_a_request_reach_the_teacher_and_win(
    told: PreferenceProfile | None,
) -> None:
    mind = OneMind()
    parts = replace(nodes(), teacher=Teaching(teacher(mind)))
    route(recommender(parts), "teacher", preferences=told)
    (context,) = mind.seen
    assert context.profile == (told or PreferenceProfile(("red",), ("lamp", "rug")))
    assert [e.item_id for e in context.evidence] == ["red-rug", "red-lamp"]  # of the history
    # bob wishes "red, lamp, cable": to "cable" alone his cosine is lower than to her own wishes.
    wish = "cable" if told else "red, lamp, rug"
    one, other = WordEncoder().encode([wish, "red, lamp, cable"])
    (bob,) = context.neighbours
    assert bob.user_id == "bob"
    assert bob.similarity == pytest.approx(float(one @ other))


def test_without_a_collaborative_start_the_teacher_sees_no_neighbour_and_items_still_come() -> (
    None
):
    mind, blind = OneMind(), Theta(0.5, 3)
    parts = replace(nodes(), teacher=Teaching(teacher(mind, blind)))
    answer = recommend(recommender(parts), "teacher", n=6)
    assert mind.seen == []  # the start is not asked for
    assert "collaborative" in {item.origin for item in answer.items}
    off = recommend(recommender(parts, facts=replace(FACTS, augmentation=False)), "teacher", n=6)
    assert "collaborative" not in {item.origin for item in off.items}


def linear(weights: Mapping[str, int]) -> LinearStudent:
    """Each word of a query votes for one bin of alpha."""
    table = np.zeros((len(WORDS) + 1, 11))
    for word, alpha_bin in weights.items():
        table[WORDS.index(word), alpha_bin] = 1.0
    return LinearStudent(table, np.zeros(11), Bins(6), AS_MEAN)


def test_a_student_of_vectors_is_warmed_up_and_served_behind_the_same_node() -> None:
    router = Router(linear({"rug": 2, "usb": 9}), calibration(0.9))
    router.warm_up()
    facts = replace(FACTS, reads_vectors=True)
    served = recommender(replace(nodes(), router=router), facts=facts)
    for query, alpha in (("rug", 0.2), ("usb", 0.9)):
        assert route(served, query=query).theta == Theta(alpha, 6)
        answer = recommend(served, query=query)
        assert (answer.theta, answer.source) == (Theta(alpha, 6), "student")
        assert list(answer.timings_ms) == [
            "profile", "encode", "route", "recall", "score", "total",
        ]  # fmt: skip


def test_an_explanation_tells_of_the_very_answer() -> None:
    student = SaidStudent()
    served = recommender(nodes(confidence=0.5, student=student))
    told = asyncio.run(served.explain(n=2, **ANN))
    answer = told.recommendation
    assert (answer.source, len(answer.items)) == ("teacher", 2)
    assert [reason.item for reason in told.reasons] == list(answer.items)
    assert len(student.asked) == 1  # nobody is asked twice
    assert [step.alpha for step in told.teacher_steps] == [0.5, 1.0, 1.0]
    assert sum(told.alpha_probs.values()) == pytest.approx(1.0)
    assert list(told.alpha_probs) == list(ALPHAS)
    assert list(told.neighbours) == ["bob"]
    assert (told.query, told.profile.strong_pref) == ("red rug", ("red",))
    first = told.reasons[0]  # text alone found the red rug, so its looks are hidden
    assert (first.item.item_id, first.item.origin) == ("red-lamp", "collaborative")
    # The only weight is 2 for the asked share of the item's looks: "red" of "red".
    added = {name: value for name, value in first.contributions.items() if value}
    assert added == {"asked_looks": 2.0}
    asked, text, mm = WordEncoder().encode(["red rug", "lamp", "red lamp"])
    assert first.text_score == pytest.approx(float(asked @ text))
    assert first.mm_score == pytest.approx(float(asked @ mm))


def test_an_explanation_asks_the_student_where_the_policy_did_not() -> None:
    student = SaidStudent()
    told = asyncio.run(recommender(nodes(student=student)).explain(policy="static@0.5,2", **ANN))
    assert (told.recommendation.source, len(student.asked)) == ("static", 1)
    assert (told.recommendation.confidence, told.teacher_steps) == (None, ())


def plain_types(value: object) -> set[type]:
    """Types of all that a JSON writer would meet."""
    if isinstance(value, Mapping):
        return {type(k) for k in value} | set().union(*map(plain_types, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(plain_types, value))
    return {type(value)}


@pytest.mark.parametrize("policy", ["auto", "teacher", "student", "static@0.3,4"])
def test_answers_hold_plain_values_alone(policy: str) -> None:
    told = asyncio.run(recommender(nodes(confidence=0.5)).explain(policy=policy, **ANN)).plain()
    assert plain_types(told) <= {str, int, float, bool, type(None)}
    again = json.loads(json.dumps(told))["recommendation"]
    assert set(again["theta"]) == {"alpha", "budget"}
    assert set(again["items"][0]) == {
        "item_id", "title", "image", "score", "levels", "text_rank", "mm_rank", "origin",
    }  # fmt: skip
    assert len(again["items"][0]["levels"]) == 5


def test_a_request_keeps_the_id_it_came_with() -> None:
    assert route(recommender(), request_id="r7").request_id == "r7"
    assert route(recommender()).request_id != route(recommender()).request_id
