"""The listwise fit of the re-ranker: what it must learn, and where it must not go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adamroute.reranking.features import FEATURES
from adamroute.reranking.reranker import OrdinalReranker, Weights, expected_grade
from adamroute.training import reranker_fit
from adamroute.training.reranker_fit import UNAIDED, WORTH, Lists, fit_weights, fit_where_graded
from adamroute.training.reranker_rows import GradedList

F = len(FEATURES)
TEXT, MM, FUSED = (FEATURES.index(f"{name}_score") for name in ("text", "mm", "fused"))


def lists(count: int, *, seed: int = 0, turned: bool = False) -> list[GradedList]:
    """Requests whose wanted item is drawn by its text score; `turned`: at alpha 0 by photos."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        table = np.zeros((12, F))
        table[:, [TEXT, MM, FUSED]] = rng.normal(size=(12, 3))
        alpha = float(number % 2) if turned else 0.5
        by = (2.0 * alpha, 2.0 * (1.0 - alpha)) if turned else (2.0, 0.0)
        fit = table[:, TEXT] * by[0] + table[:, MM] * by[1] + rng.gumbel(size=12)
        grades = np.where(np.arange(12) == fit.argmax(), 5, 1 + (np.arange(12) % 3 == 0) * 2)
        made.append(GradedList(table, grades, alpha))
    return made


def ratio(fitted: Weights, name: str, other: str = "text_score") -> float:
    """Weight of a feature as it is, against another's."""
    values = zip(fitted.features, fitted.weights, fitted.scale, strict=True)
    raw = {feature: weight / scale for feature, weight, scale in values}
    return raw[name] / raw[other]


def test_the_fit_recovers_the_order_that_drew_the_wanted_items() -> None:
    fitted, converged = fit_weights(Lists(lists(4000), ()), reads=False)
    assert converged
    assert abs(ratio(fitted, "mm_score")) < 0.05
    assert abs(ratio(fitted, "fused_score")) < 0.05


def test_an_order_that_reads_theta_learns_what_alpha_turns_round() -> None:
    fitted, _ = fit_weights(Lists(lists(3000, turned=True), ()), reads=True)
    # 2 alpha text + 2 (1 - alpha) photos = text + photos + (2 alpha - 1) (text - photos)
    assert ratio(fitted, "mm_score") == pytest.approx(1.0, abs=0.15)
    assert ratio(fitted, "text_score x alpha") == pytest.approx(1.0, abs=0.15)
    assert ratio(fitted, "mm_score x alpha") == pytest.approx(-1.0, abs=0.15)
    blind, _ = fit_weights(Lists(lists(3000, turned=True), ()), reads=False)
    assert set(blind.features) == set(FEATURES)


def test_without_logged_requests_the_order_stays_near_that_of_fused_retrieval() -> None:
    alone = Lists((), lists(500))
    assert alone.trust == UNAIDED
    fitted, _ = fit_weights(alone, reads=False)
    table = np.zeros((2, F))
    table[0, FUSED], table[1, TEXT] = 1.0, 1.0
    fused, text = fitted.parts(table).sum(axis=1)
    assert fused > text > fitted.parts(np.zeros((1, F))).sum()
    half = Lists(lists(WORTH), lists(500))
    assert half.trust == pytest.approx((UNAIDED + 1) / 2)


def test_the_top_grade_says_how_often_an_item_is_the_wanted_one() -> None:
    fitted, _ = fit_weights(Lists(lists(3000), ()), reads=False)
    unseen = lists(2000, seed=1)
    sure = np.concatenate([fitted.grades(one.features)[:, 4] for one in unseen])
    wanted = np.concatenate([one.grades == 5 for one in unseen])
    assert sure.mean() == pytest.approx(wanted.mean(), abs=0.01)
    for low, high in np.quantile(sure, [[0.0, 0.5], [0.5, 0.8], [0.8, 1.0]]):
        here = (sure >= low) & (sure <= high)
        assert wanted[here].mean() == pytest.approx(sure[here].mean(), abs=0.07)


def test_a_feature_that_never_varies_gets_no_weight() -> None:
    fitted, _ = fit_weights(Lists(lists(200), ()), reads=True)
    assert dict(zip(fitted.features, fitted.weights, strict=True))["collaborative"] == 0.0


@pytest.mark.parametrize("absent", [1, 3])
def test_a_grade_that_never_occurs_gets_no_probability(absent: int) -> None:
    other = {1: 2, 3: 4}[absent]
    kept = [
        replace(one, grades=np.where(one.grades == absent, other, one.grades))
        for one in lists(200)
    ]
    fitted, _ = fit_weights(Lists(kept, ()), reads=False)
    grades = fitted.grades(kept[0].features)
    assert grades[:, absent - 1].max() < 1e-9
    assert np.isfinite(expected_grade(grades)).all()


def test_items_that_are_all_alike_are_fitted_to_no_order() -> None:
    flat = [GradedList(np.zeros((4, F)), np.array([5, 1, 1, 1]), 0.5)] * 3
    fitted, _ = fit_weights(Lists(flat, ()), reads=False)
    assert len(set(expected_grade(fitted.grades(np.zeros((4, F)))).tolist())) == 1


def test_a_request_that_did_not_bring_its_item_back_teaches_grades_alone(tmp_path: Path) -> None:
    lost = [replace(one, grades=np.minimum(one.grades, 4)) for one in lists(5)]
    reason = fit_where_graded(Lists(lost, ()), tmp_path)
    assert reason is not None
    assert reason.startswith("no replayed request brought back the item it asked for")
    assert list(tmp_path.iterdir()) == []
    assert fit_where_graded(Lists([*lost, *lists(60)], ()), tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["reranker.json"]
    OrdinalReranker.load(tmp_path)


def test_items_that_nothing_stands_beside_are_no_fit(tmp_path: Path) -> None:
    alone = GradedList(np.zeros((1, F)), np.array([5]), 0.5)
    reason = fit_where_graded(Lists([alone] * 3, ()), tmp_path)
    assert reason is not None
    assert reason.startswith("all replayed candidates have grade 5")
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_was_cut_short_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranker_fit, "MAX_ITERATIONS", 1)
    reason = fit_where_graded(Lists(lists(60), ()), tmp_path)
    assert reason is not None
    assert "did not converge" in reason
    assert (tmp_path / "reranker.json").is_file()
