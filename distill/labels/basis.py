"""What is known before the first round: outcomes of train queries and what is fitted on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adamroute.assembly import evidence_policy
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.labels.observed import Observed, observe
from adamroute.distill.labels.paraphrase_fit import learn_paraphraser
from adamroute.distill.labels.pieces import Parts, Record
from adamroute.distill.labels.synthetic import SyntheticRequest
from adamroute.errors import LabelError
from adamroute.progress import Progress
from adamroute.retrieval.replay import recall_surfaces, solve_price
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.belief import Belief, alpha_votes
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.difficulty import Difficulty, match_factor
from adamroute.teacher.intent_model import IntentModel, fit_intent_model
from adamroute.teacher.paraphrase import VERBATIM, Paraphraser
from adamroute.theta import Bins, Theta


@dataclass(frozen=True, eq=False)
class Basis:
    """Train rows with a known target, and the teacher's constants."""

    logged: tuple[Query, ...]  # the shop's own train queries
    outcomes: Observed  # of those
    requests: tuple[SyntheticRequest, ...]  # synthetic train requests
    templates: Observed  # of those
    composition: IntentModel
    constants: TeacherFile
    wording: Paraphraser


def learn_basis(
    config: Config,
    shop: Shop,
    index: SearchIndex,
    written: Sequence[SyntheticRequest],
    *,
    parts: Parts,
    progress: Progress,
) -> Basis:
    """Ranks of known targets, then difficulty, price of K, static prior, composition and wording.

    `written` are the synthetic requests of all splits; only train rows are looked at.
    """
    requests = tuple(r for r in written if r.split == "train")
    texts, rows = [r.query for r in requests], [r.row for r in requests]
    templates = observe(index, texts, rows, parts=parts, name="synthetic", progress=progress)
    logged = shop.split("train")
    texts, rows = [q.text for q in logged], [shop.catalogue.row(q.target_id) for q in logged]
    outcomes = observe(index, texts, rows, parts=parts, name="outcomes", progress=progress)
    bins = Bins(min(config.routing.tau, len(index.ids)))
    difficulty = Difficulty(
        match_factor(templates.text_ranks, outcomes.text_ranks),
        match_factor(templates.mm_ranks, outcomes.mm_ranks),
    )
    expected = recall_surfaces(*difficulty.matched(templates.text_ranks, templates.mm_ranks), bins)
    real = recall_surfaces(outcomes.text_ranks, outcomes.mm_ranks, bins)
    known = real if len(real) else expected
    if not len(known):
        raise LabelError(
            "no synthetic requests and no train queries: nothing to learn from. "
            "Set labels.synthetic_requests above 0 or give the shop queries"
        )
    lam = solve_price(known, bins, min(config.routing.mean_budget, bins.budgets[-1]))
    usual = Belief(alpha_votes(known, bins, lam).mean(axis=0), known.mean(axis=0))
    kinds, votes = [r.kind for r in requests], alpha_votes(expected, bins, lam)
    composition = fit_intent_model(templates.vectors, kinds, expected, votes, usual)
    constants = _constants(config, shop, difficulty, bins, lam, usual.theta(bins, lam))
    verbatim = evidence_policy(constants, config.teacher, composition, VERBATIM)

    def learn() -> list[Record]:
        said = learn_paraphraser(
            shop, index, verbatim, config.teacher.evidence, outcomes, progress
        )
        return [said.model_dump(mode="json")]

    wording = Paraphraser.model_validate(parts.records("wording", learn)[0])
    return Basis(logged, outcomes, requests, templates, composition, constants, wording)


def _constants(
    config: Config, shop: Shop, difficulty: Difficulty, bins: Bins, lam: float, static: Theta
) -> TeacherFile:
    return TeacherFile(
        policy=config.teacher.policy,
        tau=bins.tau,
        lam=lam,
        text_factor=difficulty.text,
        mm_factor=difficulty.mm,
        static_alpha=static.alpha,
        static_budget=static.budget,
        time=shop.time,
    )
