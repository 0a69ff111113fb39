"""What is refused before a replica starts."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from adamroute.assembly import check_run
from adamroute.config import Config
from adamroute.errors import ArtifactError


@pytest.fixture
def copy(tiny_run: Config, tmp_path: Path) -> Config:
    """A finished run that may be spoiled."""
    shutil.copytree(tiny_run.out, tmp_path / "run")
    return tiny_run.model_copy(update={"out": tmp_path / "run"})


def test_a_finished_run_gives_the_facts_of_its_stages(tiny_run: Config) -> None:
    facts = check_run(tiny_run)
    assert facts.tau == 80
    assert facts.calibrated_on == "outcomes"
    assert (facts.augmentation, facts.attribute_filter, facts.reads_vectors) == (True, True, False)
    assert len(set(asdict(facts.versions).values())) == 5


def test_the_switches_of_the_path_come_from_the_config(tiny_run: Config) -> None:
    plain = tiny_run.model_dump()
    plain["retrieval"]["augmentation"] = plain["reranker"]["attribute_filter"] = False
    facts = check_run(Config.model_validate(plain))
    assert (facts.augmentation, facts.attribute_filter) == (False, False)


def test_labels_of_another_teacher_are_refused(tiny_run: Config) -> None:
    other = tiny_run.teacher.model_copy(update={"memory": False})
    with pytest.raises(ArtifactError, match=r"made for another `teacher`.*adamroute label"):
        check_run(tiny_run.model_copy(update={"teacher": other}))


@pytest.mark.parametrize(
    ("stage", "verb"),
    [
        ("index", "build"),
        ("labels", "label"),
        ("student", "train"),
        ("reranker", "train"),
        ("calibration", "calibrate"),
    ],
)
def test_a_stage_that_is_missing_names_the_command(copy: Config, stage: str, verb: str) -> None:
    shutil.rmtree(copy.stage(stage))
    with pytest.raises(ArtifactError, match=f"adamroute {verb} CONFIG"):
        check_run(copy)


@pytest.mark.parametrize(("stage", "verb"), [("labels", "label"), ("reranker", "train")])
def test_a_file_that_changed_after_sealing_is_refused(copy: Config, stage: str, verb: str) -> None:
    folder = copy.stage(stage)
    victim = next(p for p in sorted(folder.rglob("*.json")) if p.name != "manifest.json")
    victim.write_text(victim.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(ArtifactError, match=f"{victim.name}.*adamroute {verb}"):
        check_run(copy)


@pytest.mark.parametrize(
    ("stage", "verb"), [("index", "label"), ("labels", "train"), ("student", "calibrate")]
)
def test_a_stage_made_from_another_run_of_the_one_before_is_refused(
    copy: Config, stage: str, verb: str
) -> None:
    path = copy.stage(stage) / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "key": "another"}), encoding="utf-8")
    with pytest.raises(ArtifactError, match=f"made from {stage}.*adamroute {verb} CONFIG"):
        check_run(copy)
