"""Targets of label rows, worked by hand."""

import numpy as np
import pytest

from adamroute.routing.composition import Composition
from adamroute.routing.difficulty import Difficulty
from adamroute.routing.theta import Bins
from distill.targets import (
    evidence_surface,
    shrunk,
    soft_targets,
)

BINS = Bins(20)


def test_a_rows_surface_is_the_mean_over_its_evidence() -> None:
    surface = evidence_surface([10, 10_000], [10_000, 10], Difficulty(), BINS)
    # alpha 1: (1 / (1 + (10 / 20)^2) + 1 / (1 + (10 / .5)^2)) / 2 = (.8 + .0025) / 2
    assert surface[10, 0] == pytest.approx((0.8 + 1 / 401) / 2, abs=1e-5)
    assert surface[5, 0] == pytest.approx(0.5, abs=1e-5)  # both halves hit at rank n with .5


def test_ranks_of_templates_are_matched_first() -> None:
    matched = evidence_surface([5], [4], Difficulty(2.0, 3.0), BINS)
    as_is = evidence_surface([10], [12], Difficulty(), BINS)
    assert np.allclose(matched, as_is)


def test_shrinking_pulls_each_row_towards_its_likely_kinds() -> None:
    kinds_mean = np.stack([np.full((1, 1), 0.2), np.full((1, 1), 0.6), np.full((1, 1), 1.0)])
    composition = Composition(np.zeros((3, 1)), np.zeros(3), kinds_mean)
    own, kinds = np.array([[[0.5]], [[0.5]]]), np.array([[1.0, 0, 0], [0, 0.5, 0.5]])
    # .75 * .5 + .25 * .2 and .75 * .5 + .25 * (.5 * .6 + .5 * 1)
    assert shrunk(own, kinds, composition, 0.25).ravel().tolist() == pytest.approx([0.425, 0.575])
    assert shrunk(own, kinds, composition, 0.0).ravel().tolist() == [0.5, 0.5]


def test_soft_targets_pay_for_k() -> None:
    bins = Bins(40)
    surfaces = np.full((1, *bins.shape), 0.5)
    surfaces[:, :, 1] = 0.6
    # U: .5 - .1 at K = 20, .6 - .2 at K = 40 with lambda .2: all bins alike
    assert soft_targets(surfaces, bins, 0.2, 0.05) == pytest.approx(np.full((1, 11, 2), 1 / 22))
    free = soft_targets(surfaces, bins, 0.0, 0.05)  # odds exp(.1 / .05)
    assert free[0, 0, 1] / free[0, 0, 0] == pytest.approx(np.exp(2.0))
