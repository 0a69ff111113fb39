"""The ordinal re-ranker: level probabilities, their order, and the file they live in."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.errors import ArtifactError
from adamroute.reranking.features import FEATURES
from adamroute.reranking.reranker import OrdinalReranker, best_first, expected_grade
from adamroute.retrieval.dual import Candidates

F = len(FEATURES)


def reranker(
    weight: float = 1.0, thresholds: tuple[float, ...] = (-3, -1, 1, 3)
) -> OrdinalReranker:
    weights = np.zeros(F)
    weights[0] = weight
    return OrdinalReranker(
        mean=np.zeros(F), scale=np.ones(F), weights=weights, thresholds=np.array(thresholds, float)
    )


def features(*first: float) -> np.ndarray:
    table = np.zeros((len(first), F))
    table[:, 0] = first
    return table


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_levels_are_differences_of_sigmoids_at_the_thresholds() -> None:
    levels = reranker().levels(features(0.5))[0]
    assert levels == pytest.approx(
        [
            sigmoid(-3.5),
            sigmoid(-1.5) - sigmoid(-3.5),
            sigmoid(0.5) - sigmoid(-1.5),
            sigmoid(2.5) - sigmoid(0.5),
            1 - sigmoid(2.5),
        ]
    )


def test_the_expected_level_is_the_sum_of_level_times_probability() -> None:
    levels = np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0, 0, 0, 0, 1.0]])
    assert expected_grade(levels) == pytest.approx(
        [1 * 0.1 + 2 * 0.2 + 3 * 0.3 + 4 * 0.2 + 5 * 0.2, 5.0]
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_levels_are_probabilities_however_extreme_the_features(values: list[float]) -> None:
    levels = reranker().levels(features(*values))
    assert np.all(levels >= 0)
    assert levels.sum(axis=1) == pytest.approx(np.ones(len(values)))


@given(st.floats(-20, 20), st.floats(0.01, 5))
def test_a_better_fit_never_lowers_the_expected_level(x: float, more: float) -> None:
    low, high = expected_grade(reranker().levels(features(x, x + more)))
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
    levels = reranker().levels(features(0, 0, 1, 0))
    assert found.rows[best_first(levels, found)].tolist() == [5, 3, 7, 1]


def test_a_saved_reranker_comes_back_the_same(tmp_path: Path) -> None:
    reranker(0.7).save(tmp_path)
    again = OrdinalReranker.load(tmp_path)
    assert again.hash == reranker(0.7).hash != reranker(0.8).hash
    assert np.array_equal(again.levels(features(0.3)), reranker(0.7).levels(features(0.3)))
    assert again.weights["text_score"] == 0.7


def test_a_missing_file_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute train CONFIG"):
        OrdinalReranker.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"text_score"', '"other"'), ('"format": 1', '"format": 2'), ("3.0", "-9.0")],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, old: str, new: str) -> None:
    reranker().save(tmp_path)
    path = tmp_path / "reranker.json"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ArtifactError, match="not a re-ranker of format 1"):
        OrdinalReranker.load(tmp_path)
