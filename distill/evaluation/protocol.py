"""`adamroute protocol`: protocol.json and protocol.md, with the published numbers beside ours.

A shop with queries is measured by exact id over its whole catalogue, a shop without by the
query-free task. Rows that were fitted on logged queries are measured on the test split alone; the
published figures are of all queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.distill.evaluation.metrics import placed
from adamroute.distill.evaluation.pages import template
from adamroute.distill.evaluation.rankers import (
    Contender,
    FinishedParts,
    Ranker,
    contenders,
    load_parts,
    place,
    with_wishes,
)
from adamroute.distill.evaluation.ranking_tasks import (
    RankingTask,
    exact_tasks,
    query_free_tasks,
)
from adamroute.distill.evaluation.schema import Closed
from adamroute.distill.evaluation.splits import Array
from adamroute.errors import ArtifactError, ConfigError
from adamroute.pipeline import PROTOCOL
from adamroute.progress import Progress
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, commit, write_text

TRIALS = 5
JSON_FILE, MD_FILE = "protocol.json", "protocol.md"
PUBLISHED_OF = ("hr@20", "hr@40", "ndcg@20", "ndcg@40")
# AdaM-Rec's own figures (DESIGN, section 1), in the order of PUBLISHED_OF
PUBLISHED: Mapping[str, tuple[float, float, float, float]] = {
    "amazon-beauty": (0.1711, 0.2193, 0.0979, 0.1077),
    "amazon-clothing": (0.1108, 0.1468, 0.0574, 0.0648),
    "amazon-music": (0.1501, 0.1629, 0.1063, 0.1089),
    "msr-video-games": (0.0967, 0.1267, 0.0422, 0.0484),
    "msr-baby": (0.0702, 0.1138, 0.0264, 0.0351),
}


class ProtocolRow(Closed):
    """One way of ranking: the median over its trials, and each trial."""

    median: dict[str, float]
    trials: tuple[dict[str, float], ...]  # one where nothing depends on the seed


class ProtocolTable(Closed):
    """All rows on one set of requests."""

    requests: str  # which they are
    n: int
    wordless: int  # of them, without a query and without a known wish: they find nothing
    rows: dict[str, ProtocolRow]


class ProtocolReport(Closed):
    """The whole of protocol.json."""

    format: Literal[1] = 1
    protocol: Literal["exact-id", "query-free"]
    shop: str
    items: int
    seed: int
    budget: int  # K of the fixed rows
    commit: str
    published: dict[str, float] | None
    tables: tuple[ProtocolTable, ...]
    counts: dict[str, int]  # of the query-free task
    left_out: dict[str, str]  # stages that are not finished, so rows that are missing


@dataclass(frozen=True)
class Wanted:
    """Requests with what each should find."""

    name: str
    tasks: tuple[RankingTask, ...]
    fitted: bool  # whether fitted rows may be measured on them


def run_protocol(
    config: Config, progress: Progress, *, trials: int = TRIALS, out: Path | None = None
) -> Path:
    """Measure, write both files, and return the path of protocol.md."""
    if trials < 1:
        raise ConfigError(f"protocol: --trials {trials}, wanted at least 1")
    shop, parts = open_shop(config), load_parts(config)
    _check_same_items(config, parts, shop)
    sets, counts = _exact(shop) if shop.queries else _query_free(shop, config.seed)
    seeds = range(config.seed, config.seed + trials)
    published = PUBLISHED.get(shop.name)
    report = ProtocolReport(
        protocol="exact-id" if shop.queries else "query-free",
        shop=shop.name,
        items=len(shop.catalogue),
        seed=config.seed,
        budget=parts.tau,
        commit=commit(),
        published=dict(zip(PUBLISHED_OF, published, strict=True)) if published else None,
        tables=tuple(t for one in sets for t in tables(parts, one, seeds, progress)),
        counts=dict(counts),
        left_out=dict(parts.left_out),
    )

    def make(folder: Path) -> Counts:
        write_text(folder / JSON_FILE, report.model_dump_json(indent=2) + "\n")
        write_text(folder / MD_FILE, page(report))
        return counts

    if out is None:
        PROTOCOL.run(config, lambda work: make(work.folder), options={"trials": trials}, anew=True)
    else:  # a folder of the user's may hold other files, and a manifest of theirs
        out.mkdir(parents=True, exist_ok=True)
        make(out)
    return (out or PROTOCOL.path(config)) / MD_FILE


def _check_same_items(config: Config, parts: FinishedParts, shop: Shop) -> None:
    """ArtifactError where the index would answer for another catalogue."""
    if parts.index.ids != tuple(item.item_id for item in shop.catalogue.items):
        raise ArtifactError(
            f"{config.stage('index')}: holds {len(parts.index.ids)} items, the shop {shop.folder} "
            f"has {len(shop.catalogue)} others. Run again: adamroute build CONFIG"
        )


def page(report: ProtocolReport) -> str:
    """protocol.md"""
    return template("protocol.md.j2").render(report=report, names=tuple(placed()))


def _exact(shop: Shop) -> tuple[list[Wanted], dict[str, int]]:
    sets = [
        Wanted("all queries", exact_tasks(shop, shop.queries), fitted=False),
        Wanted("queries of the test split", exact_tasks(shop, shop.split("test")), fitted=True),
    ]
    return [one for one in sets if one.tasks], {}


def _query_free(shop: Shop, seed: int) -> tuple[list[Wanted], dict[str, int]]:
    tasks, counts = query_free_tasks(shop, seed=seed)
    return [Wanted("last positive against sampled items", tasks, fitted=True)], counts


def tables(
    parts: FinishedParts, wanted: Wanted, seeds: Sequence[int], progress: Progress
) -> list[ProtocolTable]:
    """One table, and another with repeated rows counted where there are any."""
    requests = with_wishes(parts.index, [task.request for task in wanted.tasks])
    rows = contenders(parts, requests, fitted=wanted.fitted)
    tasks = [replace(t, request=r) for t, r in zip(wanted.tasks, requests, strict=True)]
    places: dict[str, list[Array]] = {}
    with progress.task(wanted.name, len(rows)) as advance:
        for name, contender in rows.items():
            places[name] = _trials(contender, tasks, seeds, parts.index)
            advance(1)
    copies = np.array([task.copies for task in tasks])
    silent = np.array([not request.query for request in requests])

    def table(name: str, copies: NDArray[np.int64]) -> ProtocolTable:
        return ProtocolTable(
            requests=name,
            n=int(copies.sum()),
            wordless=int(copies[silent].sum()),
            rows={key: protocol_row(trials, copies) for key, trials in places.items()},
        )

    once = table(wanted.name, np.ones_like(copies))
    if (copies == 1).all():
        return [once]
    return [once, table(f"{wanted.name}, repeated rows counted", copies)]


def _trials(
    contender: Contender, tasks: Sequence[RankingTask], seeds: Sequence[int], index: SearchIndex
) -> list[Array]:
    """[B] places of each trial; one where nothing depends on the seed."""

    def found(ranker: Ranker, task: RankingTask) -> float:
        if not task.request.query:  # nobody knows what is asked
            return float("inf")
        return place(ranker(task.request, task.rows), index.row(task.target_id))

    rankers = [contender.make(seed) for seed in (seeds if contender.seeded else seeds[:1])]
    return [np.array([found(ranker, task) for task in tasks]) for ranker in rankers]


def protocol_row(trials: Sequence[Array], copies: NDArray[np.int64]) -> ProtocolRow:
    """Metrics of the places [B] of every trial, and the median of each, to six places.

    `copies` [B] counts a request as often as its row stands in the file.
    """
    found = [
        {name: float(of(np.repeat(places, copies)).mean()) for name, of in placed().items()}
        for places in trials
    ]
    median = {name: float(np.median([one[name] for one in found])) for name in found[0]}
    return ProtocolRow(median=_rounded(median), trials=tuple(map(_rounded, found)))


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in values.items()}
