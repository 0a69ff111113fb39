"""The rows of a protocol's table: ways to rank the catalogue, or some of it, for a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import (
    load_contexts,
    load_index,
    load_reranker,
    load_student,
    load_teacher,
    path_facts,
)
from adamroute.catalogue.preferences import preference_text, profile_of
from adamroute.catalogue.request import Request
from adamroute.config import Config
from adamroute.distill.evaluation.splits import Array
from adamroute.errors import ArtifactError
from adamroute.pipeline import BUILD, LABEL, RERANKER, TRAIN
from adamroute.recommender.steps import Prepared, Steps
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.branch_index import TIE, BranchIndex
from adamroute.retrieval.dual import Candidates, DualRetriever
from adamroute.retrieval.search_index import EncodedQueries, SearchIndex
from adamroute.routing.student import Student
from adamroute.stages import chained
from adamroute.teacher.constants import REPLIES_FILE, read_teacher_file
from adamroute.teacher.loop import Teacher
from adamroute.theta import Combine, Theta

Rows = NDArray[np.int64]
EQUAL = 1e-9  # values this close are equal
KEPT = 100  # items of a random answer; no measure looks deeper than 40


Found = tuple[Rows, Array]  # rows and a value each, the higher the better
Ranker = Callable[[Request, Rows | None], Found]  # over the catalogue, or the rows of `among`


def place(found: Found, target: int) -> float:
    """1-based place of a row with every tie lost; infinite where it was not found."""
    rows, values = found
    own = values[rows == target]
    return float((values >= own[0] - EQUAL).sum()) if len(own) else float("inf")


class Encoded:
    """Query vectors of both branches, encoded in one batch."""

    def __init__(self, index: SearchIndex, texts: Sequence[str]) -> None:
        self.index = index
        different = list(dict.fromkeys(text for text in texts if text))
        self._row = {text: row for row, text in enumerate(different)}
        self._vectors = index.encode(different) if different else None

    def of(self, texts: Sequence[str]) -> EncodedQueries:
        """The vectors of some of the texts."""
        assert self._vectors is not None  # some text was encoded, these among them
        rows = [self._row[text] for text in texts]
        known = self._vectors
        return EncodedQueries(known.e_txt[rows], known.text[rows], known.mm[rows])

    def search(
        self,
        text: str,
        theta: Theta,
        among: Rows | None,
        extra: Sequence[int] = (),
        combine: Combine = "split",
    ) -> Candidates:
        """Candidates under theta; `among` makes both branches hold only those rows."""
        encoded, index = self.of([text]), self.index
        vectors = encoded.text[0], encoded.mm[0]
        if among is None:
            return index.retriever.search(*vectors, theta, extra, combine)
        place = {row: i for i, row in enumerate(among.tolist())}
        inner = [place[row] for row in extra if row in place]
        text_items, mm_items = index.retriever.text.vectors, index.retriever.mm.vectors
        part = DualRetriever(BranchIndex(text_items[among]), BranchIndex(mm_items[among]))
        found = part.search(*vectors, theta, inner, combine)
        return replace(found, rows=among[found.rows])


def by_retrieval(encoded: Encoded, theta: Theta) -> Ranker:
    """A fixed theta and no re-ranker: an item's value is its better place in the two lists."""
    n_text, n_mm = theta.split()

    def rank(request: Request, among: Rows | None) -> Found:
        found = encoded.search(request.query, theta, among)
        places = np.minimum(
            _places(found.text_scores, found.text_ranks <= n_text),
            _places(found.mm_scores, found.mm_ranks <= n_mm),
        )
        return found.rows, -places

    return rank


def by_chance(items: int, seed: int) -> Ranker:
    """Every item equally likely at every place; what a request gets depends on the seed alone.

    Only the first `KEPT` places are told.
    """

    def rank(request: Request, among: Rows | None) -> Found:
        rows = np.arange(items) if among is None else among
        values = np.random.default_rng([seed, *request.request_id.encode()]).uniform(
            size=len(rows)
        )
        kept = np.argpartition(-values, KEPT)[:KEPT] if len(rows) > KEPT else slice(None)
        return rows[kept], values[kept]

    return rank


@dataclass(frozen=True, eq=False)
class ServedParts:
    """What re-ranks, where it is finished."""

    steps: Steps
    reranker: Reranker
    teacher: Teacher
    static: Theta
    student: Student | None

    def ranker(
        self,
        encoded: Encoded,
        prepared: Sequence[Prepared],
        thetas: Sequence[Theta],
        *,
        decided: bool = True,
    ) -> Ranker:
        """The served path, each prepared request under its theta."""
        known = {
            p.context.request.request_id: (p, t) for p, t in zip(prepared, thetas, strict=True)
        }

        def rank(request: Request, among: Rows | None) -> Found:
            asked, theta = known[request.request_id]
            found = encoded.search(
                request.query, theta, among, asked.collaborative, self.steps.facts.combine
            )
            kept, _ = self.steps.keep(asked, found)
            case = self.steps.case(asked, kept, theta, decided=decided)
            return kept.rows, self.steps.rank(case, self.reranker).expected

        return rank


@dataclass(frozen=True, eq=False)
class FinishedParts:
    """The parts of a run that protocols rank with."""

    index: SearchIndex
    tau: int
    served: ServedParts | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)  # stage to why


@dataclass(frozen=True)
class Contender:
    """One row of the table."""

    make: Callable[[int], Ranker]  # by the trial's seed
    seeded: bool = False  # whether trials can differ


def load_parts(config: Config) -> FinishedParts:
    """The index, and what else is finished; ArtifactError where stages don't belong together."""
    index = load_index(config.stage("index"))
    tau = min(config.routing.tau, len(index.ids))
    left_out = _left_out(config)
    if LABEL.label in left_out or RERANKER.label in left_out:
        return FinishedParts(index, tau, left_out=left_out)
    labels = config.stage("labels")
    constants = read_teacher_file(labels)
    served = ServedParts(
        steps=Steps(load_contexts(config, index), path_facts(config, constants)),
        reranker=load_reranker(config),
        teacher=load_teacher(labels, index, config, config.out / REPLIES_FILE),
        static=constants.static,
        student=None if TRAIN.label in left_out else load_student(config),
    )
    return FinishedParts(index, tau, served, left_out)


def with_wishes(index: SearchIndex, requests: Sequence[Request]) -> list[Request]:
    """Requests without words ask the preference text of their history, `""` where it says none."""

    def wish(request: Request) -> str:
        return request.query or preference_text(profile_of(request.history, index.traits))

    return [replace(request, query=wish(request)) for request in requests]


def contenders(
    parts: FinishedParts, requests: Sequence[Request], *, fitted: bool
) -> Mapping[str, Contender]:
    """Rows in the order of the table; those that need unfinished stages are not among them.

    `fitted` adds those that saw logged queries of train and calibration users.
    """
    asked = [request for request in requests if request.query]
    encoded, items = Encoded(parts.index, [request.query for request in asked]), len(parts.index)
    rows = {"random": Contender(lambda seed: by_chance(items, seed), seeded=True)}
    for name, alpha in (("text_only", 1.0), ("mm_only", 0.0), ("half", 0.5)):
        rows[name] = _always(by_retrieval(encoded, Theta(alpha, parts.tau)))
    if fitted and parts.served is not None:
        rows |= _served(parts.served, Theta(0.5, parts.tau), asked, encoded)
    return rows


def _always(ranker: Ranker) -> Contender:
    return Contender(lambda _: ranker)


def _served(
    served: ServedParts, half: Theta, asked: Sequence[Request], encoded: Encoded
) -> dict[str, Contender]:
    """Rows whose candidates the run's re-ranker orders, the neighbours' items among them."""
    vectors = encoded.of([request.query for request in asked]) if asked else None
    prepared = served.steps.prepare(asked, vectors)

    def fixed(theta: Theta) -> Contender:
        thetas = [theta] * len(asked)
        return _always(served.ranker(encoded, prepared, thetas, decided=False))

    def taught(_: int) -> Ranker:
        answers = served.teacher.decide_many(asked)
        return served.ranker(encoded, prepared, [answer.theta for answer in answers])

    rows = {
        "half_scored": fixed(half),
        "static_scored": fixed(served.static),
        "teacher_scored": Contender(taught, served.teacher.policy.name != "evidence"),
    }
    if served.student is not None:
        said = [served.student.predict([one.context.routing])[0] for one in prepared]
        thetas = [prediction.theta for prediction in said]
        rows["student_scored"] = _always(served.ranker(encoded, prepared, thetas))
    return rows


def _places(scores: NDArray[np.float32], listed: NDArray[np.bool_]) -> Array:
    """[K] place in one list with ties lost; infinite for what is not in it."""
    known = scores[listed].astype(np.float64)
    places = np.full(len(scores), np.inf)
    places[listed] = (known[None, :] >= known[:, None] - TIE).sum(axis=1)
    return places


def _left_out(config: Config) -> dict[str, str]:
    """Why stages are not there, by folder; ArtifactError where one is another run's."""
    found, left_out = [BUILD], {}
    for stage in (LABEL, RERANKER, TRAIN):
        try:
            stage.read(config)
            found.append(stage)
        except ArtifactError:
            left_out[stage.label] = (
                f"{stage.path(config)} is not finished. Run: adamroute {stage.verb} CONFIG"
            )
    chained(config, found)
    return left_out
