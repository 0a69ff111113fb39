"""What is known before the first round: outcomes of train queries and what is fitted on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adamroute.assembly import evidence_policy, load_ranker
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.labels.paraphrase_fit import learn_paraphraser
from adamroute.distill.labels.synthetic import nothing_to_learn
from adamroute.leaning import Leaning, reach_with
from adamroute.pipeline import RANKS
from adamroute.progress import Progress
from adamroute.retrieval.ranks import QueryRanks, load_ranks
from adamroute.retrieval.replay import TargetRanks, recall_surfaces, recalled, solve_price
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Pieces, Record
from adamroute.teacher.belief import alpha_votes
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.intent_model import (
    IntentModel,
    KnownIntents,
    KnownOutcomes,
    fit_intent_model,
)
from adamroute.teacher.paraphrase import VERBATIM, Paraphraser, load_paraphraser
from adamroute.teacher.phrases import phrases
from adamroute.theta import ALPHAS, Bins, Theta

ENOUGH = 100  # real train queries that say by themselves what requests of the shop are like


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
    """From known ranks: price of K, static prior, intent model and paraphrases.

    Only train rows are looked at.
    """
    ranks = RANKS.path(config)
    requests = tuple(q for q in synthetic_queries(shop, ranks) if q.split == "train")
    logged = shop.split("train")
    templates, outcomes = load_ranks(ranks, requests), load_ranks(ranks, logged)
    said = phrases()
    anywhere = KnownIntents(
        index.text_encoder.encode([text for text, _ in said]), [intent for _, intent in said]
    )
    constants, composition = fit_constants(config, shop, templates, outcomes, anywhere)
    verbatim = evidence_policy(constants, config.teacher, composition, VERBATIM)

    def learn() -> list[Record]:
        said = learn_paraphraser(
            shop, index, verbatim, config.teacher.evidence, outcomes,
            ranker=load_ranker(config, index), start=load_paraphraser(ranks), progress=progress,
        )  # fmt: skip
        return [said.model_dump(mode="json")]

    wording = Paraphraser.model_validate(pieces.records("wording", learn)[0])
    return Basis(logged, outcomes, requests, templates, composition, constants, wording)


def fit_constants(
    config: Config, shop: Shop, templates: QueryRanks, outcomes: QueryRanks, anywhere: KnownIntents
) -> tuple[TeacherFile, IntentModel]:
    """The teacher's constants, and which intent a query has.

    LabelError where no request has a known outcome.
    """
    if not len(templates) and not len(outcomes):
        raise nothing_to_learn(config.labels.synthetic_requests, len(shop.catalogue))
    known = outcomes if len(outcomes) >= ENOUGH or not len(templates) else templates
    bins = _bins(config, shop, known.ranks)
    budget = min(config.routing.mean_budget, bins.budgets[-1])
    lam = solve_price(recall_surfaces(known.ranks, bins), bins, budget)
    written, logged = (_served(requests, bins, lam) for requests in (templates, outcomes))
    intents = fit_intent_model(written, templates.kinds, anywhere=anywhere, logged=logged)
    kinds = intents.kinds(known.text_vectors)
    leaning = Leaning.of(kinds @ intents.votes, reach_with(len(outcomes)))
    static = intents.prior(kinds.mean(axis=0)).theta(bins, lam, leaning)
    constants = TeacherFile(
        combine=bins.combine,
        leaning=leaning,
        policy=config.teacher.policy,
        tau=bins.tau,
        lam=lam,
        static_alpha=static.alpha,
        static_budget=static.budget,
        time=shop.time,
    )
    return constants, intents


def _served(requests: QueryRanks, bins: Bins, lam: float) -> KnownOutcomes:
    surfaces = recall_surfaces(requests.ranks, bins)
    return KnownOutcomes(requests.text_vectors, alpha_votes(surfaces, bins, lam), surfaces)


def _bins(config: Config, shop: Shop, known: TargetRanks) -> Bins:
    """The grid of thetas; `auto` takes the way whose best fixed alpha recalls more of the known.

    Fused where they recall as much. Counted in whole hits: the smooth utility gives every item
    something twice in a split, and would always choose it.
    """
    tau, wanted = min(config.routing.tau, len(shop.catalogue)), config.retrieval.combine
    if wanted != "auto":
        return Bins(tau, wanted)
    ways = (Bins(tau, "fused"), Bins(tau, "split"))
    fused, split = (max(_recall(known, bins, alpha) for alpha in ALPHAS) for bins in ways)
    return ways[int(split > fused)]


def _recall(known: TargetRanks, bins: Bins, alpha: float) -> float:
    """Mean share of the targets recalled with this alpha, over all budgets."""
    hits = [recalled(known, Theta(alpha, k), bins.combine).mean() for k in bins.budgets]
    return float(np.mean(hits))
