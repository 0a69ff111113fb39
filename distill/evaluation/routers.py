"""Every router of every table: one registry, in the order in which reports list them.

A new router is one entry here: it then stands in the tables and pictures of its groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from adamroute.distill.evaluation.bench import Bench, Switches
from adamroute.distill.evaluation.learned import decision_ms
from adamroute.distill.evaluation.outcomes import FREE, Answers, listed, split
from adamroute.distill.evaluation.rankings import Bm25, judged_weights, ordered, rank_fusion
from adamroute.distill.evaluation.splits import (
    Array,
    nearest_alphas,
    oracle_alphas,
    static_alpha,
)
from adamroute.distill.evaluation.table import Results, rows
from adamroute.teacher.constants import BLIND_BUDGET
from adamroute.theta import Combine, Theta

Group = Literal["report", "teacher", "rival", "today", "ablation", "peer", "reference"]
Choose = Callable[[Bench], Answers]
INK, MUTED = "#22303c", "#8795a1"
RED, VIOLET, YELLOW, BLUE, GREEN = "#d1495b", "#8d5a97", "#edae49", "#00798c", "#5fa777"


@dataclass(frozen=True)
class RouterEntry:
    """One row of tables: how it is shown, where it stands, and what it chooses."""

    name: str
    label: str
    # rival: what the teacher's report holds the teacher against; today: what a shop can have now
    groups: tuple[Group, ...]
    choose: Choose
    colour: str | None = None
    marker: str = "o"  # in pictures; another one marks a reference, no router
    curve: bool = False  # drawn as recall against K
    path: Switches = field(default_factory=dict)  # of the config, thrown on the served path
    published: tuple[float, float] | None = None  # AdaM-Rec on Amazon Beauty: Recall, HR@20

    @property
    def hollow(self) -> bool:
        """A reference, in pictures."""
        return self.marker != "o"


def _refitted(bench: Bench, alphas: Callable[[int], Array]) -> Answers:
    """A router whose alpha is chosen anew for every K."""
    paid = np.full((1, len(bench)), float(bench.budget))
    return split(bench, alphas(bench.budget)[None], paid, refitted=alphas)


def _one_for_all(bench: Bench, alpha: Callable[[int], float], combine: Combine) -> Answers:
    """One alpha for all requests, by K."""
    paid = np.full((1, len(bench)), float(bench.budget))

    def at(k: int) -> Array:
        return np.full(len(bench), alpha(k))

    own = at(bench.budget)[None]
    return split(bench, own, paid, refitted=at, combine=combine, decided=False)


def by_thetas(bench: Bench, thetas: Sequence[Theta], costs: Mapping[str, Array] = FREE) -> Answers:
    """A router that keeps its alpha at every K."""
    alphas = np.array([[theta.alpha for theta in thetas]])
    budgets = np.array([[float(theta.budget) for theta in thetas]])
    return split(bench, alphas, budgets, costs=costs)


def _fixed(alpha: float, combine: Combine = "split") -> Choose:
    """One alpha for all requests, at the K that all baselines pay."""
    return lambda bench: _one_for_all(bench, lambda _: alpha, combine)


def _best_fixed(combine: Combine) -> Choose:
    """The one alpha that recalls most on train and calibration, anew for every K."""
    return lambda bench: _one_for_all(
        bench, lambda k: static_alpha(bench.fit, k, combine), combine
    )


def _blind(alpha: float) -> Choose:
    """As the paper's rows without routing: K = min(800, tau)."""

    def choose(bench: Bench) -> Answers:
        size = (1, len(bench))
        budgets = np.full(size, float(min(BLIND_BUDGET, bench.constants.tau)))
        return split(bench, np.full(size, alpha), budgets, combine="split", decided=False)

    return choose


def _kind_guessed(bench: Bench) -> Answers:
    guessed = bench.kinds.guess(bench.known.text_vectors)
    return _refitted(bench, lambda k: bench.kinds.alphas(guessed, k))


def _kind_known(bench: Bench) -> Answers:
    return _refitted(bench, lambda k: bench.kinds.alphas(bench.known.kinds, k))


def _random(bench: Bench) -> Answers:
    budgets = np.full(bench.random.shape, float(bench.budget))
    return split(bench, bench.random, budgets, decided=False)


def _oracle(bench: Bench) -> Answers:
    combine = bench.constants.combine
    return _refitted(bench, lambda k: oracle_alphas(bench.known, k, combine))


def _nearest(bench: Bench) -> Answers:
    fit, vectors, combine = bench.fit, bench.known.text_vectors, bench.constants.combine
    return _refitted(bench, lambda k: nearest_alphas(fit, vectors, k, combine))


def _student(bench: Bench) -> Answers:
    told = bench.told
    return by_thetas(bench, [p.theta for p in told.predictions], {"ms": told.student_ms})


def _linear(bench: Bench) -> Answers:
    told = bench.told
    return by_thetas(bench, [p.theta for p in told.linear], {"ms": told.linear_ms})


def _taught(**switches: bool | int) -> Choose:
    """The label stage's teacher with switches of the config's section thrown."""
    thrown: Switches = {"teacher": switches} if switches else {}

    def choose(bench: Bench) -> Answers:
        answers = bench.taught(thrown)
        costs = {
            "ms": np.array([decision_ms(a) for a in answers]),
            "llm_calls": np.array([float(a.llm_calls) for a in answers]),
            "tokens": np.array([float(a.tokens) for a in answers]),
        }
        return by_thetas(bench, [a.theta for a in answers], costs)

    return choose


def _prior(bench: Bench) -> Answers:
    return by_thetas(bench, [answer.theta0 for answer in bench.taught({})])


def _cascade(bench: Bench) -> Answers:
    """The teacher's answer where the rule asks it, at the cost of both."""
    student, teacher = _student(bench), _taught()(bench)
    sent = np.array([verdict.ask_teacher for verdict in bench.told.verdicts])
    spent = {name: np.where(sent, cost, 0.0) for name, cost in teacher.costs.items()}
    spent |= {"ms": student.cost("ms") + spent["ms"], "fell_back": sent.astype(np.float64)}
    alphas = np.where(sent, teacher.alphas, student.alphas)
    budgets = np.where(sent, teacher.budgets, student.budgets)
    return split(bench, alphas, budgets, costs=spent)


def _rank_fusion(bench: Bench) -> Answers:
    return listed(bench, rank_fusion(bench.known, bench.budget))


def _bm25(bench: Bench) -> Answers:
    words = Bm25(bench.index.texts)  # not timed, as no row's index is
    start = time.perf_counter()
    scores = words.scores([query.text for query in bench.queries])
    found = ordered(scores, bench.known.targets, bench.budget, "text")
    return listed(bench, found, encodes=False, costs=_spread(bench, start))


def _judged_fusion(bench: Bench) -> Answers:
    start = time.perf_counter()
    weights = judged_weights(bench.known, bench.desk({}).judge)
    paid, costs = np.full((1, len(bench)), float(bench.budget)), _spread(bench, start)
    return split(bench, weights[None], paid, costs=costs, combine="fused", decided=False)


def _spread(bench: Bench, start: float) -> dict[str, Array]:
    """Milliseconds since then, as much for every request."""
    return {"ms": np.full(len(bench), (time.perf_counter() - start) * 1000.0 / len(bench))}


BOTH: tuple[Group, ...] = ("report", "teacher")
RIVAL: tuple[Group, ...] = (*BOTH, "rival")
TODAY: tuple[Group, ...] = (*RIVAL, "today")
PARTS: tuple[Group, ...] = ("ablation",)

ROUTERS: tuple[RouterEntry, ...] = (
    RouterEntry("text_only", "text only", BOTH, _fixed(1.0)),
    RouterEntry("mm_only", "multimodal only", BOTH, _fixed(0.0)),
    RouterEntry("half", "half and half", BOTH, _fixed(0.5)),
    RouterEntry(
        "static_best", "best fixed split", (*TODAY, "reference"), _best_fixed("split"), INK,
        curve=True,
    ),
    RouterEntry("bm25", "BM25", ("peer",), _bm25),
    RouterEntry("dense_text", "dense text", ("peer",), _fixed(1.0)),
    RouterEntry("rrf", "rank fusion (RRF)", (*TODAY, "peer"), _rank_fusion, YELLOW),
    RouterEntry("fusion_half", "linear fusion, half", (*TODAY, "peer"), _fixed(0.5, "fused")),
    RouterEntry(
        "fusion_best", "best fixed linear fusion", (*TODAY, "peer"), _best_fixed("fused"), INK,
        curve=True,
    ),
    RouterEntry("knn", "nearest past requests", (*RIVAL, "peer"), _nearest),
    RouterEntry("judged_fusion", "fusion, weight judged per query", ("peer",), _judged_fusion),
    RouterEntry("linear_student", "linear student", ("report",), _linear, BLUE, curve=True),
    RouterEntry("kind_guessed", "kind guessed", RIVAL, _kind_guessed, GREEN),
    RouterEntry("kind_known", "kind known", (*RIVAL, "reference"), _kind_known, GREEN),
    RouterEntry("prior_only", "prior alone", ("teacher", "rival"), _prior),
    RouterEntry("student", "student", ("report",), _student, RED, curve=True),
    RouterEntry("cascade", "cascade", ("report",), _cascade, VIOLET),
    RouterEntry("teacher", "teacher", BOTH, _taught(), YELLOW, curve=True),
    RouterEntry("random", "random split", (*BOTH, "reference"), _random, MUTED, "v", True),
    RouterEntry(
        "oracle", "oracle (sees the answer)", (*RIVAL, "reference"), _oracle, MUTED, "^", True
    ),
    RouterEntry("full", "full method", PARTS, _taught(), published=(0.4278, 0.1711)),
    RouterEntry(
        "no_routing", "no adaptive routing (.5/.5)", PARTS, _blind(0.5),
        published=(0.3743, 0.1524),
    ),
    RouterEntry(
        "no_start", "no collaborative start", PARTS, _taught(collaborative_start=False),
        published=(0.4171, 0.1684),
    ),
    RouterEntry(
        "no_pseudo_queries", "no pseudo-queries (prior alone)", PARTS, _taught(evidence=0),
        published=(0.3850, 0.1578),
    ),
    RouterEntry(
        "no_memory", "no memory", PARTS, _taught(memory=False), published=(0.3930, 0.1631)
    ),
    RouterEntry(
        "no_augmentation", "no collaborative augmentation", PARTS, _taught(),
        path={"retrieval": {"augmentation": False}}, published=(0.4091, 0.1658),
    ),
    RouterEntry(
        "text_only", "text recall alone", PARTS, _blind(1.0), published=(0.3422, 0.1471)
    ),
    RouterEntry(
        "mm_only", "multimodal recall alone", PARTS, _blind(0.0), published=(0.3155, 0.1390)
    ),
    RouterEntry(
        "no_attribute_filter", "no attribute filtering", PARTS, _taught(),
        path={"reranker": {"attribute_filter": False}}, published=(0.4278, 0.1551),
    ),
    RouterEntry(
        "no_preference_scoring", "no preference scoring", PARTS, _taught(),
        path={"reranker": {"kind": "none"}}, published=(0.4278, 0.1337),
    ),
)  # fmt: skip


def routers(*groups: Group) -> dict[str, RouterEntry]:
    """Routers of a table by name: group after group, each in the order of the registry."""
    return {r.name: r for group in groups for r in ROUTERS if group in r.groups}


def measure(
    bench: Bench, asked: Mapping[str, RouterEntry], metrics: Callable[[RouterEntry], Sequence[str]]
) -> Results:
    """The table of these routers on the bench's requests, with `metrics` of each."""
    frames = []
    with bench.progress.task("routers answer", total=len(asked)) as advance:
        for router in asked.values():
            answers = replace(router.choose(bench), desk=partial(bench.desk, router.path))
            frames.append(rows(router.name, metrics(router), bench.frame["request"], answers))
            advance(1)
    return Results(pl.concat(frames), bench.frame, bench.config.seed)
