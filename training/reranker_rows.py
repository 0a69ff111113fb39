"""Lists of candidates that the re-ranker learns from: replayed requests, graded.

Each request is retrieved as it would be served, at the alpha that a linear student says which has
not seen its user, and what came back is graded by the item that was asked for, which only this
file and evaluation may know:

    5  the item asked for
    4  same category and same looks (the shop's visual values) as that item
    3  same category
    2  another positive of the same user, or an item that shares a look with the one asked for
    1  everything else

Requests written from the catalogue are retrieved by parts that never saw their items, and an item
whose claim is unstated shows its listing without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_contexts, path_facts
from adamroute.catalogue.item_words import without_claim
from adamroute.catalogue.known_queries import unstated_queries
from adamroute.catalogue.preferences import Traits
from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.progress import Progress
from adamroute.recommender.steps import Steps
from adamroute.reranking.features import FEATURES, Asked, candidate_features, encode_parts
from adamroute.retrieval.cross_fit import CrossFitted, load_folds
from adamroute.retrieval.item_facts import words
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.student import RoutingInput
from adamroute.teacher.constants import TeacherFile
from adamroute.theta import Bins, Theta
from adamroute.training.dataset import TrainingSet
from adamroute.training.linear_fit import fit_linear

FOLDS = 5
SAID = FEATURES.index("said_listing")
NOBODY, NO_ITEMS = PreferenceProfile(), np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class GradedList:
    """Candidates of one replayed request."""

    features: NDArray[np.float64]  # [K, F]
    grades: NDArray[np.int64]  # [K], 1 to 5
    alpha: float  # of the theta that retrieved them

    @property
    def wanted(self) -> int | None:
        """Place of the item asked for; None where it did not come back."""
        at = np.flatnonzero(self.grades == 5)
        return int(at[0]) if len(at) else None


@dataclass(frozen=True, eq=False)
class Replay:
    """What all requests are replayed with."""

    config: Config
    shop: Shop
    index: SearchIndex
    constants: TeacherFile
    alphas: Mapping[str, float]  # of a query's words; .5 where no row has them
    progress: Progress

    def theta(self, query: Query) -> Theta:
        """As it would be served."""
        budget = min(self.config.reranker.negatives, self.constants.tau)
        return Theta(self.alphas.get(query.text, 0.5), budget)

    def logged(self, queries: Sequence[Query]) -> list[GradedList]:
        """Of the shop's own queries, the neighbours' items among the candidates."""
        facts = replace(
            path_facts(self.config, self.constants), augmentation=True, attribute_filter=True
        )
        steps = Steps(load_contexts(self.config, self.index), facts)
        known = load_ranks(self.config.stage("ranks"), queries)
        encoded = self.index.branches.entered(known.text_vectors, known.mm_vectors)
        prepared = steps.prepare([self.shop.request(query) for query in queries], encoded)
        lists = []
        with self.progress.task("re-ranker: logged requests", len(queries)) as advance:
            for query, one, target in zip(queries, prepared, known.targets.tolist(), strict=True):
                theta = self.theta(query)
                found = steps.retrieve(one, theta)
                case = steps.case(one, found, theta)
                grades = grade(found.rows, target, self.index.facts.traits, one.asked.liked)
                lists.append(GradedList(case.features, grades, theta.alpha))
                advance(1)
        return lists

    def written(self, queries: Sequence[Query]) -> list[GradedList]:
        """Of requests written from the catalogue, asked by nobody."""
        folder = self.config.stage("index")
        proof = load_folds(folder, self.index.branches, self.index.text_encoder)
        unstated = unstated_queries(self.config.stage("ranks"))
        known = load_ranks(self.config.stage("ranks"), queries)
        parts = encode_parts(self.index.text_encoder, [NOBODY])[0]
        lists = []
        with self.progress.task("re-ranker: written requests", len(queries)) as advance:
            for b, query in enumerate(queries):
                row, hidden = int(known.targets[b]), query.query_id in unstated
                vector, theta = known.text_vectors[b], self.theta(query)
                found, spread = proof.candidates(query.text, vector, row, theta, unstated=hidden)
                asked = Asked(query.text, vector, spread, NOBODY, parts, NO_ITEMS)
                features = candidate_features(found, asked, self.index.facts, theta.alpha)
                if hidden:
                    features[found.rows == row, SAID] = self._said(query, row, proof)
                grades = grade(found.rows, row, self.index.facts.traits, NO_ITEMS)
                lists.append(GradedList(features, grades, theta.alpha))
                advance(1)
        return lists

    def _said(self, query: Query, row: int, proof: CrossFitted) -> float:
        """`said_listing` of an item whose listing is without the claim it is asked for."""
        listing = without_claim(self.index.texts[row], proof.claims[row] or ())
        said = words(query.text)
        rarity = self.index.facts.rarities(said)
        return sum(rarity[word] for word in said & words(listing))


def cross_fitted_alphas(
    rows: TrainingSet, vectors: NDArray[np.float32], bins: Bins, reach: float
) -> dict[str, float]:
    """Alpha of every row's words, by a linear student that has not seen the row's user.

    Empty where all rows are one user's.
    """
    from sklearn.model_selection import GroupKFold

    users = np.array(rows.user_ids)
    folds = min(FOLDS, len(set(rows.user_ids)))
    alphas: dict[str, float] = {}
    if folds < 2:
        return alphas
    for seen, held in GroupKFold(folds).split(vectors, groups=users):
        fitted = fit_linear(
            vectors[seen],
            rows.soft[seen],
            rows.weights[seen],
            users[seen].tolist(),
            bins,
            reach=reach,
        )
        asked = [RoutingInput("", NOBODY, vectors[row]) for row in held]
        for row, said in zip(held.tolist(), fitted.student.predict(asked), strict=True):
            alphas[rows.queries[row]] = said.theta.alpha
    return alphas


def grade(
    rows: NDArray[np.int64], target: int, traits: Sequence[Traits], liked: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Grade of every candidate row, [K], by the table above."""
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
