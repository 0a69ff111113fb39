"""A small world for the report's tests: real FAISS branches, random vectors, drawn outcomes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from adamroute.assembly import path_facts
from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.catalogue.shop import Catalogue, Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.bench import Bench
from adamroute.distill.evaluation.desk import Desk
from adamroute.distill.evaluation.learned import Told
from adamroute.distill.evaluation.report import Measured, measured
from adamroute.llm.chat import Call
from adamroute.recommender.steps import Prepared, Steps
from adamroute.reranking.features import Asked
from adamroute.reranking.reranker import OrdinalReranker, Reranker
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.ranks import QueryRanks, rank_fields
from adamroute.retrieval.search_index import Branches, SearchIndex
from adamroute.routing.policy_string import Verdict
from adamroute.routing.student import Prediction
from adamroute.store import Snapshot
from adamroute.teacher.answer import TeacherAnswer, TraceStep
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.context import Context, Contexts
from adamroute.theta import ALPHAS, Theta
from tests.distill.market import market_index
from tests.leanings import AS_MEAN
from tests.reranking.weighing import weighing

N, B, D = 150, 40, 6
INTENTS = ("functional", "mixed", "visual")
CONSTANTS = TeacherFile(
    combine="split", leaning=AS_MEAN, tau=80, lam=0.1, static_alpha=0.5, static_budget=40,
    time="none",
)  # fmt: skip
FUSED = CONSTANTS.model_copy(update={"combine": "fused"})


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    vectors = rng.normal(size=(rows, D)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@cache
def index() -> SearchIndex:
    rng = np.random.default_rng(1)
    text, mm = unit(rng, N), unit(rng, N)
    text[1], mm[1] = text[0], mm[0]  # a pair that no measure can tell apart
    encoders = market_index()
    return SearchIndex(
        manifest=encoders.manifest,
        ids=tuple(f"item{row}" for row in range(N)),
        titles=("A rug",) * N,
        texts=("a thing",) * N,
        profile_texts=("a thing",) * N,
        categories=("rug", "lamp", "sofa") * (N // 3),
        images=(None,) * N,
        visual=({"colour": "red"},) * N,
        text_vectors=text,
        text_encoder=encoders.text_encoder,
        branches=Branches(
            None, encoders.branches.mm_encoder, DualRetriever(BranchIndex(text), BranchIndex(mm))
        ),
    )


@cache
def requests(seed: int = 2) -> QueryRanks:
    rng = np.random.default_rng(seed)
    recall = index().retriever
    targets = rng.integers(0, N, B)
    targets[0] = 0
    text, mm = unit(rng, B), unit(rng, B)
    ranks, worst = (recall.ranks(text, mm, targets, worst=lost) for lost in (False, True))
    return QueryRanks(
        request_ids=tuple(f"q{b}" for b in range(B)),
        users=tuple(f"u{b // 2}" for b in range(B)),
        kinds=tuple(INTENTS[b % 3] for b in range(B)),
        text_vectors=text,
        mm_vectors=mm,
        targets=targets,
        **rank_fields(ranks, worst),
        text_lists=np.stack([recall.text.search(v, 100).rows for v in text]),
        mm_lists=np.stack([recall.mm.search(v, 100).rows for v in mm]),
    )


def queries(known: QueryRanks) -> tuple[Query, ...]:
    return tuple(
        Query(i, u, "a | red\nrug", f"item{t}", k, "test")
        for i, u, t, k in zip(
            known.request_ids, known.users, known.targets, known.kinds, strict=True
        )
    )


def config(**settings: object) -> Config:
    return Config.model_validate({"name": "small", "shop": "shop", "out": "out", **settings})


def prepared(known: QueryRanks, collaborative: tuple[int, ...] = ()) -> list[Prepared]:
    nothing, nobody = np.zeros((3, D), np.float32), np.array([], np.int64)
    profile = PreferenceProfile()
    return [
        Prepared(
            context=Context(Request(name, "u", "red", ()), vector, profile, (), ()),
            text_query=vector,
            mm_query=known.mm_vectors[b],
            asked=Asked("red", vector, (1.0, 1.0), profile, nothing, nobody),
            collaborative=collaborative,
        )
        for b, (name, vector) in enumerate(zip(known.request_ids, known.text_vectors, strict=True))
    ]


def by_best_rank() -> OrdinalReranker:
    """A re-ranker that goes by the better of both ranks."""
    return weighing({"log_best_rank": -1.0})


def steps(settings: Config | None = None) -> Steps:
    facts = path_facts(settings or config(), CONSTANTS)
    return Steps(Contexts(index(), Snapshot(()), 5, 5), facts)


def desk(
    known: QueryRanks, collaborative: tuple[int, ...] = (), reranker: Reranker | None = None
) -> Desk:
    many = prepared(known, collaborative)
    return Desk(steps(), reranker or by_best_rank(), many, known.targets)


_CALL = Call("start@0", prompt_tokens=10, reply_tokens=5, ms=1.0)
_TWO_CALLS = TraceStep(
    request_id="r",
    step=0,
    part="start",
    item_id=None,
    pseudo_query=None,
    text_rank=None,
    mm_rank=None,
    alpha=0.5,
    budget=40,
    reason="",
    calls=(_CALL, _CALL),
)


def taught(known: QueryRanks) -> tuple[TeacherAnswer, ...]:
    """A teacher that always says half; of the first request it has no evidence."""
    return tuple(
        TeacherAnswer(
            request_id=request_id,
            theta=Theta(0.5, 80),
            theta0=Theta(0.5, 40),
            source="teacher",
            item_ids=("i",) if b else (),
            text_ranks=(3,) if b else (),
            mm_ranks=(5,) if b else (),
            fused_ranks=((4,) * len(ALPHAS),) if b else (),
            steps=(_TWO_CALLS,),
            fallbacks=("no_neighbours",),
            ms=7.0,
        )
        for b, request_id in enumerate(known.request_ids)
    )


def told(known: QueryRanks) -> Told:
    """A student that hears the kind, every fifth request sent to the teacher."""
    alpha = {"functional": 0.8, "mixed": 0.4, "visual": 0.1}
    predictions, verdicts = [], []
    for b, kind in enumerate(known.kinds):
        probs = np.full(len(ALPHAS), 0.05)
        probs[round(alpha[str(kind)] * 10)] = 0.5
        theta = Theta(alpha[str(kind)], 40)
        predictions.append(Prediction(probs, np.array([0.2, 0.8]), theta, 0.99))
        verdicts.append(Verdict(b % 5 == 0, "low_confidence" if b % 5 == 0 else None))
    n = len(known)
    return Told(
        predictions=predictions,
        student_ms=np.full(n, 3.0),
        linear=[Prediction(ALPHAS_ALIKE, np.array([0.2, 0.8]), Theta(0.3, 40), 1.0)] * n,
        linear_ms=np.full(n, 0.1),
        confidence=np.linspace(0.2, 0.9, n),
        verdicts=verdicts,
    )


ALPHAS_ALIKE = np.full(len(ALPHAS), 1 / len(ALPHAS))


def bench(
    known: QueryRanks | None = None,
    collaborative: tuple[int, ...] = (5, 9),
    constants: TeacherFile = CONSTANTS,
) -> Bench:
    """The world as a report finds a finished run; nothing is read from a folder."""
    known = requests() if known is None else known
    fit = requests(3)
    shop = Shop("small_shop", Path("shop"), Catalogue(()), {}, queries(known), "none")
    world = Bench(config(), shop, index(), queries(known), known, queries(fit), fit)
    world.constants, world.told, world.encode_ms = constants, told(known), np.full(B, 2.0)
    world.prepared = prepared(known, collaborative)
    world.reranker = by_best_rank()
    world.contexts = steps().contexts
    world.taught_answers[repr({})] = taught(known)
    return world


@cache
def measured_world() -> Measured:
    return measured(bench(), {"index": "abc"})
