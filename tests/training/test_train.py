"""The train stage on a real tiny run: what it stores, when it runs again, what it measures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.config import Config
from adamroute.errors import ArtifactError, ConfigError
from adamroute.pipeline import TRAIN
from adamroute.progress import SILENT
from adamroute.routing.linear_student import LinearStudent
from adamroute.routing.lora_student import LoraStudent, read_student
from adamroute.routing.student import RoutingInput
from adamroute.stages import read_manifest
from adamroute.theta import ALPHAS, Bins, Theta
from adamroute.training.held_out import HeldOut, measure
from adamroute.training.train import run_train
from tests.leanings import AS_MEAN

BINS = Bins(40)


def test_both_students_are_stored_with_their_facts(tiny_run: Config) -> None:
    folder = tiny_run.stage("student")
    manifest = read_manifest(folder, "train")
    labels = read_manifest(tiny_run.stage("labels"), "label")
    assert manifest.inputs["labels"] == labels.hash
    assert {"adapter/adapter_model.safetensors", "linear.npz", "student.json"} <= set(
        manifest.outputs
    )
    facts = read_student(folder)
    assert (facts.backbone, facts.layers, facts.tau) == ("smollm2", 2, 80)
    assert manifest.counts["steps"] == tiny_run.student.steps
    student = LoraStudent.load(folder)
    linear = LinearStudent.load(folder)
    assert student.bins == linear.bins == Bins(80)
    vector = np.zeros(384, dtype=np.float32)
    for found in (student, linear):
        answer = found.predict([RoutingInput("round lime rug", PreferenceProfile(), vector)])[0]
        assert answer.theta.budget in (20, 40, 80)


def test_held_out_regret_and_losses_are_written_and_logged(tiny_run: Config) -> None:
    import wandb

    metrics = json.loads((tiny_run.stage("student") / "metrics.json").read_text())
    for name in ("lora", "linear"):
        assert 0.0 <= metrics["heldout"][name]["regret"] <= 1.0
    assert {"loss", "bin_accuracy", "bin_mass"} <= set(metrics["lora"]["history"][0])
    labels = read_manifest(tiny_run.stage("labels"), "label").hash
    wandb.teardown()  # its own process writes the file, and may lag until the program's end
    [stored] = (tiny_run.out / "wandb").glob("offline-run-*/run-*.wandb")
    content = stored.read_bytes()
    words = ("train/loss", "train/bin_accuracy", "heldout/lora_regret", "learning_rate", labels)
    for word in words:
        assert word.encode() in content, word


def test_a_second_run_has_nothing_to_do(tiny_run: Config) -> None:
    path = tiny_run.stage("student") / "manifest.json"
    before = path.stat().st_mtime_ns
    assert run_train(tiny_run, SILENT).stage == "train"
    assert path.stat().st_mtime_ns == before


def test_training_without_labels_says_what_to_run(tiny_run: Config, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute build CONFIG"):
        run_train(tiny_run.model_copy(update={"out": tmp_path}), SILENT)


def test_an_online_run_without_a_key_stops_before_training(
    tiny_run: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    wandb = tiny_run.wandb.model_copy(update={"mode": "online"})
    with pytest.raises(ConfigError, match="needs a key"):
        run_train(tiny_run.model_copy(update={"wandb": wandb}), SILENT)


def always(theta: Theta) -> LinearStudent:
    """A student that gives one answer whatever it is asked."""
    scores = np.zeros(BINS.shape)
    scores[ALPHAS.index(theta.alpha), BINS.budgets.index(theta.budget)] = 1.0
    return LinearStudent(np.zeros((4, scores.size)), scores.ravel(), BINS, AS_MEAN)


def test_regret_is_the_best_alpha_at_the_own_budget_less_the_chosen_one() -> None:
    surfaces = np.zeros((2, 11, 2))
    surfaces[0, 3] = [0.5, 0.9]
    surfaces[0, 5] = [0.45, 0.6]
    surfaces[1, 5] = [0.2, 0.7]
    nobody = (PreferenceProfile(),) * 2
    held = HeldOut(("a", "b"), nobody, np.zeros((2, 4), np.float32), surfaces, BINS)
    found = measure(always(Theta(0.5, 20)), held, epsilon=0.1)
    assert found["regret"] == pytest.approx((0.05 + 0.0) / 2)
    assert (found["within_epsilon"], found["alpha_hit"]) == (1.0, 0.5)
    assert found["utility"] == pytest.approx((0.45 + 0.2) / 2)
    assert (found["mean_budget"], found["bin_mass"]) == (20.0, 1.0)
    assert measure(always(Theta(0.5, 40)), held, epsilon=0.1)["within_epsilon"] == 0.5


def test_nothing_is_measured_where_nobody_is_held_out() -> None:
    held = HeldOut((), (), np.zeros((0, 4), np.float32), np.zeros((0, 11, 2)), BINS)
    assert measure(always(Theta(0.5, 20)), held, epsilon=0.1) == {}


def test_leave_to_download_is_no_reason_to_train_again(tiny_run: Config) -> None:
    allowed = tiny_run.student.model_copy(update={"allow_download": True})
    assert TRAIN.is_fresh(tiny_run.model_copy(update={"student": allowed}))
