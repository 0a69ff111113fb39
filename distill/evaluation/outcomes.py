"""What a router chose for B requests, and what came of it: the record that every metric reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adamroute.distill.evaluation.bench import Bench
from adamroute.distill.evaluation.desk import Desk, Served
from adamroute.distill.evaluation.rankings import Ranking
from adamroute.distill.evaluation.splits import Array, Hits, hits_at
from adamroute.retrieval.ranks import QueryRanks
from adamroute.theta import Combine, Theta

FREE: Mapping[str, Array] = {}


@dataclass(frozen=True, eq=False)
class Answers:
    """One router's answers, D draws where chance decides, else one.

    The served path is asked only where a metric needs it.
    """

    known: QueryRanks
    combine: Combine  # what an alpha means
    alphas: Array  # [D, B]; NaN where none is chosen
    budgets: Array  # [D, B] candidates paid for
    hits: Hits  # [D, B]: whether the wanted item is a routed candidate
    worst_hits: Hits  # with every tie lost
    hits_at: Callable[[int], Hits]  # K to [D, B], the same K for all requests
    serve: Callable[[Desk, int, int], Served]  # the ordered answer of a draw to a request
    costs: Mapping[str, Array]  # fell_back, llm_calls, tokens, ms: [B], where there are any
    desk: Callable[[], Desk]
    encode_ms: Callable[[], Array]  # [B]

    def cost(self, name: str) -> Array:
        """[B] of what deciding took, beside encoding, retrieval and re-ranking."""
        return self.costs.get(name, np.zeros(len(self.known)))

    @cached_property
    def brought(self) -> Hits:
        """[B]: whether the wanted item is among the neighbours' items."""
        pairs = zip(self.known.targets, self.desk().collaborative, strict=True)
        return np.array([target in rows for target, rows in pairs])

    @cached_property
    def served(self) -> list[list[Served]]:
        """D lists of B ordered answers."""
        desk, (draws, count) = self.desk(), self.budgets.shape
        return [[self.serve(desk, d, b) for b in range(count)] for d in range(draws)]

    @property
    def places(self) -> Array:
        """[D, B] places of the wanted item, ties lost; infinite where it is no candidate."""
        return np.array([[s.rank for s in draw] for draw in self.served])

    @property
    def candidates(self) -> Array:
        """[D, B] routed candidates."""
        return np.array([[float(s.candidates) for s in draw] for draw in self.served])

    @property
    def ms(self) -> Array:
        """[B], from encoding to the ordered answer."""
        served = np.array([[s.ms for s in draw] for draw in self.served])
        return np.asarray(self.encode_ms() + self.cost("ms") + served.mean(axis=0))


def split(
    bench: Bench,
    alphas: Array,
    budgets: Array,
    *,
    refitted: Callable[[int], Array] | None = None,
    costs: Mapping[str, Array] = FREE,
    combine: Combine | None = None,
    decided: bool = True,
) -> Answers:
    """A router that chooses alpha: alphas and budgets [D, B].

    `refitted` gives the alphas [B] it would use at another K; without it, it keeps its own. What
    an alpha means is the run's, or `combine`. `decided`: whether alphas say something of their
    requests, so that the re-ranker reads them.
    """
    known, n = bench.known, len(bench.known)
    way = combine or bench.constants.combine

    def at(k: int) -> Hits:
        own = alphas if refitted is None else refitted(k)[None]
        return hits_at(own, np.full(n, float(k)), known.ranks, way)

    def serve(desk: Desk, draw: int, place: int) -> Served:
        theta = Theta(float(alphas[draw, place]), int(budgets[draw, place]))
        return desk.serve(place, theta, way, decided=decided)

    hits = hits_at(alphas, budgets, known.ranks, way)
    worst = hits_at(alphas, budgets, known.worst, way)
    path = (lambda: bench.desk({})), (lambda: bench.encode_ms)
    return Answers(known, way, alphas, budgets, hits, worst, at, serve, costs, *path)


def listed(
    bench: Bench, found: Ranking, *, encodes: bool = True, costs: Mapping[str, Array] = FREE
) -> Answers:
    """A router that orders items by one score: the first K of each list are its candidates.

    `encodes`: whether it needs the query's vectors.
    """
    known, (n, budget) = bench.known, found.lists.shape

    def serve(desk: Desk, _: int, place: int) -> Served:
        return desk.serve_rows(place, found.lists[place], found.origin)

    return Answers(
        known=known,
        combine=bench.constants.combine,
        alphas=np.full((1, n), np.nan),
        budgets=np.full((1, n), float(budget)),
        hits=found.within(budget)[None],
        worst_hits=found.worst[None],
        hits_at=lambda k: found.within(k)[None],
        serve=serve,
        costs=costs,
        desk=lambda: bench.desk({}),
        encode_ms=lambda: bench.encode_ms if encodes else np.zeros(n),
    )
