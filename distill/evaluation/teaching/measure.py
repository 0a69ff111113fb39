"""The teacher on requests with a known outcome, beside what any router must be held against.

Depends on the teacher's answers and on the label stage's files alone, not on how it thinks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_teacher
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.baselines import hits_at
from adamroute.distill.evaluation.outcomes import Choice, baseline_choices, chosen
from adamroute.distill.evaluation.schema import FIXED_BUDGETS
from adamroute.distill.evaluation.teaching.schema import ROWS, RowName
from adamroute.distill.labels.label import TRACES_FILE
from adamroute.progress import Progress
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import regret
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.constants import REPLIES_FILE
from adamroute.teacher.loop import CHUNK
from adamroute.theta import Theta

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of wanted items: of pseudo-queries, and of real train queries."""

    pseudo_text: Array  # [P]
    pseudo_mm: Array
    real_text: Array  # [R]
    real_mm: Array


@dataclass(frozen=True, eq=False)
class Taught:
    """What the page is made from, one entry a request."""

    queries: tuple[Query, ...]
    answers: tuple[TeacherAnswer, ...]
    liked: NDArray[np.int64]  # [B] positives of the history, without the request's own target
    at_k: Mapping[RowName, Array]  # [B, 3], recall at FIXED_BUDGETS
    recall: Array  # [B], by the teacher's own theta
    regrets: Array  # [B], routing regret of the teacher's theta
    ranks: Ranks


@dataclass(frozen=True, eq=False)
class Scene:
    """Requests to ask, and those that static alpha and kinds are fitted on."""

    asked: tuple[Query, ...]
    known: QueryRanks  # of `asked`
    fit: QueryRanks  # train and calibration
    train: QueryRanks


def measure_teacher(
    config: Config, shop: Shop, index: SearchIndex, scene: Scene, progress: Progress
) -> Taught:
    """Ask the label stage's teacher, and replay its and the baselines' alphas on the ranks."""
    requests = [shop.request(query) for query in scene.asked]
    teacher = load_teacher(config.stage("labels"), index, config, config.out / REPLIES_FILE)
    answers: list[TeacherAnswer] = []
    with progress.task("teacher answers", len(requests)) as advance:
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            answers += teacher.decide_many(chunk)
            advance(len(chunk))
    known = scene.known
    budget = min(config.routing.mean_budget, config.routing.tau, len(index.ids))
    own = _choice([answer.theta for answer in answers])
    choices: dict[RowName, Choice] = {
        **_baselines(scene.fit, known, budget, config.seed),
        "teacher": own,
        "prior_only": _choice([answer.theta0 for answer in answers]),
    }
    thetas = (answer.theta for answer in answers)
    return Taught(
        queries=scene.asked,
        answers=tuple(answers),
        liked=np.array([sum(x.positive for x in r.history) for r in requests], np.int64),
        at_k={name: _at_k(choices[name], known) for name in ROWS},
        recall=hits_at(own.alphas, own.budgets, known.text, known.mm).mean(axis=0),
        regrets=np.array([regret(*row) for row in zip(known.text, known.mm, thetas, strict=True)]),
        ranks=_ranks(config.stage("labels"), scene.train),
    )


def pool_taught(parts: Sequence[Taught]) -> Taught:
    """Several folds as one."""
    ranks = Ranks(
        **{
            f.name: np.concatenate([getattr(part.ranks, f.name) for part in parts])
            for f in fields(Ranks)
        }
    )
    return Taught(
        queries=tuple(q for part in parts for q in part.queries),
        answers=tuple(a for part in parts for a in part.answers),
        liked=np.concatenate([part.liked for part in parts]),
        at_k={name: np.concatenate([part.at_k[name] for part in parts]) for name in ROWS},
        recall=np.concatenate([part.recall for part in parts]),
        regrets=np.concatenate([part.regrets for part in parts]),
        ranks=ranks,
    )


def ks_distance(one: Array, other: Array) -> float:
    """Kolmogorov-Smirnov distance of two samples, each with at least one value."""
    grid = np.concatenate([one, other])
    gaps = [np.searchsorted(np.sort(a), grid, side="right") / len(a) for a in (one, other)]
    return float(np.abs(gaps[0] - gaps[1]).max())


def _baselines(
    fit: QueryRanks, known: QueryRanks, budget: int, seed: int
) -> dict[RowName, Choice]:
    found = baseline_choices(fit, known, budget, np.random.default_rng(seed))
    return {row: choice for name, choice in found.items() for row in ROWS if row == name}


def _choice(thetas: Sequence[Theta]) -> Choice:
    return chosen(np.array([t.alpha for t in thetas]), np.array([float(t.budget) for t in thetas]))


def _at_k(choice: Choice, known: QueryRanks) -> Array:
    hits = [
        hits_at(choice.fixed[k], np.full(len(known), float(k)), known.text, known.mm)
        for k in FIXED_BUDGETS
    ]
    return np.stack([h.mean(axis=0) for h in hits], axis=1)


def _ranks(labels: Path, train: QueryRanks) -> Ranks:
    """Pseudo-queries of the last labelling round, and the train queries they stand for."""
    pairs = np.array(list(_last_round(labels / TRACES_FILE)), np.int64).reshape(-1, 2)
    text, mm = pairs.astype(np.float64).T
    return Ranks(text, mm, train.text.astype(np.float64), train.mm.astype(np.float64))


def _last_round(traces: Path) -> Iterator[tuple[int, int]]:
    lines = traces.read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line) for line in lines]
    last = max((step["round"] for step in steps), default=0)
    for step in steps:
        if step["round"] == last and step["text_rank"] is not None:
            yield step["text_rank"], step["mm_rank"]
