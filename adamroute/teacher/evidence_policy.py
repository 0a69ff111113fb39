"""The evidence policy: the teacher's mind without a language model.

The prior is the mean belief of q's likely kinds. A share of the kinds' weights comes from the
neighbours: each of their alphas is a vote for the kinds that vote for it. Each observed pair of
ranks adds one row by replay; the belief is the weighted mean (the prior counts as `strength`
observations) and decides theta. Pseudo-queries are worded as hard as real ones (wording.py), so
their ranks are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, words_in
from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.leaning import Leaning
from adamroute.retrieval.replay import TargetRanks, recall_surfaces
from adamroute.teacher.belief import Belief, alpha_votes
from adamroute.teacher.context import Context
from adamroute.teacher.intent_model import IntentModel
from adamroute.teacher.paraphrase import Paraphraser
from adamroute.teacher.policy import Liking, Observation, Rewriting, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery, kind_schedule, nearest_kind, write_query
from adamroute.theta import Bins, Theta, alpha_bin

NO_NEIGHBOURS = "no_neighbours"
KIND_SUBSTITUTED = "pseudo_kind_substituted"  # the item's listing doesn't allow the wanted kind


@dataclass(frozen=True)
class EvidencePolicy:
    """TeacherPolicy in closed form, from ranks, prior and query composition."""

    intents: IntentModel
    paraphraser: Paraphraser
    bins: Bins
    lam: float  # price of a whole tau
    strength: float  # observations the prior is worth
    collaborative: float  # share of the kinds' weights that neighbours' thetas decide
    leaning: Leaning

    @property
    def name(self) -> str:
        return "evidence"

    def preferences(
        self,
        requests: Sequence[Request],  # noqa: ARG002 - the seam's; a draft says all
        drafts: Sequence[PreferenceProfile],
    ) -> list[Liking]:
        """The drafts as they are."""
        return [Liking(draft) for draft in drafts]

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        """Theta0 of each request."""
        return [self._start(task) for task in tasks]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        """Template queries in the proportions of P(kind | q), as long as q."""
        return [Rewriting(self._pseudo_queries(task)) for task in tasks]

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        """Belief over all ranks seen so far."""
        return [self._update(turn) for turn in turns]

    def _start(self, task: Context) -> Thought:
        """Theta0 from kinds and neighbours; from kinds alone where there is no neighbour."""
        kinds = self.intents.kinds(task.text_vector[None])[0]
        likely = ", ".join(f"{k} {p:.2f}" for k, p in zip(INTENTS, kinds, strict=True))
        reason = f"kinds: {likely}; {len(task.neighbours)} neighbours"
        fallbacks = () if task.neighbours else (NO_NEIGHBOURS,)
        return Thought(self._theta(self._prior(task)), reason, fallbacks)

    def _pseudo_queries(self, task: Context) -> tuple[PseudoQuery, ...]:
        kinds = self.intents.kinds(task.text_vector[None])[0]
        length = len(words_in(task.request.query))
        queries = []
        for item, wanted in zip(
            task.evidence, kind_schedule(kinds, len(task.evidence)), strict=True
        ):
            kind = nearest_kind(item.words, wanted, kinds)
            rng = Random(f"{item.item_id}|{task.request.query}")
            text = self.paraphraser.reworded(write_query(item.words, kind, length, rng), kind, rng)
            fallback = None if kind == wanted else KIND_SUBSTITUTED
            queries.append(PseudoQuery(item.item_id, item.row, kind, text, fallback))
        return tuple(queries)

    def _update(self, turn: Turn) -> Thought:
        observation = turn.observation
        observations = (*turn.memory.observations, observation)
        theta = self._theta(self.belief(turn.task, observations))
        ranks = f"ranks {observation.rank.text} text, {observation.rank.mm} multimodal"
        return Thought(theta, f"{observation.query.kind} query: {ranks}")

    def belief(self, task: Context, observations: Sequence[Observation]) -> Belief:
        """(strength * prior + sum over observations) / (strength + t)."""
        ranks = TargetRanks.of([observation.rank for observation in observations])
        surfaces = recall_surfaces(ranks, self.bins)
        votes = alpha_votes(surfaces, self.bins, self.lam)
        prior, total = self._prior(task), self.strength + len(observations)
        return Belief(
            (self.strength * prior.votes + votes.sum(axis=0)) / total,
            (self.strength * prior.surface + surfaces.sum(axis=0)) / total,
        )

    def _prior(self, task: Context) -> Belief:
        kinds = self.intents.kinds(task.text_vector[None])[0]
        if task.neighbours:
            votes = np.mean([self.votes(n.theta) for n in task.neighbours], axis=0)
            kinds = (1.0 - self.collaborative) * kinds + self.collaborative * votes
        return self.intents.prior(kinds)

    def votes(self, theta: Theta) -> NDArray[np.float64]:
        """[3], sums to 1: which kinds vote for the alpha of a theta, on or off the grid."""
        odds = self.intents.votes[:, alpha_bin(theta.alpha)]
        return np.asarray(odds / odds.sum())

    def _theta(self, belief: Belief) -> Theta:
        return belief.theta(self.bins, self.lam, self.leaning)
