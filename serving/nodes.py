"""The parts of the graph as plain classes: router, recall, scorer, teacher.

Methods are `async` because that is how an ingress awaits a replica, but they compute in place (the
teacher beside the event loop): a replica does one thing at a time, so two torch calls never share
its cores. Nothing here knows Ray.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.preferences import (
    PreferenceProfile,
    preference_text,
    profile_of,
    traits_by_id,
)
from adamroute.catalogue.shop import Interaction, Request, TimeMeaning
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.errors import RequestError
from adamroute.reranking.features import (
    Asked,
    Case,
    item_facts,
    liked_items,
    scoring_case,
)
from adamroute.reranking.reranker import Grades, Reranker, best_first, expected_grade
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.confidence import Calibration
from adamroute.routing.student import Student
from adamroute.store import Snapshot
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.loop import Teacher
from adamroute.teacher.neighbours import Neighbourhood, liked_rows
from adamroute.theta import Theta

READY = "ready"
UserStatus = Literal["known", "unknown", "given"]


_NO_VECTOR = np.zeros(0, np.float32)
_NO_QUERY: dict[UserStatus, str] = {
    "unknown": "query: needed, since nothing is known of this user",
    "known": "query: needed, since this user's history says nothing of their preferences",
    "given": "query: needed, since the given history and preferences hold no wish",
}


@dataclass(frozen=True)
class Ask:
    """A request's body as values of the core; None where the body says nothing."""

    user_id: str | None
    query: str | None
    history: tuple[Interaction, ...] | None
    preferences: PreferenceProfile | None


@dataclass(frozen=True)
class Shopper:
    """Who asks, what is known of them, and the text that is asked."""

    status: UserStatus
    user_id: str | None
    query: str  # the preference text where the body has none
    history: tuple[Interaction, ...]
    profile: PreferenceProfile

    @property
    def has_positives(self) -> bool:
        """Whether the teacher has anything to learn from."""
        return any(x.positive for x in self.history)


@dataclass(frozen=True)
class Routed:
    """The student's answer with P(regret <= epsilon)."""

    theta: Theta
    confidence: float


@dataclass(frozen=True)
class Encoded:
    """Vectors of one request."""

    text: NDArray[np.float32]  # [D]
    mm: NDArray[np.float32]  # [D_mm]
    wish: NDArray[np.float32]  # [D] e_pref, or [0] where no wish is known
    parts: Vectors  # [3, D], zeros where a part of the profile is empty


@dataclass(frozen=True)
class Found:
    """Candidates in the order of recall, with what scorer and answer need of them."""

    case: Case
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    images: tuple[str | None, ...]


@dataclass(frozen=True)
class Scored:
    """Grades of every candidate, and their places from best to worst."""

    levels: Grades  # [K, 5]
    expected: NDArray[np.float64]  # [K]
    order: NDArray[np.int64]  # [K]
    counts: Mapping[str, float]  # of the scorer since it started, as its level mass; may be empty


@dataclass(frozen=True)
class Users:
    """What recall knows of users."""

    snapshot: Snapshot
    neighbours: int  # K_c
    time: TimeMeaning  # of the shop's interactions


class Router:
    """Student and confidence: one forward pass."""

    def __init__(self, student: Student, calibration: Calibration) -> None:
        self._student = student
        self._calibration = calibration
        self._student.predict("warm up", PreferenceProfile(), _NO_VECTOR)

    async def ping(self) -> str:
        return READY

    async def route(self, query: str, profile: PreferenceProfile) -> Routed:
        """Theta by the student. It reads the words, so it does not wait for the encoder."""
        said = self._student.predict(query, profile, _NO_VECTOR)
        sure = self._calibration.confidence(said.alpha_probs, said.theta.alpha)
        return Routed(said.theta, sure)


class Recall:
    """Text encoder, both indexes, and what is stored of users: finds who asks and candidates."""

    def __init__(self, index: SearchIndex, users: Users) -> None:
        self._index = index
        self._users = users.snapshot.by_id
        self._neighbourhood = Neighbourhood(users.snapshot, users.neighbours)
        self._time: TimeMeaning = users.time
        self._traits = traits_by_id(index.ids, index.categories, index.visual)
        self._facts = item_facts(
            index.text_vectors, index.profile_texts, index.categories, index.visual
        )
        self._vectors = VectorCache(index.text_encoder)

    async def ping(self) -> str:
        return READY

    async def look_up(self, ask: Ask) -> Shopper:
        """What is given wins over what is stored. RequestError names what cannot be used."""
        stored = self._users.get(ask.user_id) if ask.user_id is not None else None
        history = ask.history
        if history is None:
            history = stored.history if stored else ()
        else:
            self._check_items(history)
        profile = ask.preferences or profile_of(history, self._traits)
        given = ask.history is not None or ask.preferences is not None
        status: UserStatus = "given" if given else "known" if stored else "unknown"
        query = preference_text(profile) if ask.query is None else ask.query
        if not query:
            raise RequestError("query", _NO_QUERY[status])
        return Shopper(status, ask.user_id, query, history, profile)

    async def encode(self, shopper: Shopper) -> Encoded:
        """All texts of a request in one batch; those of the profile are remembered."""
        profile = shopper.profile
        wish = preference_text(profile)
        parts = [
            ", ".join(p) for p in (profile.strong_pref, profile.nice_to_have, profile.dislike)
        ]
        query, e_pref, *part_vectors = self._vectors.of([shopper.query, wish, *parts])
        mm = self._index.mm_encoder.encode_queries([shopper.query], query[None])[0]
        return Encoded(query, mm, e_pref if wish else _NO_VECTOR, np.stack(part_vectors))

    async def search(self, encoded: Encoded, theta: Theta, shopper: Shopper) -> Found:
        """Both branches under theta, and what the nearest users liked."""
        history = shopper.history
        near = self._neighbourhood.nearest(encoded.wish, shopper.user_id)
        liked = liked_rows(near, self._index.row_of, time=self._time, history=history)
        found = self._index.recall.search(encoded.text, encoded.mm, theta, liked)
        asked = Asked(
            shopper.query,
            encoded.text,
            shopper.profile,
            encoded.parts,
            liked_items(history, self._index.row_of),
        )
        rows = found.rows.tolist()
        return Found(
            case=scoring_case(found, asked, self._facts),
            ids=tuple(self._index.ids[row] for row in rows),
            titles=tuple(self._index.titles[row] for row in rows),
            images=tuple(self._index.images[row] for row in rows),
        )

    def _check_items(self, history: Sequence[Interaction]) -> None:
        for place, entry in enumerate(history):
            if entry.item_id not in self._index.row_of:
                raise RequestError(
                    f"history[{place}].item_id",
                    f"history[{place}].item_id: no item {entry.item_id[:60]!r} among the "
                    f"{len(self._index.row_of)} of this shop",
                )


class VectorCache:
    """Vectors of recent texts: profiles repeat from request to request, queries often do."""

    def __init__(self, encoder: TextEncoder, size: int = 4096) -> None:
        self._encoder = encoder
        self._size = size  # texts; 1.5 kB each
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        encoder.encode(["warm up"])

    def of(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """One [D] a text, zeros for an empty one; unknown texts are encoded in one batch."""
        new = [text for text in dict.fromkeys(texts) if text and text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        nothing = np.zeros(self._encoder.dimensions, np.float32)
        vectors = [self._known[text] if text else nothing for text in texts]
        for text in texts:
            if text:
                self._known.move_to_end(text)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return vectors


class Score:
    """The scorer: levels of every candidate, and their order."""

    def __init__(self, scorer: Reranker) -> None:
        self._scorer = scorer

    async def ping(self) -> str:
        return READY

    async def score(self, case: Case) -> Scored:
        """All candidates of a request in one call."""
        levels = self._scorer.score(case)
        order = best_first(levels, case.candidates)
        return Scored(levels, expected_grade(levels), order, self._scorer.counts)


class Teach:
    """The full loop, in a replica of its own: slow requests don't hold up the others."""

    def __init__(self, teacher: Teacher) -> None:
        self._teacher = teacher
        self._worker = ThreadPoolExecutor(1, "teacher")

    async def ping(self) -> str:
        return READY

    async def decide(self, request: Request) -> TeacherAnswer:
        """Theta by the loop; nothing is written back.

        One request at a time, beside the event loop: a language model may take longer than a
        readiness check waits. A request that is cancelled while it waits is never begun.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._teacher.decide, request)
