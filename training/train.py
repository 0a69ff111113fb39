"""The train stage: labels to students, into one sealed folder.

student/ holds linear.npz, metrics.json, and of a LoRA student adapter/ (PEFT) and student.json
(bins, backbone, template); what the run logged lies in W&B's own folder beside the stages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from adamroute.assembly import load_index, load_intent_student
from adamroute.catalogue.folds import open_shop
from adamroute.config import Config
from adamroute.leaning import Leaning
from adamroute.pipeline import BUILD, LABEL, TRAIN, lacking
from adamroute.progress import Progress
from adamroute.routing.backbone import load_backbone
from adamroute.routing.lora_student import LoraStudent, StudentFile, save_adapter, write_student
from adamroute.routing.student import RoutingInput, Student
from adamroute.routing.student_prompt import prompt_version
from adamroute.stages import Counts, Manifest, Work, write_text
from adamroute.teacher.constants import read_teacher_file
from adamroute.theta import Bins
from adamroute.training.dataset import TrainingSet, load_training_set, query_vectors
from adamroute.training.held_out import known_outcomes, measure
from adamroute.training.linear_fit import LinearFit, fit_linear
from adamroute.training.lora_fit import LoraRun, train_lora
from adamroute.training.tracking import Tracker, check_wandb, tracked

METRICS = "metrics.json"
USUAL_ROWS = 128  # that tell what a LoRA student usually says; more cost seconds


def run_train(config: Config, progress: Progress) -> Manifest:
    """Train and store the students, or return at once what equal inputs already made."""
    check_wandb(config.wandb)

    def make(work: Work) -> Counts:
        read = {stage.label: stage.hash(config) for stage in (BUILD, LABEL)}
        facts: dict[str, JsonValue] = {"config": config.model_dump(mode="json"), **read}
        with tracked(config.wandb, config.out, config.name, facts) as run:
            return _train(config, work.folder, run, progress)

    return TRAIN.run(config, make)


def _train(config: Config, folder: Path, run: Tracker, progress: Progress) -> Counts:
    index = load_index(config.stage("index"))
    constants = read_teacher_file(config.stage("labels"))
    bins = constants.bins
    rows = load_training_set(config.stage("labels"), bins)
    if config.student.shuffle_labels:
        rows = rows.with_shuffled_labels(np.random.default_rng(config.seed))
    shop, ranks = open_shop(config), config.stage("ranks")
    vectors = query_vectors(rows, shop, ranks)
    held = known_outcomes(shop, ranks, index, bins)
    reach = constants.leaning.reach
    linear = fit_linear(vectors, rows.soft, rows.weights, rows.user_ids, bins, reach=reach)
    linear.student.save(folder)
    students: list[Student] = [linear.student]
    lora = None
    if config.student.kind == "lora":
        lora, student = _train_lora(
            config, folder, rows, bins, reach=reach, run=run, progress=progress
        )
        students.append(student)
    elif config.student.kind == "intent":
        students.append(load_intent_student(config.stage("labels")))
    found = {one.name: measure(one, held, config.routing.epsilon) for one in students}
    for name, values in found.items():
        run.log({f"heldout/{name}_{key}": value for key, value in values.items()})
        progress.note(f"{name} student, held-out users: {_line(values)}")
    trained: Counts = {"rows": len(rows)} if lora is None else lora.counts
    counts = {"kind": config.student.kind, "heldout_rows": len(held), **trained}
    run.summarise(counts)
    write_text(folder / METRICS, _metrics(found, linear, lora))
    return {
        **counts,
        "shuffled": config.student.shuffle_labels,
        **lacking(TRAIN, linear.reason, progress),
    }


def _train_lora(
    config: Config,
    folder: Path,
    rows: TrainingSet,
    bins: Bins,
    *,
    reach: float,
    run: Tracker,
    progress: Progress,
) -> tuple[LoraRun, LoraStudent]:
    """Train, store, and hand back the student as the server will see it."""
    wanted = config.student
    backbone = load_backbone(wanted.backbone, wanted.layers, allow_download=wanted.allow_download)
    with progress.task("LoRA training", total=wanted.steps) as advance:
        lora = train_lora(
            backbone, rows, wanted, bins,
            seed=config.seed, advance=advance, report_to=run.report_to,
        )  # fmt: skip
    save_adapter(folder, lora.model)
    parts = backbone, lora.model.merge_and_unload(), wanted.max_tokens, bins, lora.tokens
    student = LoraStudent.of(*parts, leaning=Leaning(scale=1.0, reach=reach))
    student = replace(student, leaning=_leaning(student, rows, reach, config.seed))
    facts = StudentFile(
        leaning=student.leaning,
        backbone=wanted.backbone,
        layers=wanted.layers,
        max_tokens=wanted.max_tokens,
        tau=bins.tau,
        alpha_ids=lora.tokens.alphas,
        budget_ids=lora.tokens.budgets,
        prompt=prompt_version(),
        weights=backbone.weights,
    )
    write_student(folder, facts)
    return lora, student


def _leaning(student: LoraStudent, rows: TrainingSet, reach: float, seed: int) -> Leaning:
    """From what it says of some of its own rows."""
    drawn = np.random.default_rng(seed).permutation(len(rows))[:USUAL_ROWS]
    asked = [RoutingInput(rows.queries[row], rows.profiles[row], None) for row in drawn.tolist()]
    return Leaning.of(np.array([said.alpha_probs for said in student.predict(asked)]), reach)


def _metrics(
    found: Mapping[str, Mapping[str, float]], linear: LinearFit, lora: LoraRun | None
) -> str:
    history = [] if lora is None else lora.history
    body = {
        "heldout": {name: dict(values) for name, values in found.items()},
        "linear": {"penalty": linear.penalty, "errors": list(linear.errors)},
        "lora": {"history": [dict(row) for row in history if "loss" in row]},
    }
    return json.dumps(body, indent=2) + "\n"


def _line(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:.3f}" for key, value in values.items())
