"""Every router on the same requests: what each chose, what came of it, and the report's rows.

Plain functions over arrays, so that a fold of `--folds 5` calls the same ones and the folds'
outcomes are pooled by `pool` before any mean or interval is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.answering import Desk
from adamroute.distill.evaluation.baselines import (
    Kinds,
    fused_hits,
    fused_rows,
    hits_at,
    oracle_alphas,
    random_alphas,
    static_alpha,
)
from adamroute.distill.evaluation.metrics import hr_at, intervals, ndcg_at
from adamroute.distill.evaluation.schema import (
    FIXED_BUDGETS,
    METRICS,
    ROUTERS,
    AtFixedBudget,
    Difference,
    MetricName,
    RouterName,
    Row,
    Slice,
    SliceRow,
)
from adamroute.retrieval.ranks import QueryRanks
from adamroute.theta import Theta

Array = NDArray[np.float64]
BASELINES: tuple[RouterName, ...] = (
    "text_only", "mm_only", "half", "static_best", "kind_guessed", "kind_known", "oracle",
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What one router chose for B requests; D draws where chance decides, else one."""

    alphas: Array  # [D, B]
    budgets: Array  # [D, B]
    fixed: Mapping[int, Array]  # K to the alphas it would use there, [D, B]
    route_ms: Array  # [B], beside encoding, recall and scoring
    fell_back: Array  # [B], 0 or 1
    llm_calls: Array  # [B]
    tokens: Array  # [B]


@dataclass(frozen=True)
class Outcomes:
    """What came of a router's choices, one value a request, means over its draws."""

    recall: Array
    recall_augmented: Array
    recall_pessimistic: Array
    hr20: Array
    hr40: Array
    ndcg20: Array
    ndcg40: Array
    budget: Array
    candidates: Array
    fell_back: Array
    llm_calls: Array
    tokens: Array
    ms: Array
    at_k: Array  # [B, 3], recall at FIXED_BUDGETS

    @property
    def at_k_mean(self) -> Array:
        """[B]"""
        return np.asarray(self.at_k.mean(axis=1))

    def take(self, rows: NDArray[np.bool_]) -> Outcomes:
        """The outcomes of some requests."""
        return Outcomes(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def chosen(alphas: Array, budgets: Array, route_ms: Array | None = None) -> Choice:
    """A router that keeps its alpha at every K: alphas and budgets [B], one draw, no calls."""
    nothing = np.zeros(len(alphas))
    return Choice(
        alphas=alphas[None],
        budgets=budgets[None],
        fixed=dict.fromkeys(FIXED_BUDGETS, alphas[None]),
        route_ms=nothing if route_ms is None else route_ms,
        fell_back=nothing,
        llm_calls=nothing,
        tokens=nothing,
    )


def baseline_choices(
    fit: QueryRanks, known: QueryRanks, budget: int, rng: np.random.Generator
) -> dict[RouterName, Choice]:
    """Choices of the routers that need neither student nor teacher, `rrf` apart.

    `fit` holds the train and calibration requests, `budget` is the K they all pay for.
    """
    drawn = random_alphas(known, rng)
    paid = np.full(drawn.shape, float(budget))
    choices = {name: _refitted(name, fit, known, budget) for name in BASELINES}
    random = chosen(drawn[0], paid[0])
    fixed = dict.fromkeys(FIXED_BUDGETS, drawn)
    choices["random"] = replace(random, alphas=drawn, budgets=paid, fixed=fixed)
    return choices


def outcomes(known: QueryRanks, choice: Choice, desk: Desk, encode_ms: Array) -> Outcomes:
    """Replay the choices on the ranks, and serve each for the places after scoring."""
    n = len(known)
    hits = hits_at(choice.alphas, choice.budgets, known.text, known.mm)
    worst = hits_at(choice.alphas, choice.budgets, known.text_worst, known.mm_worst)
    at_k = [
        hits_at(choice.fixed[k], np.full(n, float(k)), known.text, known.mm).mean(axis=0)
        for k in FIXED_BUDGETS
    ]
    served = [
        [
            desk.serve(b, Theta(float(a), int(k)))
            for b, (a, k) in enumerate(zip(*draw, strict=True))
        ]
        for draw in zip(choice.alphas, choice.budgets, strict=True)
    ]
    ranks = np.array([[s.rank for s in draw] for draw in served])
    ms = np.array([[s.ms for s in draw] for draw in served])
    candidates = np.array([[s.candidates for s in draw] for draw in served])
    return collected(
        hits=hits, worst=worst, at_k=np.stack(at_k, axis=1), ranks=ranks, desk=desk,
        budgets=choice.budgets, candidates=candidates, choice=choice,
        ms=encode_ms + choice.route_ms + ms.mean(axis=0),
    )  # fmt: skip


def fusion_outcomes(known: QueryRanks, budget: int, desk: Desk, encode_ms: Array) -> Outcomes:
    """Reciprocal-rank fusion: its candidates are the first K of the fused list."""
    n = len(known)
    nothing = chosen(np.zeros(n), np.full(n, float(budget)))
    served = [desk.serve_rows(b, fused_rows(known, b, budget)) for b in range(n)]
    at_k = [fused_hits(known, k).astype(np.float64) for k in FIXED_BUDGETS]
    return collected(
        hits=fused_hits(known, budget)[None], worst=fused_hits(known, budget, worst=True)[None],
        at_k=np.stack(at_k, axis=1), ranks=np.array([[s.rank for s in served]]), desk=desk,
        budgets=nothing.budgets, candidates=np.array([[s.candidates for s in served]]),
        choice=nothing, ms=encode_ms + np.array([s.ms for s in served]),
    )  # fmt: skip


def pool(parts: Sequence[Mapping[RouterName, Outcomes]]) -> dict[RouterName, Outcomes]:
    """The outcomes of several folds as one."""
    return {
        name: Outcomes(
            **{
                f.name: np.concatenate([getattr(part[name], f.name) for part in parts])
                for f in fields(Outcomes)
            }
        )
        for name in ROUTERS
    }


def report_rows(
    results: Mapping[RouterName, Outcomes], users: Sequence[str], seed: int
) -> dict[RouterName, Row]:
    """All rows of the report, each with its intervals and its differences to `static_best`."""
    static = measures(results["static_best"])
    return {name: _row(results[name], static, users, seed) for name in ROUTERS}


def kind_slices(
    results: Mapping[RouterName, Outcomes], kinds: Sequence[str | None]
) -> dict[str, Slice]:
    """recall_at_k of every router by the stated kind; requests without one are left out."""
    names = np.array([kind or "" for kind in kinds])
    slices = {}
    for kind in sorted(set(names.tolist()) - {""}):
        here = names == kind
        rows = {name: SliceRow(recall_at_k=at_fixed(results[name].at_k[here])) for name in ROUTERS}
        slices[kind] = Slice(n=int(here.sum()), **rows)
    return slices


def _refitted(name: RouterName, fit: QueryRanks, known: QueryRanks, budget: int) -> Choice:
    """A baseline whose alpha depends on K."""

    def alphas(k: int) -> Array:
        if name == "oracle":
            return oracle_alphas(known, k)
        if name in ("kind_known", "kind_guessed"):
            return kinds.alphas(labels, k)
        fixed = {"text_only": 1.0, "mm_only": 0.0, "half": 0.5}
        return np.full(len(known), fixed[name] if name in fixed else static_alpha(fit, k))

    kinds = Kinds(fit)
    labels = kinds.guess(known.text_vectors) if name == "kind_guessed" else known.kinds
    own = chosen(alphas(budget), np.full(len(known), float(budget)))
    return replace(own, fixed={k: alphas(k)[None] for k in FIXED_BUDGETS})


def collected(
    *, hits: NDArray[np.bool_], worst: NDArray[np.bool_], at_k: Array, ranks: Array, desk: Desk,
    budgets: Array, candidates: NDArray[np.int64], choice: Choice, ms: Array,
) -> Outcomes:  # fmt: skip
    """Outcomes from hits, places after scoring and candidates, each [D, B] over draws."""
    brought = np.array(
        [t in rows for t, rows in zip(desk.known.targets, desk.collaborative, strict=True)]
    )
    return Outcomes(
        recall=hits.mean(axis=0),
        recall_augmented=(hits | brought).mean(axis=0),
        recall_pessimistic=worst.mean(axis=0),
        hr20=hr_at(ranks, 20).mean(axis=0),
        hr40=hr_at(ranks, 40).mean(axis=0),
        ndcg20=ndcg_at(ranks, 20).mean(axis=0),
        ndcg40=ndcg_at(ranks, 40).mean(axis=0),
        budget=budgets.mean(axis=0),
        candidates=candidates.mean(axis=0),
        fell_back=choice.fell_back,
        llm_calls=choice.llm_calls,
        tokens=choice.tokens,
        ms=ms,
        at_k=at_k,
    )


def measures(result: Outcomes) -> Array:
    """[B, M], one column a name of METRICS."""
    return np.stack(
        [
            result.recall, result.recall_augmented, result.recall_pessimistic,
            result.hr20, result.hr40, result.ndcg20, result.ndcg40, result.at_k_mean,
        ],
        axis=1,
    )  # fmt: skip


def at_fixed(at_k: Array) -> AtFixedBudget:
    """Means of [B, 3]."""
    k20, k40, k100 = at_k.mean(axis=0).tolist()
    return AtFixedBudget(k20=k20, k40=k40, k100=k100)


def _row(result: Outcomes, static: Array, users: Sequence[str], seed: int) -> Row:
    own = measures(result)
    spans = intervals(np.concatenate([own, own - static], axis=1), users, seed)
    n = len(METRICS)
    means, gains = own.mean(axis=0).tolist(), (own - static).mean(axis=0).tolist()
    named: dict[MetricName, float] = dict(zip(METRICS, means, strict=True))
    return Row(
        recall=named["recall"],
        recall_augmented=named["recall_augmented"],
        recall_pessimistic=named["recall_pessimistic"],
        hr20=named["hr@20"],
        hr40=named["hr@40"],
        ndcg20=named["ndcg@20"],
        ndcg40=named["ndcg@40"],
        mean_budget=float(result.budget.mean()),
        mean_candidates=float(result.candidates.mean()),
        fallback_rate=float(result.fell_back.mean()),
        llm_calls=float(result.llm_calls.mean()),
        tokens=float(result.tokens.mean()),
        p50_ms=float(np.quantile(result.ms, 0.5)),
        p95_ms=float(np.quantile(result.ms, 0.95)),
        recall_at_k=at_fixed(result.at_k),
        ci95=dict(zip(METRICS, spans[:n], strict=True)),
        minus_static_best={
            name: Difference(mean=gain, ci95=span)
            for name, gain, span in zip(METRICS, gains, spans[n:], strict=True)
        },
    )
