"""What judged queries are worth: recall with 0, 20, 50, 100 and all train queries.

Each size is drawn several times at random from the train queries; what is fitted on them (the
teacher's constants, intents, linear student) is fitted anew, and asked on another split at equal
budgets. The LoRA student learns from the same labels but trains for minutes, so it is left out.

    python scripts/learning_curve.py --config configs/ikea.yaml --draws 50

Needs a finished `label` of the shop with its queries.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.request import PreferenceProfile
from adamroute.catalogue.shop import SPLITS, Shop, Split
from adamroute.config import Config, load_config
from adamroute.distill.evaluation.splits import FIXED_BUDGETS, hits_at
from adamroute.distill.labels.assemble import assemble
from adamroute.distill.labels.basis import Basis, fit_constants
from adamroute.hardware import machine
from adamroute.pipeline import RANKS
from adamroute.process import prepare_process
from adamroute.retrieval.ranks import QueryRanks, load_ranks
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.student import RoutingInput
from adamroute.stages import commit
from adamroute.teacher.intent_model import KnownIntents
from adamroute.teacher.paraphrase import VERBATIM
from adamroute.teacher.phrases import phrases
from adamroute.theta import Combine
from adamroute.training.linear_fit import fit_linear

SIZES = (0, 20, 50, 100)
Array = NDArray[np.float64]


class Curve:
    """One shop, its written and logged requests, and the queries asked."""

    def __init__(self, config: Config, asked: Split) -> None:
        self.config, self.shop = config, open_shop(config)
        self.index: SearchIndex = load_index(config.stage("index"))
        ranks = RANKS.path(config)
        self.written = synthetic_queries(self.shop, ranks)
        self.templates = load_ranks(ranks, self.written)
        self.logged, self.test = self.shop.split("train"), self.shop.split(asked)
        self.outcomes, self.known = load_ranks(ranks, self.logged), load_ranks(ranks, self.test)
        said = phrases()
        self.anywhere = KnownIntents(
            self.index.text_encoder.encode([text for text, _ in said]), [kind for _, kind in said]
        )

    def recall(self, rows: NDArray[np.int64]) -> tuple[float, float]:
        """Prior and linear student, fitted on the logged queries of these rows."""
        chosen = np.zeros(len(self.logged), np.bool_)
        chosen[rows] = True
        outcomes, logged = self.outcomes.take(chosen), tuple(self.logged[r] for r in rows)
        shop: Shop = replace(self.shop, queries=logged)
        constants, intents = fit_constants(
            self.config, shop, self.templates, outcomes, self.anywhere
        )
        basis = Basis(logged, outcomes, self.written, self.templates, intents, constants, VERBATIM)
        bins, lam, known = constants.bins, constants.lam, self.known
        prior = [
            intents.prior(kinds).theta(bins, lam, constants.leaning).alpha
            for kinds in intents.kinds(known.text_vectors)
        ]
        labels = assemble(self.config.labels, shop, self.index, basis, ())
        vectors = np.concatenate([outcomes.text_vectors, self.templates.text_vectors])
        users = [row.user_id for row in labels.rows]
        weights = np.array([row.weight for row in labels.rows])
        student = fit_linear(
            vectors, labels.soft, weights, users, bins, reach=constants.leaning.reach
        ).student
        asked = [RoutingInput("", PreferenceProfile(), vector) for vector in known.text_vectors]
        said = [answer.theta.alpha for answer in student.predict(asked)]
        return _recall(known, prior, bins.combine), _recall(known, said, bins.combine)


def _recall(known: QueryRanks, alphas: list[float], combine: Combine) -> float:
    hits = [
        hits_at(np.array(alphas), np.full(len(known), float(k)), known.ranks, combine).mean()
        for k in FIXED_BUDGETS
    ]
    return float(np.mean(hits))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--asked", choices=SPLITS[1:], default="test")
    options = parser.parse_args()
    config = load_config(options.config)
    prepare_process(config.threads)
    curve = Curve(config, options.asked)
    print(f"command: {' '.join(sys.argv)}\nhardware: {machine()}\ncommit: {commit()}")
    print(f"linear fusion, half: {_recall(curve.known, [0.5] * len(curve.known), 'fused'):.4f}")
    rng = np.random.default_rng(options.seed)
    for size in (*SIZES, len(curve.logged)):
        draws = options.draws if 0 < size < len(curve.logged) else 1
        found = np.array(
            [
                curve.recall(np.sort(rng.permutation(len(curve.logged))[:size]))
                for _ in range(draws)
            ]
        )
        low, high = np.quantile(found, [0.05, 0.95], axis=0)
        print(
            f"{size:4d} judged, {draws} draws: prior {found[:, 0].mean():.4f} "
            f"[{low[0]:.4f}, {high[0]:.4f}], linear student {found[:, 1].mean():.4f} "
            f"[{low[1]:.4f}, {high[1]:.4f}]"
        )


if __name__ == "__main__":
    main()
