"""Fits the re-ranker: a listwise order of the candidates, and how far it says which grade.

The order is a linear model under listwise loss (ListNet with one relevant item: softmax
cross-entropy over each request's candidates). One reads theta's alpha times its features, one is
blind to it, for requests whose theta is fixed. Requests written from the catalogue count as
`WORTH` logged ones in all, and the order is drawn towards that of fused retrieval by as much as
logged ones are missing, so that it does no harm in a shop without any. On ikea's train queries,
HR@10 as served: fused order .610; written requests alone .592, a quarter of the way .641; logged
queries of other users .633 blind and .662 reading alpha (EXPERIMENTS.md).

P(5) is a logistic of that order, and the other grades are a proportional-odds model of it, both by
maximum likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.config import Config
from adamroute.pipeline import RERANKER, lacking
from adamroute.progress import Progress
from adamroute.reranking.features import FEATURES, READING, with_theta
from adamroute.reranking.reranker import GRADES, OrdinalReranker, RerankerFile, Weights
from adamroute.stages import Counts, Manifest, Work
from adamroute.teacher.constants import read_teacher_file
from adamroute.training.dataset import load_training_set, query_vectors
from adamroute.training.reranker_rows import GradedList, Replay, cross_fitted_alphas

PENALTY = 1e-3  # on squared weights; .001 to .01 order ikea's train queries alike
WORTH = 50  # logged requests that all written ones count as
UNAIDED = 0.25  # how far the order leaves that of fused retrieval without logged requests
MOST_WRITTEN = 1000
MAX_ITERATIONS = 300
FAR = 30.0  # log-odds that are as good as certain
NOISE = 1e-6  # a feature that varies by less, beside its size, is rounding
_UNFINISHED = (
    f"the fit did not converge in {MAX_ITERATIONS} steps, as where few rows can be told apart "
    "without error: the order holds, the grades are too sure. Give the shop more train queries"
)
_ORDERLESS = (
    "no replayed request brought back the item it asked for, so items stay in the order of "
    "retrieval. Give the shop more items, or train queries"
)
_ALONE = (
    "all replayed candidates have grade 5, wanted at least two grades, so items stay in the order "
    "of retrieval. Give the shop more items"
)
FUSED = FEATURES.index("fused_score")
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lists:
    """All replayed requests."""

    logged: Sequence[GradedList]
    written: Sequence[GradedList]

    @property
    def trust(self) -> float:
        """Share of the learned order in the one served, 0 to 1."""
        count = len(self.logged)
        return (UNAIDED * WORTH + count) / (WORTH + count)


def run_reranker(config: Config, progress: Progress) -> Manifest:
    """Fit the re-ranker on train users and write reranker/; nothing to do where it is fresh."""

    def make(work: Work) -> Counts:
        if config.reranker.kind != "ordinal":  # nothing to fit: the manifest says what it is
            return {}
        lists = replay(config, progress)
        graded = np.concatenate([one.grades for one in (*lists.logged, *lists.written)])
        counts = {f"grade_{grade}": int((graded == grade).sum()) for grade in GRADES}
        stand_in = f"no train queries: fitted on {len(lists.written)} written ones"
        reasons = (None if lists.logged else stand_in, fit_where_graded(lists, work.folder))
        reason = "; ".join(filter(None, reasons)) or None
        return {
            "logged": len(lists.logged), "written": len(lists.written), "trust": lists.trust,
            **counts, **lacking(RERANKER, reason, progress),
        }  # fmt: skip

    return RERANKER.run(config, make)


def replay(config: Config, progress: Progress) -> Lists:
    """Every logged train request and some written ones."""
    shop, index = open_shop(config), load_index(config.stage("index"))
    labels, ranks = config.stage("labels"), config.stage("ranks")
    constants = read_teacher_file(labels)
    rows = load_training_set(labels, constants.bins)
    vectors = query_vectors(rows, shop, ranks)
    alphas = cross_fitted_alphas(rows, vectors, constants.bins, constants.leaning.reach)
    again = Replay(config, shop, index, constants, alphas, progress)
    written = [query for query in synthetic_queries(shop, ranks) if query.split == "train"]
    logged = shop.split("train")
    return Lists(
        again.logged(logged) if logged else (),
        again.written(written[:MOST_WRITTEN]) if written else (),
    )


def fit_where_graded(lists: Lists, folder: Path) -> str | None:
    """Write reranker.json where there is something to learn; what is missing, if anything."""
    every = (*lists.logged, *lists.written)
    if not any(one.wanted is not None for one in every):
        return _ORDERLESS
    if all(set(one.grades.tolist()) == {5} for one in every):
        return _ALONE
    reading, sure = fit_weights(lists, reads=True)
    blind, blind_sure = fit_weights(lists, reads=False)
    OrdinalReranker(RerankerFile(reading=reading, blind=blind)).save(folder)
    return None if sure and blind_sure else _UNFINISHED


def fit_weights(lists: Lists, *, reads: bool) -> tuple[Weights, bool]:
    """One order with its grades, and whether both fits converged; some wanted item is there."""
    logged, written = (
        [_entered(one, reads=reads) for one in part] for part in (lists.logged, lists.written)
    )
    counted = np.array([1.0] * len(logged) + [_share(written)] * len(written))
    cases = [*logged, *written]
    stacked = np.concatenate([case.features for case in cases])
    mean, scale = stacked.mean(axis=0), stacked.std(axis=0)
    varies = scale > NOISE * (1.0 + np.abs(mean))
    scale = np.where(varies, scale, 1.0)
    standard = [_Case((c.features - mean) / scale * varies, c.grades, c.wanted) for c in cases]
    learned, converged = _listwise(standard, counted)
    order = _drawn(learned, standard, lists.trust)
    known = standard[: len(logged)] or standard
    fits = np.concatenate([case.features @ order for case in known])
    grades = np.concatenate([case.grades for case in known])
    slope, thresholds, graded = _others(fits[grades < 5], grades[grades < 5])
    bias, rise = _top(fits, grades)
    fitted = Weights(
        features=(*FEATURES, *READING) if reads else FEATURES,
        mean=tuple(mean.tolist()), scale=tuple(scale.tolist()),
        weights=tuple((slope * order).tolist()), top=(bias, rise / slope), thresholds=thresholds,
    )  # fmt: skip
    return fitted, converged and graded


@dataclass(frozen=True, eq=False)
class _Case:
    features: Array  # [K, F]
    grades: NDArray[np.int64]  # [K]
    wanted: int | None


@dataclass(frozen=True, eq=False)
class _Shown:
    """The cases whose wanted item came back, one after the other: R candidates of Q cases."""

    features: Array  # [R, F]
    case: NDArray[np.int64]  # [R], which case a candidate is of
    starts: NDArray[np.int64]  # [Q]
    wanted: NDArray[np.int64]  # [Q], places among the R
    counted: Array  # [Q], sums to 1

    @classmethod
    def of(cls, cases: Sequence[_Case], counted: Array) -> _Shown:
        shown = [
            (c, c.wanted, w) for c, w in zip(cases, counted, strict=True) if c.wanted is not None
        ]
        sizes = np.array([len(case.grades) for case, _, _ in shown])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        weights = np.array([weight for _, _, weight in shown])
        return cls(
            np.concatenate([case.features for case, _, _ in shown]),
            np.repeat(np.arange(len(shown)), sizes),
            starts,
            starts + np.array([wanted for _, wanted, _ in shown]),
            weights / weights.sum(),
        )

    def log_shares(self, fits: Array) -> Array:
        """[R] log of the share that each candidate has of its case."""
        shifted = fits - np.maximum.reduceat(fits, self.starts)[self.case]
        return np.asarray(
            shifted - np.log(np.add.reduceat(np.exp(shifted), self.starts))[self.case]
        )


def _entered(one: GradedList, *, reads: bool) -> _Case:
    features = with_theta(one.features, one.alpha) if reads else one.features
    return _Case(features, one.grades, one.wanted)


def _share(written: Sequence[_Case]) -> float:
    """What one written request counts."""
    return min(1.0, WORTH / max(1, len(written)))


def _listwise(cases: Sequence[_Case], counted: Array) -> tuple[Array, bool]:
    """Weights [F] of least cross-entropy, and whether the search ended; weights count cases."""
    from scipy.optimize import minimize

    shown = _Shown.of(cases, counted)

    def loss(weights: Array) -> tuple[float, Array]:
        shares = shown.log_shares(shown.features @ weights)
        value = PENALTY * float(weights @ weights) - float(shown.counted @ shares[shown.wanted])
        pull = np.exp(shares) * shown.counted[shown.case]
        pull[shown.wanted] -= shown.counted
        return value, 2.0 * PENALTY * weights + shown.features.T @ pull

    found: Any = minimize(
        loss, np.zeros(cases[0].features.shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS},
    )  # fmt: skip
    return np.asarray(found.x, np.float64), bool(found.success)


def _drawn(weights: Array, cases: Sequence[_Case], trust: float) -> Array:
    """The weights part of the way from fused retrieval's, each in deviations within a list."""
    fused = np.zeros(len(weights))
    fused[FUSED] = 1.0

    def unit(order: Array) -> Array:
        spread = float(np.mean([np.std(case.features @ order) for case in cases]))
        return order / spread if spread > NOISE else np.zeros(len(order))

    return trust * unit(weights) + (1.0 - trust) * unit(fused)


def _top(fits: Array, grades: NDArray[np.int64]) -> tuple[float, float]:
    """Bias and slope of P(grade 5), which a better fit never lowers."""
    from sklearn.linear_model import LogisticRegression

    wanted = grades == 5
    if wanted.all() or not wanted.any():
        return (FAR if wanted.any() else -FAR), 0.0
    model = LogisticRegression(C=1e3).fit(fits[:, None], wanted)
    slope = max(float(model.coef_[0, 0]), 0.0)
    return float(model.intercept_[0]), slope


def _others(
    fits: Array, grades: NDArray[np.int64]
) -> tuple[float, tuple[float, float, float], bool]:
    """Slope and thresholds of grades 1 to 4, and whether the fit converged."""
    present = np.unique(grades)
    if len(present) < 2 or fits.std() < NOISE:
        lowest = int(present[0]) if len(present) else 1
        cuts = np.where(np.arange(1, 4) < lowest, -FAR, FAR)
        return 1.0, (float(cuts[0]), float(cuts[1]), float(cuts[2])), True
    slope, found, converged = _proportional_odds(fits, np.searchsorted(present, grades))
    return max(slope, NOISE), _all_thresholds(found, present), converged


def _proportional_odds(fits: Array, codes: NDArray[np.int64]) -> tuple[float, Array, bool]:
    """Slope, rising thresholds between the grades coded 0, 1, ..., and if they converged."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    model = OrderedModel(codes, fits[:, None], distr="logit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told by our own words
        fitted = model.fit(method="bfgs", maxiter=MAX_ITERATIONS, disp=False, skip_hessian=True)
    thresholds = np.asarray(model.transform_threshold_params(fitted.params)[1:-1])
    return float(fitted.params[0]), thresholds, bool(fitted.mle_retvals["converged"])


def _all_thresholds(cuts: Array, present: NDArray[np.int64]) -> tuple[float, float, float]:
    """Three thresholds from those between the grades that occur; absent ones close their gap."""
    below = np.searchsorted(present, (1, 2, 3), side="right")  # grades seen at or below each cut
    one, two, three = np.concatenate([[cuts[0] - FAR], cuts, [cuts[-1] + FAR]])[below].tolist()
    return one, two, three
