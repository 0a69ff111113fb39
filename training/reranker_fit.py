"""Fits the five-grade re-ranker on replayed requests of train users.

Each train request is recalled at a wide theta (.5, min(tau, 200)); what came back is graded by
the item that was asked for, which only this file and evaluation may know:

    5  the item asked for
    4  same category and same looks (the shop's visual values) as that item
    3  same category
    2  another positive of the same user, or an item that shares a look with the one asked for
    1  everything else

A proportional-odds model is then fitted by maximum likelihood (statsmodels), with the item asked
for counted ten times: the order of candidates is what the re-ranker is for, and p(5) is no
calibrated probability.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_index, load_teacher
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries, synthetic_queries
from adamroute.catalogue.preferences import Traits, liked_items
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.pipeline import RERANKER, lacking
from adamroute.progress import Progress
from adamroute.reranking.features import FEATURES, Asked, candidate_features, encode_parts
from adamroute.reranking.reranker import GRADES, OrdinalReranker
from adamroute.retrieval.item_facts import item_facts
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, Manifest, Work
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.teacher.neighbours import liked_rows
from adamroute.theta import Theta

WIDE_BUDGET = 200  # candidates a replayed request, cut at tau
MAX_ITERATIONS = 300
NOISE = 1e-6  # a feature that varies by less, beside its size, is rounding
_UNFINISHED = (
    f"the fit did not converge in {MAX_ITERATIONS} steps, as where few rows can be told apart "
    "without error: the order holds, the grades are too sure. Give the shop more train queries"
)
ASKED_WEIGHT = 10  # one candidate in forty is the item asked for; unweighted, levels 1 to 3 rule


@dataclass(frozen=True)
class GradedRows:
    """Candidates of replayed requests with their levels."""

    features: NDArray[np.float64]  # [R, F]
    levels: NDArray[np.int64]  # [R], 1 to 5


def run_reranker(config: Config, progress: Progress) -> Manifest:
    """Fit the re-ranker on train users and write reranker/; nothing to do where it is fresh."""

    def make(work: Work) -> Counts:
        if config.reranker.kind != "ordinal":  # nothing to fit: the manifest says what it is
            return {}
        shop = open_shop(config)
        index = load_index(config.stage("index"))
        ranks = config.stage("ranks")
        logged = known_queries(shop, ranks, "train")
        queries = logged or synthetic_queries(shop, ranks)
        graded = replay(config, shop, index, queries, progress)
        levels = {f"level_{level}": int((graded.levels == level).sum()) for level in GRADES}
        stand_in = None if logged else f"no train queries: fitted on {len(queries)} synthetic ones"
        reasons = filter(None, (stand_in, fit_where_graded(graded, work.folder)))
        missing = lacking(RERANKER, "; ".join(reasons) or None, progress)
        return {"requests": len(queries), **levels, **missing}

    return RERANKER.run(config, make)


def fit_where_graded(graded: GradedRows, folder: Path) -> str | None:
    """Write reranker.json, where the rows show more than one grade; else what is missing."""
    present = np.unique(graded.levels).tolist()
    if len(present) < 2:
        return (
            f"all {len(graded.levels)} replayed candidates have grade {present[0]}, wanted at "
            "least two grades, so items stay in the order of retrieval. Give the shop more items, "
            "or a category column"
        )
    fitted, converged = fit_reranker(emphasised(graded))
    fitted.save(folder)
    return None if converged else _UNFINISHED


def replay(
    config: Config, shop: Shop, index: SearchIndex, queries: Sequence[Query], progress: Progress
) -> GradedRows:
    """Recall, grade and thin out the candidates of every query."""
    requests = [shop.request(query) for query in queries]
    labels = config.stage("labels")
    tasks = load_teacher(labels, index, config, config.out / REPLIES_FILE).contexts.prepare(
        requests
    )
    constants = read_teacher_file(labels)
    known = load_ranks(config.stage("ranks"), queries)
    encoded = index.branches.entered(known.text_vectors, known.mm_vectors)
    parts = encode_parts(index.text_encoder, [task.profile for task in tasks])
    facts = item_facts(index.text_vectors, index.profile_texts, index.categories, index.visual)
    rng = np.random.default_rng(config.seed)
    wide = Theta(0.5, min(config.routing.tau, len(index.ids), WIDE_BUDGET))
    features, levels = [], []
    with progress.task("re-ranker: replayed requests", total=len(queries)) as advance:
        for b, (query, task) in enumerate(zip(queries, tasks, strict=True)):
            history = task.request.history
            liked = liked_items(history, index.row_of)
            asked = Asked(query.text, known.text_vectors[b], task.profile, parts[b], liked)
            extra = liked_rows(
                task.neighbours, index.row_of, time=constants.time, history=task.request.history
            )
            found = index.retriever.search(
                encoded.text[b], encoded.mm[b], wide, extra, constants.combine
            )
            grades = grade(found.rows, int(known.targets[b]), facts.traits, liked)
            kept = keep(grades, config.reranker.negatives, rng)
            features.append(candidate_features(found, asked, facts)[kept])
            levels.append(grades[kept])
            advance(1)
    return GradedRows(np.concatenate(features), np.concatenate(levels))


def grade(
    rows: NDArray[np.int64], target: int, traits: Sequence[Traits], liked: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Level of every candidate row, [K], by the table above."""
    asked = traits[target]
    positives = set(liked.tolist())
    return np.array([_grade(r, target, traits[r], asked, r in positives) for r in rows.tolist()])


def _grade(row: int, target: int, item: Traits, asked: Traits, liked: bool) -> int:
    if row == target:
        return 5
    same_category = bool(item.category) and item.category == asked.category
    if same_category:
        return 4 if item.looks == asked.looks else 3
    return 2 if liked or not set(item.looks).isdisjoint(asked.looks) else 1


def keep(levels: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of at most `count` candidates: the item asked for, the others drawn, in order."""
    asked = np.flatnonzero(levels == GRADES[-1])
    others = np.flatnonzero(levels != GRADES[-1])
    drawn = rng.permutation(others)[: max(0, count - len(asked))]
    return np.sort(np.concatenate([asked, drawn]))


def emphasised(graded: GradedRows) -> GradedRows:
    """The same rows with each item that was asked for counted ASKED_WEIGHT times."""
    times = np.where(graded.levels == GRADES[-1], ASKED_WEIGHT, 1)
    return GradedRows(graded.features.repeat(times, axis=0), graded.levels.repeat(times))


def fit_reranker(graded: GradedRows) -> tuple[OrdinalReranker, bool]:
    """Maximum likelihood, and whether it converged; the rows show at least two grades.

    Features that never vary get weight 0. A level that never occurs gets no probability.
    """
    present = np.unique(graded.levels)
    mean, scale = graded.features.mean(axis=0), graded.features.std(axis=0)
    varies = scale > NOISE * (1.0 + np.abs(mean))
    scale = np.where(varies, scale, 1.0)
    x = ((graded.features - mean) / scale)[:, varies]
    weights = np.zeros(len(FEATURES))
    codes = np.searchsorted(present, graded.levels)
    weights[varies], cuts, converged = _proportional_odds(x, codes)
    fitted = OrdinalReranker(
        mean=mean, scale=scale, weights=weights, thresholds=_all_thresholds(cuts, present)
    )
    return fitted, converged


def _proportional_odds(
    x: NDArray[np.float64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Weights [F], rising thresholds between the levels coded 0, 1, ..., and if they converged."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    model = OrderedModel(codes, x, distr="logit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told by our own words
        fitted = model.fit(method="bfgs", maxiter=MAX_ITERATIONS, disp=False, skip_hessian=True)
    thresholds = np.asarray(model.transform_threshold_params(fitted.params)[1:-1])
    converged = bool(fitted.mle_retvals["converged"])
    return np.asarray(fitted.params[: x.shape[1]]), thresholds, converged


def _all_thresholds(cuts: NDArray[np.float64], present: NDArray[np.int64]) -> NDArray[np.float64]:
    """Four thresholds from those between the levels that occur; absent levels close their gap."""
    below = np.searchsorted(present, GRADES[:-1], side="right")  # levels seen at or below each cut
    far = (cuts[0] - 30.0, cuts[-1] + 30.0)
    thresholds = np.concatenate([[far[0]], cuts, [far[1]]])[below]
    return np.asarray(thresholds, np.float64)
