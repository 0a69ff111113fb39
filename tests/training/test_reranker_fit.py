"""Grading of replayed candidates, and the fit of the five-level scorer."""

import numpy as np
import pytest

from adamroute.catalogue.preferences import Traits
from adamroute.errors import LabelError
from adamroute.reranking.features import FEATURES
from adamroute.reranking.reranker import expected_grade
from adamroute.training.reranker_fit import (
    ASKED_WEIGHT,
    GradedRows,
    emphasised,
    fit_reranker,
    grade,
    keep,
)

F = len(FEATURES)
TRAITS = [
    Traits("rug", ("red", "white")),  # asked for
    Traits("rug", ("red", "white")),
    Traits("rug", ("red",)),
    Traits("lamp", ("white",)),
    Traits("lamp", ("black",)),
    Traits("lamp", ("black",)),
]


def sample(thresholds: list[float], n: int = 4000) -> GradedRows:
    """Grades drawn from a proportional-odds model with weights 1 and -.5 on two features."""
    rng = np.random.default_rng(5)
    x = np.zeros((n, F))
    x[:, :2] = rng.normal(size=(n, 2))
    fit = x[:, 0] - 0.5 * x[:, 1] + rng.logistic(size=n)
    return GradedRows(x, np.digitize(fit, thresholds) + 1)


def test_the_five_levels_follow_category_and_looks_of_the_item_asked_for() -> None:
    liked = np.array([4])
    assert grade(np.arange(6), 0, TRAITS, liked).tolist() == [5, 4, 3, 2, 2, 1]


def test_items_without_a_category_are_never_of_the_same_one() -> None:
    traits = [Traits("", ("red",)), Traits("", ("red",)), Traits("", ())]
    assert grade(np.arange(3), 0, traits, np.array([], np.int64)).tolist() == [5, 2, 1]


def test_thinning_keeps_the_item_asked_for_and_is_seeded() -> None:
    levels = np.array([1, 1, 5, 1, 2, 3, 1])
    kept = keep(levels, 3, np.random.default_rng(1))
    assert len(kept) == 3
    assert 2 in kept
    assert np.array_equal(kept, keep(levels, 3, np.random.default_rng(1)))
    assert len(keep(levels, 99, np.random.default_rng(1))) == 7


def test_the_fit_recovers_the_model_that_drew_the_levels() -> None:
    graded = sample([-2.0, -0.5, 0.5, 2.0])
    scorer = fit_reranker(graded)
    scale = graded.features.std(axis=0)
    assert scorer.weights["text_score"] / scale[0] == pytest.approx(1.0, abs=0.1)
    assert scorer.weights["mm_score"] / scale[1] == pytest.approx(-0.5, abs=0.1)
    shares = scorer.levels(graded.features).mean(axis=0)
    assert shares == pytest.approx(np.bincount(graded.levels, minlength=6)[1:] / 4000, abs=0.01)


def test_items_asked_for_count_ten_times_and_the_others_once() -> None:
    rows = emphasised(
        GradedRows(np.arange(3 * F).reshape(3, F).astype(float), np.array([5, 1, 4]))
    )
    assert rows.levels.tolist() == [5] * ASKED_WEIGHT + [1, 4]
    assert rows.features[ASKED_WEIGHT - 1 : ASKED_WEIGHT + 1, 0].tolist() == [0.0, F]


def test_a_feature_that_never_varies_gets_no_weight() -> None:
    assert fit_reranker(sample([-2.0, -0.5, 0.5, 2.0])).weights["collaborative"] == 0.0


@pytest.mark.parametrize("absent", [1, 3, 4, 5])
def test_a_level_that_never_occurs_gets_no_probability(absent: int) -> None:
    graded = sample([-2.0, -0.5, 0.5, 2.0])
    here = graded.levels != absent
    kept = GradedRows(graded.features[here], graded.levels[here])
    levels = fit_reranker(kept).levels(kept.features)
    assert levels[:, absent - 1].max() < 1e-9
    assert np.isfinite(expected_grade(levels)).all()


def test_one_level_alone_cannot_be_fitted() -> None:
    with pytest.raises(LabelError, match=r"have level \[1\], wanted at least two levels"):
        fit_reranker(GradedRows(np.zeros((10, F)), np.ones(10, np.int64)))
