"""The library as its user meets it, on one small finished run."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import adamroute
from adamroute import cli
from adamroute.config import CONFIG_FILE, Config
from adamroute.errors import AdamrouteError, ArtifactError, PolicyError, RequestError
from adamroute.recommender import Recommendation
from adamroute.run import Run
from adamroute.theta import ALPHAS, Theta

UMBRELLA = "striped umbrella with a hooked handle"


@pytest.fixture(scope="module")
def run(tiny_run: Config) -> Run:
    return adamroute.open_run(tiny_run.out)


@pytest.fixture(scope="module")
def shopper(run: Run) -> str:
    """A user with wishes."""
    known = run.recommender.contexts.snapshot.users
    return next(user.user_id for user in known if user.preference)


def timeless(answer: Recommendation) -> dict[str, object]:
    plain = answer.plain()
    return {k: v for k, v in plain.items() if k not in ("timings_ms", "request_id")}


def test_importing_the_face_brings_not_even_numpy() -> None:
    code = "import sys, adamroute; print('numpy' in sys.modules)"
    fresh = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert fresh.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'recommend'"):
        _ = adamroute.recommend


def test_a_recommendation_is_best_first_and_says_why(run: Run) -> None:
    answer = run.recommend(query=UMBRELLA, n=5)
    assert len(answer.items) == 5
    scores = [item.score for item in answer.items]
    assert scores == sorted(scores, reverse=True)
    assert (answer.source, answer.user) == ("student", "unknown")
    assert answer.confidence is not None
    assert 0.0 <= answer.confidence <= 1.0
    assert list(answer.timings_ms)[-1] == "total"
    assert timeless(run.recommend(query=UMBRELLA, n=5)) == timeless(answer)


def test_routing_alone_gives_the_theta_of_the_recommendation(run: Run, shopper: str) -> None:
    for policy in ("auto", "student", "teacher", "static@0.3,40"):
        routed = run.route(query=UMBRELLA, user_id=shopper, policy=policy)
        answer = run.recommend(query=UMBRELLA, user_id=shopper, policy=policy)
        assert (routed.theta, routed.source) == (answer.theta, answer.source)
        assert routed.user == "known"
    assert run.route(query=UMBRELLA, policy="static@0.3,40").theta == Theta(0.3, 40)


def test_what_is_told_wins_over_what_is_stored(run: Run, shopper: str) -> None:
    told = adamroute.PreferenceProfile(strong_pref=("blue", "umbrella"))
    liked = adamroute.Interaction(run.recommender.contexts.index.ids[0], positive=True)
    told_of = run.explain(user_id=shopper, history=(liked,), preferences=told, n=3)
    assert told_of.recommendation.user == "given"
    assert (told_of.profile, told_of.query) == (told, "blue, umbrella")


def test_an_explanation_holds_the_numbers_behind_the_answer(run: Run, shopper: str) -> None:
    told = run.explain(query=UMBRELLA, user_id=shopper, policy="teacher", n=4)
    answer = told.recommendation
    same = run.recommend(query=UMBRELLA, user_id=shopper, policy="teacher", n=4)
    assert timeless(answer) == timeless(same)
    assert [reason.item for reason in told.reasons] == list(answer.items)
    sums = [sum(reason.contributions.values()) for reason in told.reasons]
    assert sums == sorted(sums, reverse=True)  # they order the candidates
    assert list(told.alpha_probs) == list(ALPHAS)
    assert sum(told.alpha_probs.values()) == pytest.approx(1.0)
    assert told.teacher_steps[0].part == "start"
    assert told.teacher_steps[-1].alpha == answer.theta.alpha
    cosines = list(told.neighbours.values())
    assert cosines == sorted(cosines, reverse=True)
    assert shopper not in told.neighbours
    assert json.loads(json.dumps(told.plain()))["query"] == UMBRELLA


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (lambda run: run.recommend(query=" "), "query"),
        (lambda run: run.route(query="x" * 2001), "query"),
        (lambda run: run.explain(), "query"),
        (lambda run: run.recommend(query="rug", n=81), "n"),
        (lambda run: run.explain(query="rug", n=0), "n"),
        (lambda run: run.recommend(query="rug", exclude="liked"), "exclude"),
        (lambda run: run.explain(query="rug", exclude=("liked", "")), "exclude[1]"),
        (
            lambda run: run.route(query="rug", history=(adamroute.Interaction("?", True),)),
            "history[0].item_id",
        ),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(
    run: Run, asked: Callable[[Run], object], field: str
) -> None:
    with pytest.raises(RequestError) as caught:
        asked(run)
    assert caught.value.field == field
    assert str(caught.value).startswith(field)


def test_an_unknown_policy_says_which_are_known(run: Run) -> None:
    with pytest.raises(PolicyError, match="Known: auto, auto@T"):
        run.route(query="rug", policy="magic")


def test_it_answers_within_a_running_event_loop(run: Run) -> None:
    async def notebook() -> Recommendation:
        return run.recommend(query=UMBRELLA, n=5)

    assert timeless(asyncio.run(notebook())) == timeless(run.recommend(query=UMBRELLA, n=5))


def test_a_folder_without_a_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no run was made there\. Run: adamroute run CONFIG"):
        adamroute.open_run(tmp_path)
    assert issubclass(ArtifactError, AdamrouteError)


def test_a_run_that_was_moved_is_opened_where_it_is(tiny_run: Config, tmp_path: Path) -> None:
    shutil.copytree(tiny_run.out, tmp_path / "moved")
    assert adamroute.open_run(tmp_path / "moved").config.out == tmp_path / "moved"
    shutil.rmtree(tmp_path / "moved" / "student")
    with pytest.raises(ArtifactError, match=r"moved.*adamroute train CONFIG"):
        adamroute.open_run(tmp_path / "moved")


def test_ask_prints_exactly_what_the_library_answers(
    run: Run,
    tiny_run: Config,
    shopper: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = str(tiny_run.out / CONFIG_FILE)
    asked = ["ask", config, UMBRELLA, "--user", shopper, "-n", "3"]
    cli.app(asked, standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    answer = run.recommend(query=UMBRELLA, user_id=shopper, n=3)
    assert printed.keys() == answer.plain().keys()
    wanted = json.loads(json.dumps(timeless(answer)))
    assert {k: v for k, v in printed.items() if k in wanted} == wanted


def test_ask_leaves_out_what_it_is_told_to(
    run: Run, tiny_run: Config, shopper: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (i.item_id for i in run.recommend(query=UMBRELLA, user_id=shopper, n=2).items)
    asked = ["ask", str(tiny_run.out / CONFIG_FILE), UMBRELLA, "--user", shopper, "-n", "1"]
    for options, counted, best in (
        (["--exclude", first], {"ids": 1}, second),
        (["--exclude", ""], {}, None),
        (["--exclude", "liked", "--exclude", "?"], None, None),
    ):
        cli.app([*asked, *options], standalone_mode=False)
        printed = json.loads(capsys.readouterr().out)
        if counted is not None:
            assert printed["excluded"] == counted
        if best is not None:
            assert printed["items"][0]["item_id"] == best
    assert set(printed["excluded"]) == {"liked", "ids"}


def test_ask_without_a_query_asks_what_the_user_wants(
    tiny_run: Config, shopper: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.app(["ask", str(tiny_run.out / CONFIG_FILE), "--user", shopper], standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["user"], len(printed["items"])) == ("known", 5)
