"""`adamroute protocol`: protocol.json and protocol.md, with the published numbers beside ours.

A shop with queries is measured by exact id over its whole catalogue, a shop without by the
query-free task. Rows that were fitted on logged queries are measured on the test split alone; the
published figures are of all queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.distill.evaluation.protocols.contenders import (
    Contender,
    Run,
    contenders,
    load_run,
    with_wishes,
)
from adamroute.distill.evaluation.protocols.exact import asked_queries, repeats
from adamroute.distill.evaluation.protocols.query_free import choices
from adamroute.distill.evaluation.protocols.ranks import Array, Measures, measures, median
from adamroute.distill.evaluation.schema import Part
from adamroute.errors import ArtifactError, ConfigError
from adamroute.pipeline import PROTOCOL
from adamroute.progress import Progress
from adamroute.stages import Counts, commit, write_text

TRIALS = 5
JSON_FILE, MD_FILE = "protocol.json", "protocol.md"
NAMES = ("hr@20", "hr@40", "ndcg@20", "ndcg@40")
# AdaM-Rec's own figures (DESIGN, section 1), in the order of NAMES
PUBLISHED: Mapping[str, tuple[float, float, float, float]] = {
    "amazon-beauty": (0.1711, 0.2193, 0.0979, 0.1077),
    "amazon-clothing": (0.1108, 0.1468, 0.0574, 0.0648),
    "amazon-music": (0.1501, 0.1629, 0.1063, 0.1089),
    "msr-video-games": (0.0967, 0.1267, 0.0422, 0.0484),
    "msr-baby": (0.0702, 0.1138, 0.0264, 0.0351),
}


class ProtocolRow(Part):
    """One way of ranking: the median over its trials, and each trial."""

    median: dict[str, float]
    trials: tuple[dict[str, float], ...]  # one where nothing depends on the seed


class ProtocolTable(Part):
    """All rows on one set of requests."""

    requests: str  # which they are
    n: int
    wordless: int  # of them, without a query and without a known wish: they find nothing
    rows: dict[str, ProtocolRow]


class ProtocolReport(Part):
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
    requests: tuple[Request, ...]
    targets: tuple[str, ...]
    among: tuple[NDArray[np.int64] | None, ...]
    copies: NDArray[np.int64]
    fitted: bool  # whether fitted rows may be measured on them


def run_protocol(
    config: Config, progress: Progress, *, trials: int = TRIALS, out: Path | None = None
) -> Path:
    """Measure, write both files, and return the path of protocol.md."""
    if trials < 1:
        raise ConfigError(f"protocol: --trials {trials}, wanted at least 1")
    shop, run = open_shop(config), load_run(config)
    _check_same_items(config, run, shop)
    sets, counts = _exact(shop) if shop.queries else _query_free(shop, config.seed)
    seeds = range(config.seed, config.seed + trials)
    published = PUBLISHED.get(shop.name)
    report = ProtocolReport(
        protocol="exact-id" if shop.queries else "query-free",
        shop=shop.name,
        items=len(shop.catalogue),
        seed=config.seed,
        budget=run.tau,
        commit=commit(),
        published=dict(zip(NAMES, published, strict=True)) if published else None,
        tables=tuple(t for one in sets for t in tables(run, one, seeds, progress)),
        counts=dict(counts),
        left_out=dict(run.left_out),
    )
    folder = out or PROTOCOL.path(config)

    def make(folder: Path) -> Counts:
        write_text(folder / JSON_FILE, report.model_dump_json(indent=2) + "\n")
        write_text(folder / MD_FILE, page(report))
        return counts

    if out is None:
        PROTOCOL.run(config, lambda work: make(work.folder), options={"trials": trials}, anew=True)
    else:  # a folder of the user's may hold other files, and a manifest of theirs
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
    return folder / MD_FILE


def _check_same_items(config: Config, run: Run, shop: Shop) -> None:
    """ArtifactError where the index would answer for another catalogue."""
    if run.index.ids != tuple(item.item_id for item in shop.catalogue.items):
        raise ArtifactError(
            f"{config.stage('index')}: holds {len(run.index.ids)} items, the shop {shop.folder} "
            f"has {len(shop.catalogue)} others. Run again: adamroute build CONFIG"
        )


def page(report: ProtocolReport) -> str:
    """protocol.md."""
    lines = [
        f"# {report.shop}: {report.protocol}, {report.items:,} items, K = {report.budget}",
        "",
    ]
    if report.published:
        lines += [
            "The published figures are of the authors' own catalogue, models and test set.",
            "",
        ]
    for table in report.tables:
        lines += [f"## {table.requests} (n = {table.n:,})", "", _line("", NAMES)]
        lines += [_line("---", ["---"] * len(NAMES))]
        if report.published:
            lines += [_line("AdaM-Rec as published", _figures(report.published))]
        lines += [_line(name, _figures(row.median)) for name, row in table.rows.items()]
        trials = max(len(row.trials) for row in table.rows.values())
        if trials > 1:
            lines += ["", f"Medians of {trials} trials for rows that chance has a part in."]
        if table.wordless:
            lines += ["", f"{table.wordless:,} had neither words nor a known wish: all missed."]
        lines += [""]
    if report.counts:
        told = ", ".join(f"{name} {count:,}" for name, count in report.counts.items())
        lines += [f"Counted: {told}.", ""]
    lines += [f"Left out, {name}: {why}" for name, why in report.left_out.items()]
    return "\n".join(lines).rstrip() + "\n"


def _line(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | " + " | ".join(cells) + " |"


def _figures(values: Mapping[str, float]) -> list[str]:
    return [f"{values[name]:.4f}" for name in NAMES]


def _exact(shop: Shop) -> tuple[list[Wanted], dict[str, int]]:
    sets = []
    for name, queries, fitted in (
        ("all queries", shop.queries, False),
        ("queries of the test split", shop.split("test"), True),
    ):
        asked = asked_queries(shop, queries)
        sets.append(
            Wanted(
                name=name,
                requests=tuple(one.request for one in asked),
                targets=tuple(one.query.target_id for one in asked),
                among=(None,) * len(asked),
                copies=repeats(asked),
                fitted=fitted,
            )
        )
    return [one for one in sets if one.requests], {}


def _query_free(shop: Shop, seed: int) -> tuple[list[Wanted], Mapping[str, int]]:
    made = choices(shop, seed=seed)
    wanted = Wanted(
        name="last positive against sampled items",
        requests=tuple(task.request for task in made.tasks),
        targets=tuple(task.target_id for task in made.tasks),
        among=tuple(task.rows for task in made.tasks),
        copies=np.ones(len(made.tasks), np.int64),
        fitted=True,
    )
    return [wanted], made.counts


def tables(
    run: Run, wanted: Wanted, seeds: Sequence[int], progress: Progress
) -> list[ProtocolTable]:
    """One table, and another with repeated rows counted where there are any."""
    requests = with_wishes(run, wanted.requests)
    rows = contenders(run, requests, fitted=wanted.fitted)
    ranks: dict[str, list[Array]] = {}
    with progress.task(wanted.name, len(rows)) as advance:
        for name, contender in rows.items():
            ranks[name] = _trials(contender, wanted, requests, seeds)
            advance(1)
    silent = np.array([not request.query for request in requests])
    once = _table(wanted.name, ranks, np.ones_like(wanted.copies), silent)
    if (wanted.copies == 1).all():
        return [once]
    name = f"{wanted.name}, repeated rows counted"
    return [once, _table(name, ranks, wanted.copies, silent)]


def _trials(
    contender: Contender, wanted: Wanted, requests: Sequence[Request], seeds: Sequence[int]
) -> list[Array]:
    """[B] ranks of each trial; one where nothing depends on the seed."""
    trials = []
    for seed in seeds if contender.seeded else seeds[:1]:
        ranker = contender.make(seed)
        asked = zip(requests, wanted.targets, wanted.among, strict=True)
        trials.append(np.array([ranker.rank(r, among).rank(t) for r, t, among in asked]))
    return trials


def _table(
    name: str,
    ranks: Mapping[str, list[Array]],
    copies: NDArray[np.int64],
    silent: NDArray[np.bool_],
) -> ProtocolTable:
    def row(trials: list[Array]) -> ProtocolRow:
        found: list[Measures] = [measures(trial, copies) for trial in trials]
        return ProtocolRow(
            median=median(found).spoken(), trials=tuple(one.spoken() for one in found)
        )

    return ProtocolTable(
        requests=name,
        n=int(copies.sum()),
        wordless=int(copies[silent].sum()),
        rows={key: row(trials) for key, trials in ranks.items()},
    )
