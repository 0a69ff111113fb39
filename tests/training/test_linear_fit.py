"""Fitting the linear student: what it must learn, and what it may not look at."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import LabelError
from adamroute.retrieval.replay import TargetRanks, recall_surfaces, soft_labels
from adamroute.routing.student import RoutingInput
from adamroute.theta import ALPHAS, Bins, Theta
from adamroute.training.linear_fit import PENALTIES, fit_linear

BINS = Bins(40)


def two_kinds(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of two kinds: odd rows are answered by photos alone, even ones by text alone."""
    rng = np.random.default_rng(0)
    kind = np.arange(rows) % 2
    vectors = rng.normal(scale=0.2, size=(rows, 8)).astype(np.float32)
    vectors[:, 0] += 2 * kind - 1
    near, far = np.full(rows, 15), np.full(rows, 5000)
    text, mm = np.where(kind, far, near), np.where(kind, near, far)
    ranks = TargetRanks(text, mm, np.ones((rows, 11), np.int64))
    return vectors, soft_labels(recall_surfaces(ranks, BINS))


def test_it_learns_which_branch_answers_which_query() -> None:
    vectors, soft = two_kinds(80)
    users = [f"u{row // 4}" for row in range(80)]
    student = fit_linear(vectors, soft, np.ones(80), users, BINS, reach=0.5).student
    unseen = np.zeros((2, 8), np.float32)
    unseen[:, 0] = [-1.0, 1.0]
    text, photo = student.predict([RoutingInput("", PreferenceProfile(), v) for v in unseen])
    assert (text.theta, photo.theta) == (Theta(1.0, 40), Theta(0.0, 40))


def test_rows_of_weight_zero_teach_nothing() -> None:
    vectors, soft = two_kinds(80)
    even = (np.arange(80) % 2 == 0).astype(float)
    users = [f"u{row // 4}" for row in range(80)]
    student = fit_linear(vectors, soft, even, users, BINS, reach=0.5).student
    photo = student.predict(
        [RoutingInput("", PreferenceProfile(), np.eye(8, dtype=np.float32)[0])]
    )[0]
    assert photo.theta.alpha == 1.0


def test_its_own_rows_say_what_is_usual_and_the_reach_how_far_that_is_sent() -> None:
    vectors, soft = two_kinds(80)
    users = [f"u{row // 4}" for row in range(80)]
    near = fit_linear(vectors, soft, np.ones(80), users, BINS, reach=0.3).student
    assert near.leaning.reach == 0.3
    asked = [RoutingInput("", PreferenceProfile(), v) for v in vectors]
    said = np.array([one.alpha_probs for one in near.predict(asked)]) @ np.array(ALPHAS)
    assert near.leaning.scale == pytest.approx(float(np.sqrt(np.mean((said - 0.5) ** 2))))
    alphas = {one.theta.alpha for one in near.predict(asked)}
    assert min(alphas) == 0.2
    assert max(alphas) == 0.8


def test_noise_is_met_with_the_heaviest_penalty_and_users_are_kept_together() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(size=(12, 40))
    vectors = np.repeat(base, 10, axis=0).astype(np.float32)  # a user's rows are one vector
    labels = np.repeat(rng.dirichlet(np.ones(22), size=12), 10, axis=0).reshape(120, 11, 2)
    users = [f"u{row // 10}" for row in range(120)]
    fit = fit_linear(vectors, labels, np.ones(120), users, BINS, reach=0.5)
    # With users split across folds every row has its twin in training and the smallest would win.
    assert fit.penalty == PENALTIES[-1]
    alone = fit_linear(
        vectors, labels, np.ones(120), [str(i) for i in range(120)], BINS, reach=0.5
    )
    assert alone.penalty == PENALTIES[0]


def test_one_user_alone_is_fitted_without_a_choice() -> None:
    vectors, soft = two_kinds(10)
    fit = fit_linear(vectors, soft, np.ones(10), ["u"] * 10, BINS, reach=0.5)
    assert (fit.penalty, fit.errors) == (PENALTIES[0], ())
    assert fit.reason is not None
    two = fit_linear(vectors, soft, np.ones(10), ["u", "v"] * 5, BINS, reach=0.5)
    assert (len(two.errors), two.reason) == (len(PENALTIES), None)


def test_counts_that_disagree_are_refused() -> None:
    vectors, soft = two_kinds(10)
    with pytest.raises(LabelError, match="10 vectors, 9 labels"):
        fit_linear(vectors, soft[:9], np.ones(10), ["u"] * 10, BINS, reach=0.5)
