from pathlib import Path

import numpy as np
import pytest

from adamroute.errors import ArtifactError
from adamroute.routing.confidence import Calibration, load_calibration, tempered
from adamroute.training.calibration_fit import (
    NO_ROWS,
    CalibrationRows,
    fit_calibration,
    fit_temperature,
)

HASHES = {"index": "i", "labels": "l", "student": "s"}


def outcomes(n: int, *, informed: bool, seed: int = 0) -> CalibrationRows:
    """Rows on half of which the student is unsure; only if `informed` is it then also wrong.

    The teacher is middling everywhere: better than a wrong student, worse than a right one.
    """
    rng = np.random.default_rng(seed)
    unsure = np.arange(n) % 2 == 0
    probs = np.where(unsure[:, None], 1.0, np.eye(11)[3] * 60 + 1.0) + rng.uniform(0, 0.2, (n, 11))
    probs /= probs.sum(axis=1, keepdims=True)
    wrong = unsure if informed else rng.permutation(unsure)
    return CalibrationRows(
        alpha_probs=probs,
        alphas=np.full(n, 0.3),
        soft=probs,
        student_regret=np.where(wrong, 0.4, 0.0) + rng.uniform(0, 0.05, n),
        teacher_regret=np.full(n, 0.2),
        can_fall_back=np.ones(n, dtype=bool),
        users=[f"u{i // 3}" for i in range(n)],
    )


def fit(rows: CalibrationRows, rate: float = 0.4) -> Calibration:
    return fit_calibration(
        rows, epsilon=0.1, fallback_rate=rate, calibrated_on="outcomes", hashes=HASHES, seed=0
    )


def test_where_doubt_means_error_the_teacher_is_worth_asking() -> None:
    calibration = fit(outcomes(240, informed=True))
    assert calibration.verdict == "gain"
    assert calibration.fallback_gain is not None
    assert calibration.fallback_gain.mean == pytest.approx(0.4 + 0.025 - 0.2, abs=0.02)
    assert calibration.offers
    assert calibration.brier is not None
    assert calibration.brier < 0.05
    unsure, sure = np.full(11, 1 / 11), np.where(np.arange(11) == 3, 0.8, 0.02)
    assert calibration.confidence(unsure, 0.3) < calibration.threshold
    assert calibration.confidence(sure, 0.3) >= calibration.threshold


def test_where_doubt_means_nothing_no_threshold_is_offered() -> None:
    calibration = fit(outcomes(240, informed=False))
    assert calibration.offers == ()
    assert calibration.brier == pytest.approx(0.25, abs=0.02)


def test_the_threshold_sends_the_wished_share() -> None:
    rows = outcomes(240, informed=True)
    calibration = fit(rows, rate=0.25)
    below = [
        calibration.confidence(p, a) < calibration.threshold
        for p, a in zip(rows.alpha_probs, rows.alphas, strict=True)
    ]
    assert np.mean(below) == pytest.approx(0.25, abs=0.01)


def test_a_wished_rate_of_zero_sends_nobody() -> None:
    rows = outcomes(60, informed=True)
    calibration = fit(rows, rate=0.0)
    confidences = [calibration.confidence(p, 0.3) for p in rows.alpha_probs]
    assert min(confidences) >= calibration.threshold


def test_few_rows_certify_nothing() -> None:
    few = fit(outcomes(48, informed=True))
    assert few.verdict == "uncertified"
    assert few.reason is not None
    assert few.reason.startswith("48 requests of 16 users with split `calibration`, wanted at")
    assert few.temperature != 1.0  # fitted all the same
    assert fit(outcomes(51, informed=True)).reason is None


@pytest.mark.parametrize("rows", [NO_ROWS, outcomes(3, informed=True)])
def test_rows_of_fewer_than_two_users_fit_nothing_and_say_so(rows: CalibrationRows) -> None:
    nothing = fit(rows)
    assert (nothing.verdict, nothing.n_rows) == ("uncertified", len(rows.users))
    assert nothing.reason is not None
    assert nothing.reason.startswith(f"{len(rows.users)} requests of {len(set(rows.users))} users")
    assert (nothing.brier, nothing.good_share, nothing.fallback_gain) == (None, None, None)
    for probs in (np.full(11, 1 / 11), np.eye(11)[3]):
        assert nothing.confidence(probs, 0.3) == 0.5 < nothing.threshold
    assert not nothing.standing("student").certified


def test_rows_that_all_agree_give_a_confidence_short_of_one() -> None:
    rows = outcomes(60, informed=True)
    calm = CalibrationRows(**{**vars(rows), "student_regret": np.zeros(60)})
    calibration = fit(calm)
    assert calibration.confidence(rows.alpha_probs[0], 0.3) == pytest.approx(61 / 62)
    assert calibration.verdict == "no_gain"


def test_nobody_to_send_is_no_gain() -> None:
    rows = outcomes(60, informed=True)
    alone = CalibrationRows(**{**vars(rows), "can_fall_back": np.zeros(60, dtype=bool)})
    calibration = fit(alone)
    assert calibration.fallback_gain is None
    assert calibration.verdict == "no_gain"
    assert calibration.offers == ()


def test_temperature_finds_back_the_one_that_was_applied() -> None:
    truth = np.random.default_rng(0).dirichlet(np.ones(11), size=50)
    assert fit_temperature(tempered(truth, 1 / 3.0), truth) == pytest.approx(3.0, rel=1e-3)


def test_a_calibration_made_for_other_parts_is_refused() -> None:
    calibration = fit(outcomes(60, informed=True))
    calibration.check(HASHES)
    with pytest.raises(ArtifactError, match=r"student new \(calibrated for s\)"):
        calibration.check({**HASHES, "student": "new"})


def test_a_calibration_file_comes_back_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute calibrate"):
        load_calibration(tmp_path)
    calibration = fit(outcomes(60, informed=True))
    (tmp_path / "calibration.json").write_text(calibration.model_dump_json())
    assert load_calibration(tmp_path) == calibration
    (tmp_path / "calibration.json").write_text("{}")
    with pytest.raises(ArtifactError, match="not a calibration"):
        load_calibration(tmp_path)
