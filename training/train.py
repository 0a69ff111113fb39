"""The train stage: labels to both students, into one sealed folder.

student/ holds adapter/ (PEFT), student.json (bins, backbone, template), linear.npz and
metrics.json; what the run logged lies in W&B's own folder beside the stages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.pipeline import BUILD, LABEL, TRAIN, lacking
from adamroute.progress import Progress
from adamroute.retrieval.ranks import load_ranks
from adamroute.routing.backbone import load_backbone
from adamroute.routing.lora_student import LoraStudent, StudentFile, write_student
from adamroute.routing.student_prompt import prompt_version
from adamroute.stages import Counts, Manifest, Work, write_text
from adamroute.teacher.constants import read_teacher_file
from adamroute.theta import Bins
from adamroute.training.dataset import TrainingSet, load_training_set
from adamroute.training.held_out import known_outcomes, measure
from adamroute.training.linear_fit import LinearFit, fit_linear
from adamroute.training.lora_fit import LoraRun, train_lora
from adamroute.training.tracking import Tracker, check_wandb, tracked

METRICS = "metrics.json"


def run_train(config: Config, progress: Progress) -> Manifest:
    """Train and store both students, or return at once what equal inputs already made."""
    check_wandb(config.wandb)

    def make(work: Work) -> Counts:
        read = {stage.label: stage.hash(config) for stage in (BUILD, LABEL)}
        facts: dict[str, JsonValue] = {"config": config.model_dump(mode="json"), **read}
        with tracked(config.wandb, config.out, config.name, facts) as run:
            return _train(config, work.folder, run, progress)

    return TRAIN.run(config, make)


def _train(config: Config, folder: Path, run: Tracker, progress: Progress) -> Counts:
    index = load_index(config.stage("index"))
    bins = read_teacher_file(config.stage("labels")).bins
    rows = load_training_set(config.stage("labels"), bins)
    if config.student.shuffle_labels:
        rows = rows.with_shuffled_labels(np.random.default_rng(config.seed))
    shop, ranks = open_shop(config), config.stage("ranks")
    vectors = _query_vectors(rows, shop, ranks)
    held = known_outcomes(shop, ranks, index, bins)
    linear = fit_linear(vectors, rows.soft, rows.weights, rows.user_ids, bins)
    linear.student.save(folder)
    lora, student = _train_lora(config, folder, rows, bins, run=run, progress=progress)
    found = {
        "linear": measure(linear.student, held, config.routing.epsilon),
        "lora": measure(student, held, config.routing.epsilon),
    }
    for name, values in found.items():
        run.log({f"heldout/{name}_{key}": value for key, value in values.items()})
        progress.note(f"{name} student, held-out users: {_line(values)}")
    run.summarise({"heldout_rows": len(held), **lora.counts})
    write_text(folder / METRICS, _metrics(found, linear, lora))
    return {
        **lora.counts,
        "heldout_rows": len(held),
        "shuffled": config.student.shuffle_labels,
        **lacking(TRAIN, linear.reason, progress),
    }


def _query_vectors(rows: TrainingSet, shop: Shop, ranks: Path) -> NDArray[np.float32]:
    """E_txt of every row's query, [R, D], as stage `ranks` has them; rows share texts."""
    vectors: dict[str, NDArray[np.float32]] = {}
    for queries in (shop.split("train"), synthetic_queries(shop, ranks)):
        found = load_ranks(ranks, queries).text_vectors
        vectors |= {query.text: vector for query, vector in zip(queries, found, strict=True)}
    return np.stack([vectors[query] for query in rows.queries])


def _train_lora(
    config: Config,
    folder: Path,
    rows: TrainingSet,
    bins: Bins,
    *,
    run: Tracker,
    progress: Progress,
) -> tuple[LoraRun, LoraStudent]:
    """Train, store, and hand back the student as the server will see it."""
    wanted = config.student
    backbone = load_backbone(wanted.backbone, wanted.layers, allow_download=wanted.allow_download)
    with progress.task("LoRA training", total=wanted.steps) as advance:
        lora = train_lora(
            backbone,
            rows,
            wanted,
            bins,
            seed=config.seed,
            advance=advance,
            report_to=run.report_to,
        )
    facts = StudentFile(
        backbone=wanted.backbone,
        layers=wanted.layers,
        max_tokens=wanted.max_tokens,
        tau=bins.tau,
        alpha_ids=lora.tokens.alphas,
        budget_ids=lora.tokens.budgets,
        prompt=prompt_version(),
        weights=backbone.weights,
    )
    write_student(folder, lora.model, facts)
    merged = lora.model.merge_and_unload()
    return lora, LoraStudent.of(backbone, merged, wanted.max_tokens, bins, lora.tokens)


def _metrics(found: Mapping[str, Mapping[str, float]], linear: LinearFit, lora: LoraRun) -> str:
    body = {
        "heldout": {name: dict(values) for name, values in found.items()},
        "linear": {"penalty": linear.penalty, "errors": list(linear.errors)},
        "lora": {"history": [dict(row) for row in lora.history if "loss" in row]},
    }
    return json.dumps(body, indent=2) + "\n"


def _line(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:.3f}" for key, value in values.items())
