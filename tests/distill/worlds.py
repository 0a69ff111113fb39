"""A small world for the report's tests: real FAISS branches, random vectors, drawn outcomes."""

from __future__ import annotations

from functools import cache

import numpy as np

from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import Query
from adamroute.distill.evaluation.answering import Desk
from adamroute.distill.evaluation.learned import Told, learned_choices
from adamroute.distill.evaluation.measure import CURVE_BUDGETS, CURVES, Measured
from adamroute.distill.evaluation.outcomes import baseline_choices, fusion_outcomes, outcomes
from adamroute.llm.chat import Call
from adamroute.reranking.features import FEATURES, Asked
from adamroute.reranking.reranker import OrdinalReranker
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.item_facts import ItemFacts, item_facts
from adamroute.retrieval.ranks import QueryRanks
from adamroute.routing.policy_string import Verdict
from adamroute.routing.student import Prediction
from adamroute.teacher.answer import TeacherAnswer, TraceStep
from adamroute.theta import ALPHAS, Theta

N, B, D = 150, 40, 6
INTENTS = ("functional", "mixed", "visual")


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    vectors = rng.normal(size=(rows, D)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@cache
def items() -> tuple[DualRetriever, ItemFacts]:
    rng = np.random.default_rng(1)
    text, mm = unit(rng, N), unit(rng, N)
    text[1], mm[1] = text[0], mm[0]  # a pair that no measure can tell apart
    facts = item_facts(
        text, ["a thing"] * N, ["rug", "lamp", "sofa"] * (N // 3), [{"colour": "red"}] * N
    )
    return DualRetriever(BranchIndex(text), BranchIndex(mm)), facts


@cache
def requests(seed: int = 2) -> QueryRanks:
    rng = np.random.default_rng(seed)
    recall, _ = items()
    targets = rng.integers(0, N, B)
    targets[0] = 0
    text, mm = unit(rng, B), unit(rng, B)
    ranks, worst = (
        recall.ranks(text, mm, targets),
        recall.pessimistic_ranks(text, mm, targets),
    )
    return QueryRanks(
        request_ids=tuple(f"q{b}" for b in range(B)),
        users=tuple(f"u{b // 2}" for b in range(B)),
        kinds=tuple(INTENTS[b % 3] for b in range(B)),
        text_vectors=text,
        mm_vectors=mm,
        targets=targets,
        text=ranks[0],
        mm=ranks[1],
        text_worst=worst[0],
        mm_worst=worst[1],
        text_lists=np.stack([recall.text.search(v, 100).rows for v in text]),
        mm_lists=np.stack([recall.mm.search(v, 100).rows for v in mm]),
    )


def desk(known: QueryRanks, collaborative: tuple[int, ...] = ()) -> Desk:
    recall, facts = items()
    weights = np.zeros(len(FEATURES))
    weights[FEATURES.index("log_best_rank")] = -1.0
    scorer = OrdinalReranker(
        mean=np.zeros(len(FEATURES)),
        scale=np.ones(len(FEATURES)),
        weights=weights,
        thresholds=np.array([-4.0, -3.0, -2.0, -1.0]),
    )
    nothing, nobody = np.zeros((3, D), np.float32), np.array([], np.int64)
    asked = [Asked("red", v, PreferenceProfile(), nothing, nobody) for v in known.text_vectors]
    return Desk(
        recall=recall,
        facts=facts,
        scorer=scorer,
        known=known,
        asked=asked,
        collaborative=[collaborative] * len(known),
    )


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


def told(known: QueryRanks) -> Told:
    """A student that hears the kind, a teacher that always says half, every fifth one sent."""
    alpha = {"functional": 0.8, "mixed": 0.4, "visual": 0.1}
    predictions, answers, verdicts = [], [], []
    for b, kind in enumerate(known.kinds):
        probs = np.full(len(ALPHAS), 0.05)
        probs[round(alpha[str(kind)] * 10)] = 0.5
        theta = Theta(alpha[str(kind)], 40)
        predictions.append(Prediction(probs, np.array([0.2, 0.8]), theta, 0.99))
        answers.append(
            TeacherAnswer(
                request_id=known.request_ids[b],
                theta=Theta(0.5, 80),
                theta0=Theta(0.5, 40),
                source="teacher",
                item_ids=("i",),
                text_ranks=(3,),
                mm_ranks=(5,),
                steps=(_TWO_CALLS,),
                fallbacks=("no_neighbours",),
                ms=7.0,
            )
        )
        verdicts.append(Verdict(b % 5 == 0, "low_confidence" if b % 5 == 0 else None))
    soft = np.full((len(known), len(ALPHAS)), 1 / len(ALPHAS))
    soft[0] = np.nan
    return Told(
        predictions=tuple(predictions),
        student_ms=np.full(len(known), 3.0),
        linear_thetas=tuple(Theta(0.3, 40) for _ in predictions),
        linear_ms=np.full(len(known), 0.1),
        answers=tuple(answers),
        confidence=np.linspace(0.2, 0.9, len(known)),
        verdicts=tuple(verdicts),
        teacher_soft=soft,
    )


@cache
def measured() -> Measured:
    known, fit = requests(), requests(3)
    answers = told(known)
    rng = np.random.default_rng(0)
    choices = {**baseline_choices(fit, known, 40, rng), **learned_choices(answers)}
    encode_ms = np.full(len(known), 2.0)
    at = desk(known, (5, 9))
    results = {name: outcomes(known, choice, at, encode_ms) for name, choice in choices.items()}
    results["rrf"] = fusion_outcomes(known, 40, at, encode_ms)
    rise = np.linspace(0.3, 0.9, len(CURVE_BUDGETS))
    return Measured(
        queries=tuple(
            Query(i, u, "a | red\nrug", f"item{t}", k, "test")
            for i, u, t, k in zip(
                known.request_ids, known.users, known.targets, known.kinds, strict=True
            )
        ),
        text_ranks=known.text,
        mm_ranks=known.mm,
        told=answers,
        results=results,
        curves={name: np.tile(rise, (len(known), 1)) for name in CURVES},
        regrets=np.linspace(0.5, 0.0, len(known)),
        titles=("A rug",) * len(known),
        versions={"index": "abc"},
    )
