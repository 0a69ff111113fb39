"""Fitting the confidence: temperature, then P(regret <= epsilon), then a threshold and its gain.

Everything that is *measured* here (Brier score, offers, fallback_gain) uses confidences
cross-fitted over users, so that no row is judged by a fit that saw it; what is *served* is fitted
on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.routing.confidence import (
    FEATURES,
    Calibration,
    Estimate,
    Logistic,
    Offer,
    confidence_features,
    tempered,
)
from adamroute.stats import bootstrap_means, interval

MIN_ROWS = 50  # fewer known outcomes than this certify nothing (STACK, "Confidence")
OFFER_RATES = tuple(i / 20 for i in range(1, 20))
FOLDS = 5
Array = NDArray[np.float64]
Verdict = Literal["gain", "no_gain", "uncertified"]
_ZEROS, _ONES = (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)
_NOTHING = Logistic(mean=_ZEROS, scale=_ONES, weights=_ZEROS, bias=0.0)  # .5, whatever is asked


@dataclass(frozen=True)
class CalibrationRows:
    """What both routers did on the calibration rows, [R] each."""

    alpha_probs: Array  # [R, A], the student's, untempered
    alphas: Array  # [R], the student's choice
    soft: Array  # [R, A], soft label of the known outcome, marginal over K
    student_regret: Array
    teacher_regret: Array
    can_fall_back: NDArray[np.bool_]  # rows with a positive: `judge` sends no others on
    users: Sequence[str]


_NONE = np.zeros(0)
NO_ROWS = CalibrationRows(_NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(0, np.bool_), ())


@dataclass(frozen=True)
class _Fit:
    """The part of a calibration that rows decide, by its names."""

    temperature: float = 1.0
    logistic: Logistic = _NOTHING
    threshold: float = 1.0
    verdict: Verdict = "uncertified"
    fallback_gain: Estimate | None = None
    offers: tuple[Offer, ...] = ()
    good_share: float | None = None
    brier: float | None = None


def fit_calibration(
    rows: CalibrationRows,
    *,
    epsilon: float,
    fallback_rate: float,
    calibrated_on: Literal["outcomes", "synthetic"],
    hashes: dict[str, str],
    seed: int,
) -> Calibration:
    """Fit on calibration rows; `uncertified`, with the reason, where they are few.

    Rows of fewer than two users fit nothing: confidence is then .5 for every answer and lies below
    the threshold, so that each answer under `auto` says that its fallback is not certified.
    """
    users = set(rows.users)
    fit = _fitted(rows, epsilon, fallback_rate, seed) if len(users) >= 2 else _Fit()
    return Calibration(
        **vars(fit),
        epsilon=epsilon,
        fallback_rate=fallback_rate,
        calibrated_on=calibrated_on,
        n_rows=len(rows.users),
        n_users=len(users),
        hashes=hashes,
        reason=_too_few(rows.users),
    )


def _fitted(rows: CalibrationRows, epsilon: float, fallback_rate: float, seed: int) -> _Fit:
    temperature = fit_temperature(rows.alpha_probs, rows.soft)
    features = confidence_features(tempered(rows.alpha_probs, temperature), rows.alphas)
    good = rows.student_regret <= epsilon
    logistic = fit_logistic(features, good)
    held_out = cross_fitted(features, good, rows.users, seed)
    gain = sent_gain(rows, held_out <= np.quantile(held_out, fallback_rate), seed)
    return _Fit(
        temperature=temperature,
        logistic=logistic,
        threshold=float(np.quantile(logistic(features), fallback_rate, method="lower")),
        verdict=verdict(gain, len(good)),
        fallback_gain=gain,
        offers=find_offers(rows, held_out, seed),
        good_share=float(good.mean()),
        brier=float(np.mean((held_out - good) ** 2)),
    )


def _too_few(users: Sequence[str]) -> str | None:
    """Why rows of these users, [R], certify nothing; None where they are enough to."""
    if len(users) >= MIN_ROWS and len(set(users)) >= 2:
        return None
    return (
        f"{len(users)} requests of {len(set(users))} users with split `calibration`, wanted at "
        f"least {MIN_ROWS} of 2 users. Give the shop more such queries, or more items"
    )


def verdict(gain: Estimate | None, n_rows: int) -> Verdict:
    """`gain` only with the whole 95 % interval above 0; too few rows can't say either way."""
    if n_rows < MIN_ROWS:
        return "uncertified"
    return "gain" if gain is not None and gain.ci95[0] > 0.0 else "no_gain"


def fit_temperature(alpha_probs: Array, soft: Array) -> float:
    """The T in [.05, 20] with the least cross-entropy of the soft outcome labels."""
    from scipy.optimize import minimize_scalar

    def loss(log_t: float) -> float:
        probs = tempered(alpha_probs, float(np.exp(log_t)))
        return float(-(soft * np.log(np.maximum(probs, 1e-12))).sum(axis=1).mean())

    found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    return float(np.exp(found.x))


def fit_logistic(features: Array, good: NDArray[np.bool_]) -> Logistic:
    """Ridge-penalised logistic regression; a constant where all rows agree."""
    from sklearn.linear_model import LogisticRegression

    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > 1e-6, scale, 1.0)
    if good.all() or not good.any():
        share = (good.sum() + 1.0) / (len(good) + 2.0)  # Laplace: never quite sure
        weights, bias = np.zeros(len(mean)), float(np.log(share / (1.0 - share)))
    else:
        model = LogisticRegression(C=0.5).fit((features - mean) / scale, good)
        weights, bias = model.coef_[0], float(model.intercept_[0])
    return Logistic(mean=tuple(mean), scale=tuple(scale), weights=tuple(weights), bias=bias)


def cross_fitted(
    features: Array, good: NDArray[np.bool_], users: Sequence[str], seed: int
) -> Array:
    """Confidence of every row from a fit on other users' rows, [R]."""
    names = sorted(set(users))
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[j]: i % FOLDS for i, j in enumerate(order)}
    folds = np.array([fold_of[u] for u in users])
    result = np.empty(len(good))
    for fold in set(folds.tolist()):
        held = folds == fold
        result[held] = fit_logistic(features[~held], good[~held])(features[held])
    return result


def sent_gain(rows: CalibrationRows, below: NDArray[np.bool_], seed: int) -> Estimate | None:
    """Regret the teacher saves on the rows a threshold would send to it."""
    sent = below & rows.can_fall_back
    if not sent.any():
        return None
    users = [u for u, is_sent in zip(rows.users, sent, strict=True) if is_sent]
    return _estimate((rows.student_regret - rows.teacher_regret)[sent], users, seed)


def find_offers(rows: CalibrationRows, confidence: Array, seed: int) -> tuple[Offer, ...]:
    """Thresholds whose cascade beats always *and* never falling back, each interval above 0.

    Many thresholds are tried, so each interval is widened to hold for all of them together
    (Bonferroni over the distinct fallback rates).
    """
    always = np.where(rows.can_fall_back, rows.teacher_regret, rows.student_regret)
    offers = []
    for rate in OFFER_RATES:
        threshold = float(np.quantile(confidence, rate))
        sent = (confidence < threshold) & rows.can_fall_back
        cascade = np.where(sent, rows.teacher_regret, rows.student_regret)
        saved = np.stack([rows.student_regret - cascade, always - cascade], axis=1)
        means = bootstrap_means(saved, rows.users, seed)
        if np.quantile(means, 0.025 / len(OFFER_RATES), axis=0).min() > 0.0:
            offers.append(
                Offer(
                    threshold=threshold,
                    fallback_rate=float(sent.mean()),
                    minus_never=_estimate(saved[:, 0], rows.users, seed),
                    minus_always=_estimate(saved[:, 1], rows.users, seed),
                )
            )
    return tuple(offers)


def _estimate(values: Array, users: Sequence[str], seed: int) -> Estimate:
    means = bootstrap_means(values, users, seed)
    return Estimate(mean=float(values.mean()), ci95=interval(means), n=len(values))
