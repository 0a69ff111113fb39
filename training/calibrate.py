"""The calibration stage: both routers on requests of users that training never saw."""

from __future__ import annotations

import numpy as np

from adamroute.assembly import load_index, load_student, load_teacher
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries, outcome_source
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.pipeline import BUILD, CALIBRATE, LABEL, TRAIN, lacking
from adamroute.progress import Progress
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.replay import price, recall_surfaces, regrets, soft_labels
from adamroute.routing.confidence import CALIBRATION_FILE
from adamroute.stages import Counts, Manifest, Work, write_text
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.training.calibration_fit import NO_ROWS, CalibrationRows, fit_calibration


def run_calibrate(config: Config, progress: Progress) -> Manifest:
    """Write calibration/; nothing to do where it is fresh.

    Too few rows are no error: the calibration is `uncertified` then, and its manifest says why.
    """

    def make(work: Work) -> Counts:
        shop = open_shop(config)
        calibration = fit_calibration(
            _ask_both(config, shop, progress),
            epsilon=config.routing.epsilon,
            fallback_rate=config.calibration.fallback_rate,
            calibrated_on=outcome_source(shop),
            hashes={stage.label: stage.hash(config) for stage in (BUILD, LABEL, TRAIN)},
            seed=config.seed,
        )
        text = calibration.model_dump_json(indent=2) + "\n"
        write_text(work.folder / CALIBRATION_FILE, text)
        counts = {"rows": calibration.n_rows, "verdict": calibration.verdict}
        return {**counts, **lacking(CALIBRATE, calibration.reason, progress)}

    return CALIBRATE.run(config, make)


def _ask_both(config: Config, shop: Shop, progress: Progress) -> CalibrationRows:
    """What student and teacher answer on the calibration requests, held against the outcomes."""
    queries = known_queries(shop, config.stage("ranks"), "calibration")
    if not queries:
        return NO_ROWS
    index = load_index(config.stage("index"))
    labels, ranks = config.stage("labels"), config.stage("ranks")
    constants = read_teacher_file(labels)
    teacher = load_teacher(labels, index, config, config.out / REPLIES_FILE)
    student = load_student(config)
    known = load_ranks(ranks, queries)
    requests = [shop.request(query) for query in queries]
    predictions = []
    with progress.task("calibration: student", len(queries)) as advance:
        for task in teacher.contexts.prepare(requests):
            predictions += student.predict([task.routing])
            advance(1)
    answers = teacher.decide_many(requests)
    surfaces = recall_surfaces(known.ranks, constants.bins)
    utilities = surfaces - price(constants.bins, constants.lam)
    return CalibrationRows(
        alpha_probs=np.array([said.alpha_probs for said in predictions]),
        alphas=np.array([said.theta.alpha for said in predictions]),
        soft=soft_labels(utilities).sum(axis=2),
        student_regret=regrets(known.ranks, [p.theta for p in predictions], constants.combine),
        teacher_regret=regrets(known.ranks, [a.theta for a in answers], constants.combine),
        can_fall_back=np.array([request.has_positives for request in requests]),
        users=known.users,
    )
