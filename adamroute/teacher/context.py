"""What is known of a request before anybody decides: profile, vector, neighbours, evidence.

The teacher's loop, the recommender, labels and reports all take it from here, so that they see the
same. Cost: one encoded text a request, and one more where the user's wishes are not the stored
ones; `prepare` encodes all of a call in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.item_words import ItemWords
from adamroute.catalogue.preferences import liked_items, preference_text, profile_of
from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.encoders.seams import Vectors
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.student import RoutingInput
from adamroute.store import Snapshot
from adamroute.teacher.neighbours import Neighbour, Neighbourhood, WishIndex

NO_WISH = np.zeros(0, dtype=np.float32)  # e_pref where no wish is known


@dataclass(frozen=True, slots=True)
class Evidence:
    """A history item that is relevant to the request: its rank can be verified."""

    item_id: str
    row: int
    words: ItemWords


@dataclass(frozen=True, eq=False)
class Context:
    """All that a policy may know of one request."""

    request: Request
    text_vector: NDArray[np.float32]  # E_txt(q), [D]
    profile: PreferenceProfile
    neighbours: tuple[Neighbour, ...]
    evidence: tuple[Evidence, ...]  # T_f items, most similar to q first

    @property
    def routing(self) -> RoutingInput:
        """What a student may read of it."""
        return RoutingInput(self.request.query, self.profile, self.text_vector)


class Contexts:
    """Prepares requests over one index and one snapshot of the users."""

    def __init__(
        self,
        index: SearchIndex,
        snapshot: Snapshot,
        evidence: int,
        neighbours: int,
        wishes: WishIndex | None = None,
    ) -> None:
        """`evidence` is T_f, `neighbours` K_c; `wishes` of an earlier snapshot save indexing."""
        self.index = index
        self.snapshot = snapshot
        self._evidence = evidence
        self._neighbours = neighbours
        self._wishes = WishIndex() if wishes is None else wishes
        self._neighbourhood = Neighbourhood(snapshot, neighbours, self._wishes)

    def after(self, snapshot: Snapshot) -> Contexts:
        """The same over the users as a later round left them."""
        return Contexts(self.index, snapshot, self._evidence, self._neighbours, self._wishes)

    def profiles(self, requests: Sequence[Request]) -> list[PreferenceProfile]:
        """p_u as told with the request, else of its history by the embedded profiler.

        RequestError where a history names an item that the index doesn't know.
        """
        return [r.preferences or profile_of(r.history, self.index.traits) for r in requests]

    def prepare(
        self,
        requests: Sequence[Request],
        profiles: Sequence[PreferenceProfile] | None = None,
        vectors: Vectors | None = None,
    ) -> list[Context]:
        """One context a request; `profiles` and E_txt of the queries [B, D] where at hand."""
        profiles = self.profiles(requests) if profiles is None else profiles
        wishes = [preference_text(profile) for profile in profiles]
        vectors, e_prefs = self._encode(requests, wishes, vectors)
        return [
            Context(
                request=request,
                text_vector=vector,
                profile=profile,
                neighbours=self._neighbourhood.nearest(e_pref, request.user_id),
                evidence=self._relevant(request.history, vector),
            )
            for request, vector, profile, e_pref in zip(
                requests, vectors, profiles, e_prefs, strict=True
            )
        ]

    def _encode(
        self, requests: Sequence[Request], wishes: Sequence[str], vectors: Vectors | None
    ) -> tuple[Vectors, list[NDArray[np.float32]]]:
        """E_txt of the queries, and each e_pref, the stored one where the wishes are as stored."""
        known = [self._stored(r, wish) for r, wish in zip(requests, wishes, strict=True)]
        unknown = [wish for wish, e_pref in zip(wishes, known, strict=True) if e_pref is None]
        queries = [r.query for r in requests] if vectors is None else []
        encoded = self.index.text_encoder.encode([*queries, *unknown])
        fresh = iter(encoded[len(queries) :])
        e_prefs = [next(fresh) if e_pref is None else e_pref for e_pref in known]
        return encoded[: len(queries)] if vectors is None else vectors, e_prefs

    def _stored(self, request: Request, wish: str) -> NDArray[np.float32] | None:
        """e_pref without encoding; None where it must be encoded."""
        if not wish:
            return NO_WISH
        record = self.snapshot.by_id.get(request.user_id or "")
        return record.e_pref if record is not None and record.preference == wish else None

    def _relevant(
        self, history: Sequence[Interaction], query: NDArray[np.float32]
    ) -> tuple[Evidence, ...]:
        """The T_f positives most similar to q in text; the latest label of an item counts."""
        index = self.index
        rows = liked_items(history, index.row_of)
        similarity = index.text_vectors[rows].astype(np.float64) @ query.astype(np.float64)
        order = np.lexsort((rows, -similarity))[: self._evidence]
        return tuple(
            Evidence(index.ids[row], row, index.words[row]) for row in rows[order].tolist()
        )
