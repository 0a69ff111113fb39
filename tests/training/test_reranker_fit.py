"""Grading of replayed candidates, and the fit of the five-level reranker."""

from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.preferences import Traits
from adamroute.reranking.features import FEATURES
from adamroute.reranking.reranker import expected_grade
from adamroute.training import reranker_fit
from adamroute.training.reranker_fit import (
    ASKED_WEIGHT,
    GradedRows,
    emphasised,
    fit_reranker,
    fit_where_graded,
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
    reranker, converged = fit_reranker(graded)
    assert converged
    scale = graded.features.std(axis=0)
    assert reranker.weights["text_score"] / scale[0] == pytest.approx(1.0, abs=0.1)
    assert reranker.weights["mm_score"] / scale[1] == pytest.approx(-0.5, abs=0.1)
    shares = reranker.levels(graded.features).mean(axis=0)
    assert shares == pytest.approx(np.bincount(graded.levels, minlength=6)[1:] / 4000, abs=0.01)


def test_items_asked_for_count_ten_times_and_the_others_once() -> None:
    rows = emphasised(
        GradedRows(np.arange(3 * F).reshape(3, F).astype(float), np.array([5, 1, 4]))
    )
    assert rows.levels.tolist() == [5] * ASKED_WEIGHT + [1, 4]
    assert rows.features[ASKED_WEIGHT - 1 : ASKED_WEIGHT + 1, 0].tolist() == [0.0, F]


def test_a_feature_that_never_varies_gets_no_weight() -> None:
    assert fit_reranker(sample([-2.0, -0.5, 0.5, 2.0]))[0].weights["collaborative"] == 0.0


@pytest.mark.parametrize("absent", [1, 3, 4, 5])
def test_a_level_that_never_occurs_gets_no_probability(absent: int) -> None:
    graded = sample([-2.0, -0.5, 0.5, 2.0])
    here = graded.levels != absent
    kept = GradedRows(graded.features[here], graded.levels[here])
    levels = fit_reranker(kept)[0].levels(kept.features)
    assert levels[:, absent - 1].max() < 1e-9
    assert np.isfinite(expected_grade(levels)).all()


def test_a_feature_that_varies_by_rounding_alone_gets_no_weight() -> None:
    graded = sample([-2.0, -0.5, 0.5, 2.0])
    noise = np.random.default_rng(0).normal(scale=1e-8, size=len(graded.levels))
    graded.features[:, FEATURES.index("wished_category")] = 0.7 + noise
    fitted, converged = fit_reranker(graded)
    assert (fitted.weights["wished_category"], converged) == (0.0, True)


def test_grades_that_one_feature_tells_apart_have_no_best_fit_and_keep_their_order() -> None:
    x = np.zeros((40, F))
    x[:, 0] = np.repeat([0.0, 1.0], 20)
    fitted, _ = fit_reranker(GradedRows(x, np.repeat([1, 5], 20)))
    low, high = expected_grade(fitted.levels(x[[0, -1]]))
    assert low < high
    assert np.isfinite(fitted.levels(x)).all()


def test_a_fit_that_was_cut_short_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranker_fit, "MAX_ITERATIONS", 1)
    reason = fit_where_graded(sample([-2.0, -0.5, 0.5, 2.0]), tmp_path)
    assert reason is not None
    assert "did not converge" in reason
    assert (tmp_path / "reranker.json").is_file()


def test_features_that_never_vary_leave_the_shares_of_the_grades() -> None:
    fitted, converged = fit_reranker(GradedRows(np.zeros((30, F)), np.repeat([1, 5], [20, 10])))
    assert converged
    assert fitted.levels(np.zeros((1, F)))[0] == pytest.approx([2 / 3, 0, 0, 0, 1 / 3], abs=1e-4)


def test_one_grade_alone_is_no_fit_and_the_reason_names_it(tmp_path: Path) -> None:
    reason = fit_where_graded(GradedRows(np.zeros((10, F)), np.ones(10, np.int64)), tmp_path)
    assert reason is not None
    assert reason.startswith("all 10 replayed candidates have grade 1, wanted at least two")
    assert list(tmp_path.iterdir()) == []
    assert fit_where_graded(sample([-2.0, -0.5, 0.5, 2.0]), tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["reranker.json"]
