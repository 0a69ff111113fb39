"""What is known before the first round: outcomes of train queries and what is fitted on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adamroute.config import Config
from adamroute.errors import LabelError
from adamroute.progress import Progress
from adamroute.recall.loaded import RecallIndex
from adamroute.recall.replay import recall_surfaces, solve_price
from adamroute.routing.belief import Belief, alpha_votes
from adamroute.routing.composition import Composition, fit_composition
from adamroute.routing.difficulty import Difficulty, match_factor
from adamroute.routing.loaded import TeacherFile
from adamroute.routing.theta import Bins, Theta
from adamroute.routing.wording import VERBATIM, Wording
from adamroute.shop.catalogue import Query, Shop
from distill.observed import Observed, observe
from distill.parts import Parts, Record
from distill.synthetic import SyntheticRequest
from distill.wording import learn_wording


@dataclass(frozen=True, eq=False)
class Basis:
    """Train rows with a known target, and the teacher's constants."""

    logged: tuple[Query, ...]  # the shop's own train queries
    outcomes: Observed  # of those
    requests: tuple[SyntheticRequest, ...]  # synthetic train requests
    templates: Observed  # of those
    composition: Composition
    constants: TeacherFile
    wording: Wording


def learn_basis(
    config: Config,
    shop: Shop,
    index: RecallIndex,
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
    composition = fit_composition(templates.vectors, kinds, expected, votes, usual)
    constants = _constants(config, shop, difficulty, bins, lam, usual.theta(bins, lam))
    verbatim = constants.evidence_policy(config.teacher, composition, VERBATIM)

    def learn() -> list[Record]:
        said = learn_wording(shop, index, verbatim, config.teacher.evidence, outcomes, progress)
        return [said.model_dump(mode="json")]

    wording = Wording.model_validate(parts.records("wording", learn)[0])
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
