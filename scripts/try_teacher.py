"""What makes a teacher's prior transfer: the tries of EXPERIMENTS.md, by replay, five folds.

    python scripts/try_teacher.py --config configs/ikea.yaml

Needs a finished build and label stage. Every variant chooses one alpha a query without that user's
outcomes; printed is recall, mean of K = 20, 40, 100, over the best fixed split, with a paired
bootstrap over users. Also: does evidence say anything that the kind of the query doesn't?
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge

from adamroute.assembly import load_index, load_teacher
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.folds import refold
from adamroute.catalogue.item_words import INTENTS, catalogue_words
from adamroute.catalogue.shop import Shop
from adamroute.config import FoldConfig, load_config
from adamroute.distill.labels.synthetic import synthetic_requests
from adamroute.hardware import machine
from adamroute.process import prepare_process
from adamroute.retrieval.ranks import QueryRanks, rank_queries
from adamroute.retrieval.replay import price, recall_surfaces, recalled, solve_price
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import commit
from adamroute.stats import bootstrap_means, interval
from adamroute.teacher.belief import alpha_votes
from adamroute.teacher.difficulty import Difficulty, match_factor
from adamroute.theta import ALPHAS, Bins, Theta

BUDGETS = (20, 40, 100)
FOLDS = 5
PENALTIES = (0.1, 1.0, 3.0, 10.0, 100.0)  # sklearn's C of the composition classifier
STRENGTHS = (160.0, 40.0, 20.0, 10.0, 5.0)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Real and synthetic queries against one index."""

    real: QueryRanks
    synthetic: QueryRanks
    kinds: NDArray[np.str_]  # of synthetic requests
    stated: NDArray[np.str_]  # of real ones: for kind_known alone
    users: tuple[str, ...]
    hits: Array  # [R, A, 3], whether each alpha recalls at each budget
    bins: Bins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, required=True)
    options = parser.parse_args()
    config = load_config(options.config)
    prepare_process(config.threads)
    shop = read_shop(config.shop)
    index = load_index(config.stage("index"))
    print(f"command: {' '.join(sys.argv)}\nhardware: {machine()}\ncommit: {commit()}")
    world = observe_all(shop, index, config.routing.tau, config.labels.synthetic_requests)
    teacher = load_teacher(config.stage("labels"), index, config)
    answers = teacher.decide_many([shop.request(q) for q in shop.queries])
    evidence = [(a.text_ranks, a.mm_ranks) for a in answers]
    report(world, choose(shop, world, evidence))
    residual(world, evidence)


def observe_all(shop: Shop, index: SearchIndex, tau: int, synthetic: int) -> World:
    words = catalogue_words(index.titles, index.texts, index.categories, index.visual)
    made = synthetic_requests(index.ids, words, count=synthetic, seed=0, split_items=False)
    real = rank_queries(index, shop.queries, 1)
    table = [[_hits(real, Theta(a, k)) for k in BUDGETS] for a in ALPHAS]
    return World(
        real=real,
        synthetic=rank_queries(index, made, 1),
        kinds=np.array([q.kind for q in made]),
        stated=np.array([q.kind or "" for q in shop.queries]),
        users=tuple(q.user_id for q in shop.queries),
        hits=np.stack([np.stack(row, axis=-1) for row in table], axis=1),
        bins=Bins(min(tau, len(index))),
    )


def choose(
    shop: Shop, world: World, evidence: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> dict[str, Array]:
    """Recall of every variant on every real query, each query chosen for in its own test fold."""
    won: dict[str, Array] = {}
    for number in range(FOLDS):
        splits = np.array(
            [q.split for q in refold(shop, FoldConfig(of=FOLDS, number=number)).queries]
        )
        test, train = splits == "test", splits == "train"
        for name, alphas in variants(world, train, splits != "test", evidence).items():
            kept = won.setdefault(name, np.zeros(len(world.users)))
            rows = np.arange(len(kept))[:, None]
            kept[test] = world.hits[rows, alphas, np.arange(3)].mean(axis=1)[test]
    return won


def variants(
    world: World,
    train: NDArray[np.bool_],
    known: NDArray[np.bool_],
    evidence: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> dict[str, NDArray[np.int64]]:
    """Alpha bin of every query at every budget, [R, 3], by every variant."""
    real, made, bins = world.real, world.synthetic, world.bins
    own = recall_surfaces(real.text, real.mm, bins)
    lam = solve_price(own[train], bins, 40.0)
    difficulty = Difficulty(
        match_factor(made.text, real.text[train]),
        match_factor(made.mm, real.mm[train]),
    )
    matched = recall_surfaces(*difficulty.matched(made.text, made.mm), bins)
    raw = recall_surfaces(made.text, made.mm, bins)
    votes = partial(alpha_votes, bins=bins, lam=lam)
    chosen: dict[str, NDArray[np.int64]] = {}

    def put(name: str, scores: Array) -> None:
        chosen[name] = np.repeat(scores.argmax(axis=1)[:, None], 3, axis=1)

    count = len(world.users)
    chosen["static_best"] = np.tile(world.hits[known].mean(axis=0).argmax(axis=0), (count, 1))
    of_kind = {
        k: world.hits[known & (world.stated == k)].mean(axis=0).argmax(axis=0) for k in INTENTS
    }
    chosen["kind_known"] = np.stack([of_kind[k] for k in world.stated])
    chosen["oracle"] = world.hits.argmax(axis=1)
    for penalty in PENALTIES:
        share = _kinds(world, penalty)
        put(f"votes, matched ranks, C {penalty:g}", share @ _by_kind(world, votes(matched)))
    share = _kinds(world, 1.0)
    surface = np.tensordot(share, _by_kind(world, matched), axes=1) - price(bins, lam)
    put("mean surface, matched ranks", surface.max(axis=2))
    put("votes, raw ranks", share @ _by_kind(world, votes(raw)))
    outcome = np.stack([np.average(votes(own)[train], axis=0, weights=w) for w in share[train].T])
    put("votes of train outcomes by guessed kind", share @ outcome)
    ridge = Ridge(1.0).fit(real.text_vectors[train], votes(own)[train])
    put("ridge from the query's vector, train outcomes", ridge.predict(real.text_vectors))
    prior = share @ _by_kind(world, votes(matched))
    for strength in STRENGTHS:
        put(
            f"votes and evidence, prior worth {strength:g}",
            _with(prior, evidence, votes, bins, strength),
        )
    return chosen


def report(world: World, won: Mapping[str, Array]) -> None:
    base = won["static_best"]
    for name, recall in won.items():
        gain = recall - base
        low, high = interval(bootstrap_means(gain, world.users, seed=0))
        print(f"{name:48s} {recall.mean():.4f}  {gain.mean():+.4f} [{low:+.4f}, {high:+.4f}]")


def residual(world: World, evidence: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
    """Correlation of evidence with the target, in log-rank difference between branches."""
    has = np.array([bool(text) for text, _ in evidence])
    seen = np.array([np.mean(np.log(t) - np.log(m)) if t else 0.0 for t, m in evidence])
    target = np.log(world.real.text) - np.log(world.real.mm)
    share = _kinds(world, 1.0)
    seen, target = (x - share @ np.linalg.lstsq(share[has], x[has])[0] for x in (seen, target))
    r = float(np.corrcoef(seen[has], target[has])[0, 1])
    print(f"evidence against target, log-rank difference given kind: r = {r:+.3f} ({has.sum()})")


def _with(
    prior: Array,
    evidence: list[tuple[tuple[int, ...], tuple[int, ...]]],
    votes: Callable[[Array], Array],
    bins: Bins,
    strength: float,
) -> Array:
    rows = []
    for held, (text, mm) in zip(prior, evidence, strict=True):
        own = votes(recall_surfaces(np.array(text, np.int64), np.array(mm, np.int64), bins))
        rows.append((strength * held + own.sum(axis=0)) / (strength + len(text)))
    return np.stack(rows)


def _hits(real: QueryRanks, theta: Theta) -> Array:
    return recalled(real.text, real.mm, theta).astype(np.float64)


def _kinds(world: World, penalty: float) -> Array:
    """P(kind | q) of real queries, [R, 3], kinds in sorted order."""
    model = LogisticRegression(C=penalty, max_iter=1000)
    model.fit(world.synthetic.text_vectors, world.kinds)
    return np.asarray(model.predict_proba(world.real.text_vectors))


def _by_kind(world: World, rows: Array) -> Array:
    return np.stack([rows[world.kinds == kind].mean(axis=0) for kind in sorted(set(world.kinds))])


if __name__ == "__main__":
    main()
