"""What is known before the first round: outcomes of train queries and what is fitted on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import evidence_policy
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.labels.paraphrase_fit import learn_paraphraser
from adamroute.distill.labels.synthetic import nothing_to_learn
from adamroute.pipeline import RANKS
from adamroute.progress import Progress
from adamroute.retrieval.ranks import QueryRanks, load_ranks
from adamroute.retrieval.replay import recall_surfaces, solve_price
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Pieces, Record
from adamroute.teacher.belief import Belief, alpha_votes
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.difficulty import Difficulty, match_factor
from adamroute.teacher.intent_model import IntentModel, fit_intent_model
from adamroute.teacher.paraphrase import VERBATIM, Paraphraser
from adamroute.theta import Bins


@dataclass(frozen=True, eq=False)
class Basis:
    """Train rows with a known target, and the teacher's constants."""

    logged: tuple[Query, ...]  # the shop's own train queries
    outcomes: QueryRanks  # of those
    requests: tuple[Query, ...]  # synthetic train requests
    templates: QueryRanks  # of those
    intents: IntentModel
    constants: TeacherFile
    paraphraser: Paraphraser


def learn_basis(
    config: Config, shop: Shop, index: SearchIndex, *, pieces: Pieces, progress: Progress
) -> Basis:
    """From known ranks: difficulty, price of K, static prior, intent model and paraphrases.

    Only train rows are looked at.
    """
    ranks = RANKS.path(config)
    requests = tuple(q for q in synthetic_queries(shop, ranks) if q.split == "train")
    logged = shop.split("train")
    templates, outcomes = load_ranks(ranks, requests), load_ranks(ranks, logged)
    constants, composition = _fitted(config, shop, templates, outcomes)
    verbatim = evidence_policy(constants, config.teacher, composition, VERBATIM)

    def learn() -> list[Record]:
        said = learn_paraphraser(
            shop, index, verbatim, config.teacher.evidence, outcomes, progress=progress
        )
        return [said.model_dump(mode="json")]

    wording = Paraphraser.model_validate(pieces.records("wording", learn)[0])
    return Basis(logged, outcomes, requests, templates, composition, constants, wording)


def _fitted(
    config: Config, shop: Shop, templates: QueryRanks, outcomes: QueryRanks
) -> tuple[TeacherFile, IntentModel]:
    """The teacher's constants, and which intent a query has."""
    bins = Bins(min(config.routing.tau, len(shop.catalogue)))
    difficulty = Difficulty(
        match_factor(templates.text, outcomes.text), match_factor(templates.mm, outcomes.mm)
    )
    expected = recall_surfaces(*difficulty.matched(templates.text, templates.mm), bins)
    real = recall_surfaces(outcomes.text, outcomes.mm, bins)
    known = real if len(real) else expected
    if not len(known):
        raise nothing_to_learn(config.labels.synthetic_requests, len(shop.catalogue))
    lam = solve_price(known, bins, min(config.routing.mean_budget, bins.budgets[-1]))
    usual, votes = _usual(known, bins, lam), alpha_votes(expected, bins, lam)
    static = usual.theta(bins, lam)
    constants = TeacherFile(
        policy=config.teacher.policy,
        tau=bins.tau,
        lam=lam,
        text_factor=difficulty.text,
        mm_factor=difficulty.mm,
        static_alpha=static.alpha,
        static_budget=static.budget,
        time=shop.time,
    )
    vectors, kinds = templates.text_vectors, templates.kinds
    return constants, fit_intent_model(vectors, kinds, expected, votes, usual)


def _usual(known: NDArray[np.float64], bins: Bins, lam: float) -> Belief:
    return Belief(alpha_votes(known, bins, lam).mean(axis=0), known.mean(axis=0))
