"""One run's requests, ready to be answered by any router; what costs is made when first asked for.

Opens a finished run for all reports: they differ only in which routers they ask.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from pydantic import JsonValue

from adamroute.assembly import load_contexts, load_reranker, load_teacher, path_facts
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.desk import Desk
from adamroute.distill.evaluation.learned import Told, ask, load_learned
from adamroute.distill.evaluation.splits import FIXED_BUDGETS, Array, Kinds
from adamroute.errors import LabelError
from adamroute.progress import SILENT, Progress
from adamroute.recommender.steps import Prepared, Steps
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.ranks import QueryRanks, load_ranks, rank_queries
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.constants import REPLIES_FILE, TeacherFile, read_teacher_file
from adamroute.teacher.context import Contexts
from adamroute.teacher.loop import CHUNK, Teacher
from adamroute.theta import ALPHAS

Switches = Mapping[str, Mapping[str, JsonValue]]  # section of the config to key and value
DRAWS = 20  # of the router that leaves the split to chance


@dataclass(eq=False)
class Bench:
    """B requests of one run, and those of train and calibration that baselines are fitted on."""

    config: Config
    shop: Shop
    index: SearchIndex
    queries: tuple[Query, ...]
    known: QueryRanks  # of `queries`
    fit_queries: tuple[Query, ...]
    fit: QueryRanks
    progress: Progress = SILENT
    together: int = CHUNK  # requests that the teacher decides at once; 1 as a server does
    taught_answers: dict[str, tuple[TeacherAnswer, ...]] = field(default_factory=dict)
    _desks: dict[str, Desk] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """[B], each without its own target in its history."""
        return tuple(self.shop.request(query) for query in self.queries)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The requests as a table's rows: who asked, and what reports slice them by."""
        return pl.DataFrame(
            {
                "request": [query.query_id for query in self.queries],
                "user": [query.user_id for query in self.queries],
                "kind": [query.kind or "" for query in self.queries],
            }
        )

    @property
    def budget(self) -> int:
        """K of every router that has no opinion of its own."""
        return paid_budget(self.config, self.index)

    @property
    def train(self) -> QueryRanks:
        """Of the fitting requests, those of train users."""
        return self.fit.take(np.array([query.split == "train" for query in self.fit_queries]))

    @cached_property
    def constants(self) -> TeacherFile:
        """What the label stage found of the shop."""
        return read_teacher_file(self.config.stage("labels"))

    @cached_property
    def random(self) -> Array:
        """[20, B] alphas drawn uniformly, from the bins where fused ranks know no others."""
        rng, size = np.random.default_rng(self.config.seed), (DRAWS, len(self))
        fused = self.constants.combine == "fused"
        return rng.choice(np.array(ALPHAS), size) if fused else rng.uniform(size=size)

    @cached_property
    def kinds(self) -> Kinds:
        """Best alphas by kind."""
        return Kinds(self.fit, self.constants.combine)

    @cached_property
    def told(self) -> Told:
        """What students and the cascade's rule say."""
        learned = load_learned(self.config, self.index)
        with self.progress.task("student answers", total=len(self)) as advance:
            return ask(learned, self.prepared, self.config, advance)

    def taught(self, switches: Switches) -> tuple[TeacherAnswer, ...]:
        """The teacher's answers with switches of the config thrown; each is asked once."""
        key = repr(switches)
        if key not in self.taught_answers:
            config = switched(self.config, switches)
            labels, replies = config.stage("labels"), config.out / REPLIES_FILE
            teacher = load_teacher(labels, self.index, config, replies)
            self.taught_answers[key] = self._decided(teacher)
        return self.taught_answers[key]

    @cached_property
    def contexts(self) -> Contexts:
        """What prepares requests, as a server has it."""
        return load_contexts(self.config, self.index)

    @cached_property
    def prepared(self) -> list[Prepared]:
        """The requests as the served path prepares them, [B]."""
        return self._prepared(self._steps(self.config))

    @cached_property
    def reranker(self) -> Reranker:
        """The run's."""
        return load_reranker(self.config)

    def desk(self, switches: Switches) -> Desk:
        """The served path over these requests, with switches of the config thrown."""
        key = repr(switches)
        if key not in self._desks:
            config = switched(self.config, switches)
            steps, own = self._steps(config), config.retrieval == self.config.retrieval
            same = config.reranker.kind == self.config.reranker.kind
            self._desks[key] = Desk(
                steps,
                self.reranker if same else load_reranker(config),
                self.prepared if own else self._prepared(steps),
                self.known.targets,
            )
        return self._desks[key]

    @cached_property
    def encode_ms(self) -> Array:
        """Milliseconds to encode each query alone, as a server does, [B]."""
        ms = []
        for query in self.queries:
            start = time.perf_counter()
            self.index.encode([query.text])
            ms.append((time.perf_counter() - start) * 1000.0)
        return np.array(ms)

    def _decided(self, teacher: Teacher) -> tuple[TeacherAnswer, ...]:
        answers: list[TeacherAnswer] = []
        with self.progress.task("teacher answers", len(self)) as advance:
            for start in range(0, len(self), self.together):
                chunk = self.requests[start : start + self.together]
                answers += teacher.decide_many(chunk)
                advance(len(chunk))
        return tuple(answers)

    def _steps(self, config: Config) -> Steps:
        return Steps(self.contexts, path_facts(config, self.constants))

    def _prepared(self, steps: Steps) -> list[Prepared]:
        known = self.known
        encoded = self.index.branches.entered(known.text_vectors, known.mm_vectors)
        return steps.prepare(self.requests, encoded)


def switched(config: Config, switches: Switches) -> Config:
    """The config with some keys of its sections changed."""
    sections = {
        name: getattr(config, name).model_copy(update=dict(keys))
        for name, keys in switches.items()
    }
    return config.model_copy(update=sections)


def open_bench(
    config: Config,
    shop: Shop,
    index: SearchIndex,
    queries: Sequence[Query],
    *,
    verb: str,
    stored: bool = True,
    progress: Progress = SILENT,
    together: int = CHUNK,
) -> Bench:
    """What is asked and fitted on, with its ranks; LabelError where either is nothing.

    `stored`: the queries are of the shop or the label stage, so that their ranks lie in ranks/.
    """
    ranks = config.stage("ranks")
    fit_queries = known_queries(shop, ranks, "train", "calibration")
    if not queries or not fit_queries:
        raise LabelError(
            f"{verb}: {len(queries)} requests to report on and {len(fit_queries)} of train and "
            "calibration to fit the baselines on, wanted at least one of each. "
            "Give the shop queries of those splits, or more items where it has none"
        )
    if stored:
        known = load_ranks(ranks, queries)
    else:
        length = max(*FIXED_BUDGETS, paid_budget(config, index))
        known = rank_queries(index, queries, length)
    return Bench(
        config, shop, index, tuple(queries), known, fit_queries, load_ranks(ranks, fit_queries),
        progress=progress, together=together,
    )  # fmt: skip


def paid_budget(config: Config, index: SearchIndex) -> int:
    """K that the operator asked for, within the catalogue."""
    return min(config.routing.mean_budget, config.routing.tau, len(index.ids))
