"""The linear student's inference: numpy alone, numbers worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import ArtifactError
from adamroute.routing.linear_student import FLOOR, LINEAR_FILE, LinearStudent
from adamroute.routing.student import RoutingInput
from adamroute.theta import Bins, Theta
from tests.leanings import AS_MEAN

BINS = Bins(40)  # budgets 20 and 40
NOBODY = PreferenceProfile()


def student_of(surface: np.ndarray) -> LinearStudent:
    """Answers `surface` where the first coordinate of the vector is 1."""
    weights = np.zeros((3, surface.size))
    weights[0] = surface.ravel()
    return LinearStudent(weights, np.zeros(surface.size), BINS, AS_MEAN)


def of(*vector: float) -> RoutingInput:
    return RoutingInput("any", NOBODY, np.array(vector, dtype=np.float32))


def ask(student: LinearStudent, *vector: float) -> Theta:
    return student.predict([RoutingInput("any", NOBODY, np.array(vector, dtype=np.float32))])[
        0
    ].theta


def test_alpha_is_where_the_marginal_leans_and_the_budget_the_likeliest_given_it() -> None:
    surface = np.zeros(BINS.shape)
    surface[2] = [0.5, 0.0]  # marginal .5
    surface[7] = [0.4, 0.0]
    surface[4] = [0.04, 0.06]  # the mean is .42, whose budgets are these
    found = student_of(surface).predict([of(1, 0, 0)])[0]
    assert found.theta == Theta(0.4, 40)
    assert found.alpha_probs[[2, 4, 7]] == pytest.approx([0.5, 0.1, 0.4], abs=2e-5)
    assert found.budget_probs == pytest.approx([0.4, 0.6])
    assert found.bin_mass == 1.0


def test_output_below_zero_is_clipped_and_what_is_left_sums_to_one() -> None:
    surface = np.full(BINS.shape, -0.1)
    surface[9] = [0.5, 0.5]
    found = student_of(surface).predict([of(1, 0, 0)])[0]
    assert found.alpha_probs.sum() == pytest.approx(1.0)
    assert found.alpha_probs[0] == pytest.approx(FLOOR / (1.0 + 10 * FLOOR))


def test_no_opinion_is_one_half_and_ties_go_to_the_smallest_budget() -> None:
    assert ask(student_of(np.ones(BINS.shape)), 1.0, 0.0, 0.0) == Theta(0.5, 20)


def test_many_at_once_are_exactly_one_by_one() -> None:
    rng = np.random.default_rng(0)
    student = LinearStudent(rng.normal(size=(3, 22)), rng.normal(size=22), BINS, AS_MEAN)
    vectors = rng.normal(size=(9, 3)).astype(np.float32)
    many = student.predict([RoutingInput("", NOBODY, v) for v in vectors])
    for vector, found in zip(vectors, many, strict=True):
        alone = student.predict([RoutingInput("", NOBODY, vector)])[0]
        assert np.array_equal(alone.alpha_probs, found.alpha_probs)
        assert alone.theta == found.theta


def test_a_saved_student_answers_alike(tmp_path: Path) -> None:
    surface = np.zeros(BINS.shape)
    surface[3, 1] = 1.0
    student_of(surface).save(tmp_path)
    again = LinearStudent.load(tmp_path)
    assert again.leaning == AS_MEAN
    assert ask(again, 1.0, 0.0, 0.0) == Theta(0.3, 40)


def test_a_missing_or_misshapen_file_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute train CONFIG"):
        LinearStudent.load(tmp_path)
    path = tmp_path / LINEAR_FILE
    np.savez(path, weights=np.ones((3, 4)), intercept=np.ones(4), tau=40, leaning=[0.1, 0.3])
    with pytest.raises(ArtifactError, match="tau 40 wants 22 outputs"):
        LinearStudent.load(tmp_path)
    for damaged in (b"", b"not an archive"):
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="no linear student"):
            LinearStudent.load(tmp_path)
    np.savez(path, weights=np.ones((3, 22)), intercept=np.ones(22), tau=40, leaning=[0.0, 0.3])
    with pytest.raises(ArtifactError, match="no linear student"):
        LinearStudent.load(tmp_path)
