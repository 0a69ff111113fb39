"""From answers and outcomes to label rows with targets: three sources, each weighed by config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.preferences import profile_of, traits_by_id
from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import LabelConfig
from adamroute.distill.labels.basis import Basis
from adamroute.distill.labels.label_rows import LabelRow, Source
from adamroute.distill.labels.targets import shrunk, soft_target
from adamroute.errors import LabelError
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import recall_surfaces
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.belief import Belief, alpha_votes, evidence_belief


@dataclass(frozen=True, eq=False)
class Labels:
    """Rows and their targets, in one order: teacher, outcome, synthetic."""

    rows: tuple[LabelRow, ...]
    surfaces: NDArray[np.float64]  # [R, A, K], shrunk P
    soft: NDArray[np.float64]  # [R, A, K]


def assemble(
    config: LabelConfig,
    shop: Shop,
    index: SearchIndex,
    basis: Basis,
    answers: Sequence[TeacherAnswer],
) -> Labels:
    """Rows of every source whose weight is above 0; `answers` are those of the last round.

    LabelError where no row is left.
    """
    maker = _Maker(config, basis)
    traits = traits_by_id(index.ids, index.categories, index.visual)
    profiles = [profile_of(shop.request(q).history, traits) for q in basis.logged]
    parts = []
    if config.teacher > 0.0 and answers:
        parts.append(maker.teacher(answers, profiles))
    if config.outcome > 0.0 and basis.logged:
        parts.append(maker.outcome(profiles))
    if config.synthetic > 0.0 and basis.requests:
        parts.append(maker.synthetic())
    if not parts:
        raise LabelError(
            f"no label rows: {len(basis.logged)} train queries, {len(basis.requests)} synthetic "
            f"requests, weights {config.teacher}, {config.outcome}, {config.synthetic} (teacher, "
            "outcome, synthetic). Give the shop train queries or raise labels.synthetic_requests"
        )
    return Labels(
        tuple(row for part in parts for row in part.rows),
        np.concatenate([part.surfaces for part in parts]),
        np.concatenate([part.soft for part in parts]),
    )


@dataclass(frozen=True)
class _Maker:
    """Makes the rows of one source each."""

    config: LabelConfig
    basis: Basis

    def teacher(
        self, answers: Sequence[TeacherAnswer], profiles: Sequence[PreferenceProfile]
    ) -> Labels:
        """Evidence ranks of every train query; a row without evidence is its kinds' mean."""
        expected = self._expected(self.basis.outcomes)
        own = [self._evidence(a, e) for a, e in zip(answers, expected, strict=True)]
        rows = tuple(
            LabelRow(
                request_id=query.query_id,
                user_id=query.user_id,
                query=query.text,
                source="teacher",
                item_ids=answer.item_ids,
                text_ranks=answer.text_ranks,
                mm_ranks=answer.mm_ranks,
                fused_ranks=answer.fused_ranks,
                theta=answer.theta,
                theta0=answer.theta0,
                steps=len(answer.item_ids),
                fallbacks=answer.fallbacks,
                prompt_hashes=tuple(sorted({call.prompt for call in answer.calls})),
                profile=profile,
                weight=self.config.teacher,
            )
            for query, answer, profile in zip(self.basis.logged, answers, profiles, strict=True)
        )
        return self._labels(rows, self._shrunk(own, expected))

    def outcome(self, profiles: Sequence[PreferenceProfile]) -> Labels:
        """The known target of every train query."""
        basis = self.basis
        asked = list(zip(basis.logged, profiles, strict=True))
        return self._own_target("outcome", self.config.outcome, asked, basis.outcomes)

    def synthetic(self) -> Labels:
        """The known target of every synthetic train request."""
        basis = self.basis
        asked = [(query, PreferenceProfile()) for query in basis.requests]
        return self._own_target("synthetic", self.config.synthetic, asked, basis.templates)

    def _own_target(
        self,
        source: Source,
        weight: float,
        asked: Sequence[tuple[Query, PreferenceProfile]],
        seen: QueryRanks,
    ) -> Labels:
        bins, lam = self.basis.constants.bins, self.basis.constants.lam
        surfaces = recall_surfaces(seen.ranks, bins)
        votes = alpha_votes(surfaces, bins, lam)
        own = [Belief(*row) for row in zip(votes, surfaces, strict=True)]
        beliefs = self._shrunk(own, self._expected(seen))
        rows = tuple(
            LabelRow(
                request_id=query.query_id,
                user_id=query.user_id,
                query=query.text,
                source=source,
                item_ids=(query.target_id,),
                text_ranks=(rank.text,),
                mm_ranks=(rank.mm,),
                fused_ranks=(rank.fused,),
                theta=belief.theta(bins, lam, self.basis.constants.leaning),
                theta0=None,
                steps=0,
                fallbacks=(),
                prompt_hashes=(),
                profile=profile,
                weight=weight,
            )
            for (query, profile), rank, belief in zip(
                asked, seen.ranks.each(), beliefs, strict=True
            )
        )
        return self._labels(rows, beliefs)

    def _evidence(self, answer: TeacherAnswer, expected: Belief) -> Belief:
        if not answer.item_ids:
            return expected
        constants = self.basis.constants
        return evidence_belief(answer.ranks, constants.bins, constants.lam)

    def _expected(self, seen: QueryRanks) -> list[Belief]:
        composition = self.basis.intents
        return [composition.prior(kinds) for kinds in composition.kinds(seen.text_vectors)]

    def _shrunk(self, own: Sequence[Belief], expected: Sequence[Belief]) -> list[Belief]:
        shrink = self.config.shrink
        return [shrunk(o, e, shrink) for o, e in zip(own, expected, strict=True)]

    def _labels(self, rows: tuple[LabelRow, ...], beliefs: Sequence[Belief]) -> Labels:
        bins, lam = self.basis.constants.bins, self.basis.constants.lam
        soft = [soft_target(b, bins, lam, self.config.sharpness) for b in beliefs]
        return Labels(rows, np.stack([b.surface for b in beliefs]), np.stack(soft))
