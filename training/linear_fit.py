"""Fit `linear_student`: ridge with its penalty chosen by cross-validation over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import LabelError
from adamroute.leaning import Leaning
from adamroute.routing.linear_student import LinearStudent, alpha_probs
from adamroute.theta import Bins

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
FOLDS = 5


@dataclass(frozen=True)
class LinearFit:
    """A fitted student and how its penalty came about."""

    student: LinearStudent
    penalty: float
    errors: tuple[float, ...]  # weighted mean squared error of each penalty on held-out users
    reason: str | None = None  # why there are no errors, and nothing chose the penalty


def fit_linear(
    vectors: NDArray[np.float32],
    soft: NDArray[np.float64],
    weights: NDArray[np.float64],
    user_ids: Sequence[str],
    bins: Bins,
    *,
    reach: float,
) -> LinearFit:
    """Ridge from E_txt(query) [R, D] to the soft labels [R, A, K]; `reach` as in Leaning.

    On real outcomes this recalls more than ridge on their logarithm, whose least squares is ruled
    by how bad the worst bins are: +.025 against +.018 above static (EXPERIMENTS.md).
    """
    if not len(vectors) == len(soft) == len(weights) == len(user_ids):
        raise LabelError(
            f"{len(vectors)} vectors, {len(soft)} labels, {len(weights)} weights, "
            f"{len(user_ids)} users: need one of each a row"
        )
    targets = soft.reshape(len(soft), -1)
    x = vectors.astype(np.float64)
    folds = min(FOLDS, len(set(user_ids)))
    measured = PENALTIES if folds > 1 else ()  # of one user: nothing to choose by
    errors = tuple(_error(x, targets, weights, user_ids, p, folds=folds) for p in measured)
    penalty = PENALTIES[int(np.argmin(errors)) if errors else 0]
    coefficients, intercept = _ridge(x, targets, weights, penalty)
    unchosen = (
        f"linear student: rows of 1 user, wanted at least 2 to choose its penalty by; it is "
        f"{penalty:g}. Give the shop queries of more users, or more items"
    )
    reason = None if errors else unchosen
    student = LinearStudent(coefficients, intercept, bins, Leaning(scale=1.0, reach=reach))
    usual = np.array([alpha_probs(scores) for scores in student.scores(vectors)])
    student = replace(student, leaning=Leaning.of(usual, reach))
    return LinearFit(student, penalty, errors, reason)


def _error(
    x: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    user_ids: Sequence[str],
    penalty: float,
    *,
    folds: int,
) -> float:
    """Weighted squared error on users the fit did not see."""
    from sklearn.model_selection import GroupKFold

    total = 0.0
    for train, test in GroupKFold(folds).split(x, groups=np.asarray(user_ids)):
        if weights[train].sum() == 0.0:
            continue
        coefficients, intercept = _ridge(x[train], targets[train], weights[train], penalty)
        residuals = x[test] @ coefficients + intercept - targets[test]
        total += float(weights[test] @ (residuals**2).mean(axis=1))
    return total / float(weights.sum())


def _ridge(
    x: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients [D, A * K] and intercept [A * K]."""
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=penalty, solver="cholesky")
    model.fit(x, targets, sample_weight=weights)
    return np.asarray(model.coef_.T.copy()), np.asarray(model.intercept_)
