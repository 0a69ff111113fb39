"""The steps of the path, for many requests at a time and without an event loop.

Reports, protocols and the fitting of the re-ranker call these; the served path is made of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.listing import is_invisible
from adamroute.catalogue.preferences import liked_items, preference_text
from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS
from adamroute.catalogue.request import Interaction, PreferenceProfile, Request, UserStatus
from adamroute.catalogue.shop import TimeMeaning
from adamroute.encoders.seams import Vectors
from adamroute.errors import RequestError
from adamroute.recommender.answers import Versions
from adamroute.recommender.exclusion import EXCLUDED, excluded_rows
from adamroute.reranking.features import Asked, Case, encode_parts, ranking_case
from adamroute.reranking.reranker import Grades, Reranker, best_first, expected_grade
from adamroute.retrieval.dual import Candidates
from adamroute.retrieval.search_index import EncodedQueries
from adamroute.routing.policy_string import Auto, Standing, Verdict, judge
from adamroute.teacher.context import Context, Contexts
from adamroute.teacher.neighbours import liked_rows
from adamroute.theta import Combine, Theta

NO_QUERY: dict[UserStatus, str] = {
    "unknown": "query: needed, since nothing is known of this user",
    "known": "query: needed, since this user's history says nothing of their preferences",
    "given": "query: needed, since the given history and preferences hold no wish",
}
History = tuple[Interaction, ...]


@dataclass(frozen=True)
class Facts:
    """What the path knows beside the request: limits, switches, and what calibration found."""

    tau: int
    time: TimeMeaning  # of the shop's interactions
    threshold: float
    standing: Standing
    calibrated_on: str
    versions: Versions
    reads_vectors: bool = False  # whether the router needs E_txt of the query
    augmentation: bool = True  # whether neighbours' items join the candidates
    combine: Combine = "split"  # how a budget is spent
    attribute_filter: bool = True  # whether looks of text-only candidates are hidden
    lacks: tuple[str, ...] = ()  # what the run does without, and why


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request with all that retrieval and re-ranking need of it."""

    context: Context
    text_query: NDArray[np.float32]  # [D], as it enters the text branch
    mm_query: NDArray[np.float32]  # [D_mm]
    asked: Asked  # as the re-ranker sees it
    collaborative: tuple[int, ...]  # rows of the neighbours' positive items


@dataclass(frozen=True, eq=False)
class Ranked:
    """Candidates in the order of retrieval, their grades, and their places from best to worst."""

    candidates: Candidates
    grades: Grades  # [K, 5]
    expected: NDArray[np.float64]  # [K], 1 to 5
    order: NDArray[np.int64]  # [K]


class Steps:
    """What is done with a request on the index."""

    def __init__(self, contexts: Contexts, facts: Facts) -> None:
        self.contexts = contexts
        self.facts = facts

    def admit(
        self,
        *,
        request_id: str | None = None,
        query: str | None = None,
        user_id: str | None = None,
        history: History | None = None,
        preferences: PreferenceProfile | None = None,
    ) -> Request:
        """A request with what is stored of its user; what is given wins.

        RequestError names what cannot be used: an empty or overlong query, an unknown item, or no
        query where no wish is known.
        """
        _check_query(query)
        stored = self.contexts.snapshot.by_id.get(user_id) if user_id is not None else None
        given = history is not None or preferences is not None
        if history is None:
            history = stored.history if stored else ()
        else:
            _check_history(history, self.contexts.index.row_of)
        user: UserStatus = "given" if given else "known" if stored else "unknown"
        name = request_id or uuid.uuid4().hex
        request = Request(name, user_id, query or "", history, preferences, user)
        return request if query is not None else self.with_wish(request)

    def with_wish(self, request: Request) -> Request:
        """The same asking its preference text; RequestError where no wish is known."""
        (profile,) = self.contexts.profiles([request])
        wish = preference_text(profile)
        if not wish:
            raise RequestError("query", NO_QUERY[request.user])
        return replace(request, query=wish)

    def prepare(
        self, requests: Sequence[Request], encoded: EncodedQueries | None = None
    ) -> list[Prepared]:
        """Context, vectors and collaborative items of each request; `encoded` where at hand."""
        index = self.contexts.index
        if not requests:
            return []
        e_txt = None if encoded is None else encoded.e_txt
        contexts = self.contexts.prepare(requests, vectors=e_txt)
        if encoded is None:
            vectors = np.stack([context.text_vector for context in contexts])
            encoded = index.branches.enter([r.query for r in requests], vectors)
        parts = encode_parts(index.text_encoder, [context.profile for context in contexts])
        spreads = index.retriever.deviations(encoded.text, encoded.mm)
        return [
            self._prepared(context, text, mm, part, (spread[0], spread[1]))
            for context, text, mm, part, spread in zip(
                contexts, encoded.text, encoded.mm, parts, spreads.tolist(), strict=True
            )
        ]

    def retrieve(self, prepared: Prepared, theta: Theta) -> Candidates:
        """Both branches under theta, and what the nearest users liked."""
        return self.contexts.index.retriever.search(
            prepared.text_query, prepared.mm_query, theta, prepared.collaborative,
            self.facts.combine,
        )  # fmt: skip

    def keep(
        self, prepared: Prepared, found: Candidates, exclude: Sequence[str] = EXCLUDED
    ) -> tuple[Candidates, dict[str, int]]:
        """Candidates that the request wants to see, and how many left for which reason.

        Theta's budget counts what was retrieved, so that a replay of retrieval stays true: fewer
        than K may be graded, and shown. Who left for two reasons is counted for the first of
        disliked, liked, ids.
        """
        request, row_of = prepared.context.request, self.contexts.index.row_of
        kept, left = np.ones(len(found), dtype=np.bool_), {}
        for reason, rows in excluded_rows(exclude, request.history, row_of).items():
            gone = kept & np.isin(found.rows, rows)
            left[reason] = int(gone.sum())
            kept &= ~gone
        return (found if kept.all() else found.take(np.flatnonzero(kept).tolist())), left

    def case(
        self, prepared: Prepared, found: Candidates, theta: Theta, *, decided: bool = True
    ) -> Case:
        """The candidates as a re-ranker reads them; `decided`: theta was, for this request."""
        return ranking_case(
            found, prepared.asked, self.contexts.index.facts, theta.weight(self.facts.combine),
            decided=decided, attribute_filter=self.facts.attribute_filter,
        )  # fmt: skip

    def rank(self, case: Case, reranker: Reranker) -> Ranked:
        """The candidates graded and ordered."""
        return ranked(case.candidates, reranker.score(case))

    def verdict(
        self, policy: Auto, confidence: float, request: Request, *, time_left: bool = True
    ) -> Verdict:
        """Whether the teacher answers instead of a student of this confidence."""
        return judge(
            policy,
            confidence=confidence,
            threshold=self.facts.threshold,
            standing=self.facts.standing,
            has_history=request.has_positives,
            time_left=time_left,
        )

    def _prepared(
        self,
        context: Context,
        text_query: NDArray[np.float32],
        mm_query: NDArray[np.float32],
        parts: Vectors,
        spread: tuple[float, float],
    ) -> Prepared:
        request, index = context.request, self.contexts.index
        asked = Asked(
            query=request.query,
            vector=context.text_vector,
            spread=spread,
            profile=context.profile,
            parts=parts,
            liked=liked_items(request.history, index.row_of),
        )
        collaborative: tuple[int, ...] = ()
        if self.facts.augmentation:
            collaborative = liked_rows(
                context.neighbours, index.row_of, time=self.facts.time, history=request.history
            )
        return Prepared(context, text_query, mm_query, asked, collaborative)


def ranked(found: Candidates, grades: Grades) -> Ranked:
    """Candidates by falling expected grade; ties by better rank, then row."""
    return Ranked(found, grades, expected_grade(grades), best_first(grades, found))


def _check_query(query: str | None) -> None:
    """None is a request without words."""
    if query is not None and is_invisible(query):
        raise RequestError("query", "query: empty; leave it out to ask by preferences alone")
    if query is not None and len(query) > MAX_QUERY_CHARACTERS:
        most = f"at most {MAX_QUERY_CHARACTERS:,} characters"
        raise RequestError("query", f"query: {most}, got {len(query):,}")


def _check_history(history: History, known: Container[str]) -> None:
    for place, entry in enumerate(history):
        if entry.item_id not in known:
            field = f"history[{place}].item_id"
            raise RequestError(field, f"{field}: no item {entry.item_id[:60]!r} in this shop")
