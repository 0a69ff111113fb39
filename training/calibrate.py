"""The calibration stage: both routers on requests of users that training never saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adamroute.assembly import load_index, load_teacher
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries, outcome_source
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.progress import Progress
from adamroute.retrieval.replay import Ranks, price, recall_surfaces, regret, soft_labels
from adamroute.routing.confidence import CALIBRATION_FILE
from adamroute.routing.lora_student import LoraStudent
from adamroute.stages import (
    Manifest,
    is_fresh,
    publish,
    read_manifest,
    stage_key,
    write_manifest,
    write_text,
)
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.theta import Theta
from adamroute.training.calibration_fit import Array, Outcomes, fit_calibration


def run_calibrate(config: Config, progress: Progress) -> Manifest:
    """Write calibration/; nothing to do where it is fresh. CalibrationError: too few rows."""
    folder, labels = config.stage("calibration"), config.stage("labels")
    shop = open_shop(config)
    hashes = {
        "index": read_manifest(config.stage("index"), "build").hash,
        "labels": read_manifest(labels, "label").hash,
        "student": read_manifest(config.stage("student"), "train").hash,
    }
    inputs = {**hashes, "shop": shop.hash}
    settings = {
        "fallback_rate": config.calibration.fallback_rate,
        "epsilon": config.routing.epsilon,
        "seed": config.seed,
    }
    if is_fresh(folder, "calibrate", stage_key("calibrate", settings, inputs)):
        return read_manifest(folder, "calibrate")
    rows = _ask_both(config, shop, progress)
    calibration = fit_calibration(
        rows,
        epsilon=config.routing.epsilon,
        fallback_rate=config.calibration.fallback_rate,
        calibrated_on=outcome_source(shop),
        hashes=hashes,
        seed=config.seed,
    )
    with publish(folder) as scratch:
        write_text(scratch / CALIBRATION_FILE, calibration.model_dump_json(indent=2) + "\n")
        return write_manifest(
            scratch, stage="calibrate", config=settings, inputs=inputs,
            counts={"rows": calibration.n_rows, "verdict": calibration.verdict},
        )  # fmt: skip


def _ask_both(config: Config, shop: Shop, progress: Progress) -> Outcomes:
    """What student and teacher answer on the calibration requests, held against the outcomes."""
    index = load_index(config.stage("index"), config.encoders.threads)
    labels = config.stage("labels")
    constants, teacher = (
        read_teacher_file(labels),
        load_teacher(labels, index, config, config.out / REPLIES_FILE),
    )
    student = LoraStudent.load(config.stage("student"), config.student.threads)
    queries = known_queries(shop, labels, "calibration")
    requests = [shop.request(query) for query in queries]
    tasks = teacher.contexts.prepare(requests)
    predictions = []
    with progress.task("calibration: student", len(queries)) as advance:
        for task in tasks:
            predictions += student.predict([task.routing])
            advance(1)
    answers = teacher.decide_many(requests)
    vectors = np.stack([task.text_vector for task in tasks])
    encoded = index.encode_vectors([query.text for query in queries], vectors)
    rows = np.array([shop.catalogue.row(query.target_id) for query in queries], np.int64)
    text, mm = index.recall.ranks(encoded.text, encoded.mm, rows)
    utilities = recall_surfaces(text, mm, constants.bins) - price(constants.bins, constants.lam)
    return Outcomes(
        alpha_probs=np.array([said.alpha_probs for said in predictions]),
        alphas=np.array([said.theta.alpha for said in predictions]),
        soft=soft_labels(utilities).sum(axis=2),
        student_regret=_regrets(text, mm, [said.theta for said in predictions]),
        teacher_regret=_regrets(text, mm, [answer.theta for answer in answers]),
        can_fall_back=np.array([answer.source == "teacher" for answer in answers]),
        users=[query.user_id for query in queries],
    )


def _regrets(text: Ranks, mm: Ranks, thetas: Sequence[Theta]) -> Array:
    return np.array([regret(t, m, theta) for t, m, theta in zip(text, mm, thetas, strict=True)])
