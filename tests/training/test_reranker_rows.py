"""Replayed requests as lists of graded candidates."""

from __future__ import annotations

import numpy as np

from adamroute.catalogue.preferences import Traits
from adamroute.catalogue.request import PreferenceProfile
from adamroute.theta import Bins
from adamroute.training.dataset import TrainingSet
from adamroute.training.reranker_rows import cross_fitted_alphas, grade

BINS = Bins(40)
TRAITS = [
    Traits("rug", ("red", "white")),  # asked for
    Traits("rug", ("red", "white")),
    Traits("rug", ("red",)),
    Traits("lamp", ("white",)),
    Traits("lamp", ("black",)),
    Traits("lamp", ("black",)),
]


def test_the_five_grades_follow_category_and_looks_of_the_item_asked_for() -> None:
    liked = np.array([4])
    assert grade(np.arange(6), 0, TRAITS, liked).tolist() == [5, 4, 3, 2, 2, 1]


def test_items_without_a_category_are_never_of_the_same_one() -> None:
    traits = [Traits("", ("red",)), Traits("", ("red",)), Traits("", ())]
    assert grade(np.arange(3), 0, traits, np.array([], np.int64)).tolist() == [5, 2, 1]


def rows(users: list[str], soft: np.ndarray) -> TrainingSet:
    queries = tuple(f"query {n}" for n in range(len(users)))
    nobody = (PreferenceProfile(),) * len(users)
    return TrainingSet(queries, nobody, tuple(users), soft, np.ones(len(users)))


def test_alphas_come_from_students_that_have_not_seen_the_user() -> None:
    # Each user's requests are alike, and each user wants one of the ends: nobody else tells which.
    soft = np.full((20, *BINS.shape), 1e-6)
    users = [f"u{n // 2}" for n in range(20)]
    for n in range(20):
        soft[n, 10 if n // 2 % 2 else 0, 0] = 1.0
    soft /= soft.sum(axis=(1, 2), keepdims=True)
    vectors = np.repeat(np.eye(10, dtype=np.float32), 2, axis=0)
    told = cross_fitted_alphas(rows(users, soft), vectors, BINS, 0.5)
    assert set(told) == {f"query {n}" for n in range(20)}
    own = np.array([1.0 if n // 2 % 2 else 0.0 for n in range(20)])
    assert np.mean(np.abs(np.array([told[f"query {n}"] for n in range(20)]) - own)) > 0.4


def test_one_user_alone_tells_nothing_of_others() -> None:
    soft = np.full((4, *BINS.shape), 1 / 22)
    vectors = np.eye(4, dtype=np.float32)
    assert cross_fitted_alphas(rows(["u"] * 4, soft), vectors, BINS, 0.5) == {}
