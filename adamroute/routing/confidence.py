"""Confidence = P(regret <= epsilon) of the student's theta, and the calibration file.

Inference is a temperature and one logistic: plain numpy. Fitting lives in training/calibrate.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.errors import ArtifactError
from adamroute.routing.policy_string import Standing
from adamroute.theta import ALPHAS

CALIBRATION_FILE = "calibration.json"
FEATURES = ("entropy", "top", "spread", "alpha")


def tempered(alpha_probs: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """p^(1/T), renormalised, over the last axis."""
    logits = np.log(np.maximum(alpha_probs, 1e-12)) / temperature
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float64)


def confidence_features(
    alpha_probs: NDArray[np.float64], alphas: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[B, 4] of FEATURES from tempered probabilities [B, A] and the alphas that were chosen [B].

    Entropy is in units of ln A, so 0 to 1; spread is the standard deviation of alpha.
    """
    grid = np.array(ALPHAS)
    entropy = -(alpha_probs * np.log(np.maximum(alpha_probs, 1e-12))).sum(axis=1) / np.log(
        len(grid)
    )
    mean = np.vecdot(alpha_probs, grid)  # row by row: the last bits of a product depend on B
    spread = np.sqrt(np.maximum(np.vecdot(alpha_probs, grid**2) - mean**2, 0.0))
    return np.stack([entropy, alpha_probs.max(axis=1), spread, alphas], axis=1)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Logistic(Frozen):
    """P = 1 / (1 + exp(-(bias + weights . z))), z = (x - mean) / scale within [-3, 3].

    The bound keeps a request unlike any calibration row from a confidence nobody measured.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """[B, F] to [B] probabilities."""
        z = np.clip((x - np.array(self.mean)) / np.array(self.scale), -3.0, 3.0)
        logits = self.bias + np.vecdot(z, np.array(self.weights))
        return np.asarray(1.0 / (1.0 + np.exp(-logits)), np.float64)


class Estimate(Frozen):
    """A mean with its 95 % interval (bootstrap over users) and the rows it stands on."""

    mean: float
    ci95: tuple[float, float]
    n: int


class Offer(Frozen):
    """A threshold that beats both always and never falling back."""

    threshold: float
    fallback_rate: float
    minus_never: Estimate  # regret saved against the student alone
    minus_always: Estimate  # regret saved against the teacher alone


class Calibration(Frozen):
    """calibration.json: what the server needs to know, and what it was measured on."""

    format: Literal[1] = 1
    epsilon: float
    temperature: float
    logistic: Logistic
    threshold: float
    fallback_rate: float  # wished for; the share of calibration rows below the threshold
    verdict: Literal["gain", "no_gain", "uncertified"]
    fallback_gain: Estimate | None  # regret saved on the rows sent; None where none would be
    offers: tuple[Offer, ...]
    calibrated_on: Literal["outcomes", "synthetic"]
    n_rows: int
    n_users: int
    good_share: float | None  # rows whose regret is within epsilon; None without a fit
    brier: float | None  # of the confidence, cross-fitted over users; None without a fit
    hashes: dict[str, str]  # index, labels, student
    reason: str | None = None  # of `uncertified`: what there was too little of, and what helps

    def confidence(self, alpha_probs: NDArray[np.float64], alpha: float) -> float:
        """P(regret <= epsilon) of one answer; `alpha_probs` [A] as the student gave them."""
        probs = tempered(alpha_probs[None], self.temperature)
        return float(self.logistic(confidence_features(probs, np.array([alpha])))[0])

    def standing(self, on_uncertified: Literal["student", "teacher"]) -> Standing:
        """What the fallback rule needs to know."""
        return Standing(self.verdict != "uncertified", self.verdict == "gain", on_uncertified)

    def check(self, hashes: dict[str, str], config: str = "CONFIG") -> None:
        """ArtifactError where the calibration was made for another index, student or labels."""
        wrong = [k for k in sorted(self.hashes) if self.hashes[k] != hashes.get(k)]
        if wrong:
            found = ", ".join(
                f"{k} {hashes.get(k)} (calibrated for {self.hashes[k]})" for k in wrong
            )
            raise ArtifactError(
                f"{CALIBRATION_FILE}: made for other parts than those at hand: {found}. "
                f"Calibrate again: adamroute calibrate {config}"
            )


def load_calibration(folder: Path) -> Calibration:
    """Read calibration.json; ArtifactError where it is absent or of another form."""
    path = folder / CALIBRATION_FILE
    try:
        return Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ArtifactError(
            f"{path}: not there. Calibrate first: adamroute calibrate CONFIG"
        ) from error
    except ValidationError as error:
        raise ArtifactError(
            f"{path}: not a calibration of format 1 ({error.error_count()} problems). "
            "Calibrate again: adamroute calibrate CONFIG"
        ) from error
