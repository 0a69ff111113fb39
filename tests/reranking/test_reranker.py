"""The ordinal re-ranker: grades of candidates, their order, and the file they live in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import ArtifactError
from adamroute.reranking.features import FEATURES, Case
from adamroute.reranking.reranker import (
    OrdinalReranker,
    best_first,
    expected_grade,
)
from adamroute.retrieval.dual import Candidates
from tests.reranking.cases import case_of
from tests.reranking.weighing import weighing, weights

BY_TEXT = weights({"text_score": 1.0}, top=(-2.0, 3.0), thresholds=(-3.0, -1.0, 1.0))


def features(*first: float) -> np.ndarray:
    table = np.zeros((len(first), len(FEATURES)))
    table[:, 0] = first
    return table


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_grades_are_differences_of_sigmoids_at_the_thresholds() -> None:
    top = sigmoid(-2.0 + 3.0 * 0.5)
    others = (
        sigmoid(-3.5),
        sigmoid(-1.5) - sigmoid(-3.5),
        sigmoid(0.5) - sigmoid(-1.5),
        1 - sigmoid(0.5),
    )
    wanted = [*((1 - top) * share for share in others), top]
    assert BY_TEXT.grades(features(0.5))[0] == pytest.approx(wanted)
    assert BY_TEXT.grades(np.zeros((0, len(FEATURES)))).shape == (0, 5)


def test_the_expected_level_is_the_sum_of_level_times_probability() -> None:
    levels = np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0, 0, 0, 0, 1.0]])
    assert expected_grade(levels) == pytest.approx(
        [1 * 0.1 + 2 * 0.2 + 3 * 0.3 + 4 * 0.2 + 5 * 0.2, 5.0]
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_grades_are_probabilities_however_extreme_the_features(values: list[float]) -> None:
    grades = BY_TEXT.grades(features(*values))
    assert np.all(grades >= 0)
    assert grades.sum(axis=1) == pytest.approx(np.ones(len(values)))


@given(st.floats(-20, 20), st.floats(0.01, 5))
def test_a_better_fit_never_lowers_the_expected_grade(x: float, more: float) -> None:
    low, high = expected_grade(BY_TEXT.grades(features(x, x + more)))
    assert high >= low


def test_best_first_breaks_ties_by_better_rank_then_row() -> None:
    found = Candidates(
        rows=np.array([7, 3, 5, 1]),
        text_ranks=np.array([9, 2, 8, 4]),
        mm_ranks=np.array([2, 9, 9, 9]),
        text_scores=np.zeros(4, np.float32),
        mm_scores=np.zeros(4, np.float32),
        origin=("both",) * 4,
    )
    grades = BY_TEXT.grades(features(0, 0, 1, 0))
    assert found.rows[best_first(grades, found)].tolist() == [5, 3, 7, 1]


def two(alpha: float | None) -> Case:
    """The first is better by text, the second by photos."""
    table = np.zeros((2, len(FEATURES)))
    table[0, FEATURES.index("text_score")] = table[1, FEATURES.index("mm_score")] = 1.0
    return replace(case_of("one", "other"), features=table, alpha=alpha)


def test_a_decided_alpha_says_which_features_count() -> None:
    order = weighing({"text_score x alpha": 1.0, "mm_score x alpha": -1.0}, {"text_score": 1.0})
    by_photos, even, by_text, blind = (
        expected_grade(order.score(two(alpha))) for alpha in (0.0, 0.5, 1.0, None)
    )
    assert by_photos[0] < by_photos[1]
    assert even[0] == even[1]
    assert by_text[0] > by_text[1]
    assert blind[0] > blind[1]


def test_contributions_add_up_to_what_orders_the_candidates() -> None:
    order = weighing({"text_score": 2.0, "text_score x alpha": 1.0}, {"mm_score": 3.0})
    first, second = order.contributions(two(0.25))
    assert {k: v for k, v in first.items() if v} == {"text_score": 2.0, "text_score x alpha": -0.5}
    assert sum(second.values()) == 0.0
    assert [sum(told.values()) for told in order.contributions(two(None))] == [0.0, 3.0]


def test_a_saved_reranker_comes_back_the_same(tmp_path: Path) -> None:
    order, other = weighing({"text_score": 0.7}), weighing({"text_score": 0.8})
    order.save(tmp_path)
    again = OrdinalReranker.load(tmp_path)
    assert again.hash == order.hash != other.hash
    assert np.array_equal(again.score(two(0.3)), order.score(two(0.3)))
    assert again.weights["text_score"] == 0.7


def test_a_missing_file_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute train CONFIG"):
        OrdinalReranker.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"text_score"', '"other"'),
        ('"format": 2', '"format": 1'),
        ("-2.0\n", "-9.0\n"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, old: str, new: str) -> None:
    weighing({}).save(tmp_path)
    path = tmp_path / "reranker.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ArtifactError, match="not a re-ranker of format 2"):
        OrdinalReranker.load(tmp_path)
