"""Small and lopsided shops: each runs and says what it does without, or says what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from adamroute import assembly
from adamroute.config import Config
from adamroute.distill.evaluation.report import run_report
from adamroute.distill.labels.label import run_label
from adamroute.errors import AdamrouteError
from adamroute.indexing import build
from adamroute.progress import SILENT
from adamroute.run import assemble_run
from adamroute.stages import read_manifest
from adamroute.training import reranker_fit
from adamroute.training.calibrate import run_calibrate
from adamroute.training.reranker_fit import run_reranker
from adamroute.training.train import run_train
from tests.lopsided import SHOPS

STAGES = (build.run_build, run_label, run_train, run_reranker, run_calibrate)
NO_TEST = "report: 0 requests to report on"
FEW, NONE = "calibrate: 4 requests of 2 users", "calibrate: 0 requests of 0 users"
ONE_GRADE, STAND_IN = "have grade 5, wanted at least two", "reranker: no train queries: fitted on"


@dataclass(frozen=True)
class Told:
    """What a shop says: of parts it does without, and where it stops, if it does."""

    lacks: tuple[str, ...] = (FEW,)  # a part of each line; others may be there
    stops: str | None = None


WANTED: Mapping[str, Told] = {
    "nothing is wrong": Told(),
    "train queries only": Told((NONE,), NO_TEST),
    "calibration queries only": Told(
        ("label: no train queries", STAND_IN, "calibrate: 16 requests of 8 users"), NO_TEST
    ),
    "test queries only": Told((STAND_IN, NONE), "report: 16 requests to report on and 0 of train"),
    "one user": Told((NONE,), NO_TEST),
    "one query": Told((NONE,), NO_TEST),
    "one target": Told(),
    "all listings alike": Told(),
    "all photos the same": Told(),
    "some users dislike all": Told(),
    "all users dislike all": Told(),
    "one item": Told(
        ("train: linear student: rows of 1 user", ONE_GRADE, "calibrate: 0 requests"), NO_TEST
    ),
    "two items": Told((NONE,), NO_TEST),
    "sixty items": Told(("calibrate: ",)),
    "no photos": Told(),
    "no categories": Told(),
    "no looks": Told(),
    "queries without interactions": Told(),
    "interactions without queries": Told(("calibrate: ",)),
    "judged queries without a log": Told(("calibrate: ",)),
    "no word to ask by": Told((), "none of the 3 items has a word to ask by"),
}


@pytest.fixture(scope="module", autouse=True)
def _in_less_time() -> Iterator[None]:
    """The text encoder's weights are read once for all shops, and fits are cut short."""
    once: Callable[..., object] = cache(assembly.load_text_encoder)
    with pytest.MonkeyPatch.context() as patch:
        for module in (assembly, build):
            patch.setattr(module, "load_text_encoder", once)
        patch.setattr(reranker_fit, "MAX_ITERATIONS", 20)
        yield


def config_of(name: str, folder: Path) -> Config:
    return Config.model_validate(
        {
            "name": "small",
            "shop": SHOPS[name]().write(folder / "shop"),
            "out": folder / "run",
            "encoders": {"align": {"seeds": 1, "epochs": 2, "hidden": 16, "dimensions": 8}},
            "labels": {"synthetic_requests": 20},
            "wandb": {"mode": "disabled"},
        }
    )


def run_all(config: Config) -> Iterator[tuple[str, ...]]:
    """Every stage, then one request of each kind of user; yields what the answers lack."""
    for stage in STAGES:
        stage(config, SILENT)
    run = assemble_run(config)
    for user_id in ("u0", "u1", None):
        for policy in ("auto", "student", "teacher", "static@0.5,1"):
            answer = run.recommend(query="red rug", user_id=user_id, n=1, policy=policy)
            assert answer.items or answer.excluded["disliked"]  # of a budget of one
            assert not answer.certified
            yield answer.lacks
    run_report(config, SILENT)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOPS)
def test_a_small_or_lopsided_shop_runs_or_says_what_is_missing(name: str, tmp_path: Path) -> None:
    config, wanted = config_of(name, tmp_path), WANTED[name]
    told: set[tuple[str, ...]] = set()
    stopped = None
    try:
        for lacks in run_all(config):
            told.add(lacks)
    except AdamrouteError as error:
        stopped = str(error)
    assert (stopped is None) == (wanted.stops is None)
    if stopped is not None:
        assert wanted.stops is not None
        assert wanted.stops in stopped
        assert "\n" not in stopped
        assert "synthetic_requests" not in stopped
    if not wanted.lacks:
        return
    (lacks,) = told  # all answers of a run say the same
    for part in wanted.lacks:
        assert [line for line in lacks if part in line], (part, lacks)
    assert all(
        line.split(": ")[0] in ("label", "train", "reranker", "calibrate") for line in lacks
    )
    if stopped is None:
        report = json.loads((config.stage("report") / "report.json").read_text(encoding="utf-8"))
        assert tuple(report["lacks"]) == lacks
    counts = read_manifest(config.stage("calibration"), "calibrate").counts
    assert f"calibrate: {counts['lacks']}" in lacks
    assert counts["verdict"] == "uncertified"
