"""`adamroute ablate CONFIG`: one table of the method's parts and its peers, and a static sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adamroute.assembly import load_index
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.config import Config, load_config
from adamroute.distill.evaluation.bench import Bench, open_bench
from adamroute.distill.evaluation.metrics import AT_FIXED, COSTS, METRICS, compared
from adamroute.distill.evaluation.pages import ablation_page
from adamroute.distill.evaluation.pictures import draw_sweep
from adamroute.distill.evaluation.routers import RouterEntry, by_thetas, measure, routers
from adamroute.distill.evaluation.schema import ABLATED, Ablation, OtherRun, ReportRow
from adamroute.distill.evaluation.splits import Array, static_alpha
from adamroute.distill.evaluation.summary import ablation_row, spoken
from adamroute.distill.evaluation.table import RESULTS, Results
from adamroute.errors import ArtifactError, ConfigError
from adamroute.pipeline import ABLATION
from adamroute.progress import Progress
from adamroute.stages import Counts, Work, commit, write_text
from adamroute.theta import ALPHAS, Bins, Theta

ABLATION_JSON, ABLATION_MD, SWEEP = "ablation.json", "ablation.md", "static_sweep.png"
COMPARED = ("full", "static_best")  # what is measured of other runs
SWEPT = ("recall", "ndcg@20")  # metrics of every fixed theta


@dataclass(frozen=True, eq=False)
class Other:
    """A run that the config lists beside this one."""

    path: Path
    config: Config
    bench: Bench | None  # None where it is not built


def run_ablate(
    config: Config,
    progress: Progress,
    *,
    out: Path | None = None,
    command: str = "adamroute ablate CONFIG",
) -> Path:
    """Measure every row anew and return the path of ablation.md, in ablation/ or `out`.

    Needs a finished build, label and train. Runs that the config lists beside it are read where
    they are built, and named with what to run where they are not.
    """
    stage = ABLATION.at(out or ABLATION.path(config))

    def make(work: Work) -> Counts:
        bench = set_bench(config, progress)
        listed = config.ablation
        encoders, policies = (
            _others(bench, paths, progress) for paths in (listed.encoders, listed.policies)
        )
        table = measure(bench, routers(*ABLATED), ablation_metrics)
        report = build_ablation(bench, table, encoders, policies)
        write_text(work.folder / ABLATION_JSON, report.model_dump_json(indent=2) + "\n")
        table.rows.write_parquet(work.folder / RESULTS)
        draw_sweep(report, work.folder / SWEEP)
        write_text(work.folder / ABLATION_MD, ablation_page(report, command))
        return {"requests": len(table)}

    stage.run(config, make, anew=True)
    return stage.path(config) / ABLATION_MD


def set_bench(config: Config, progress: Progress) -> Bench:
    """A finished run: index, labels and re-ranker. ArtifactError where one is missing."""
    shop = open_shop(config)
    index = load_index(config.stage("index"))
    asked = known_queries(shop, config.stage("ranks"), "test")
    bench = open_bench(config, shop, index, asked, verb="ablate", progress=progress)
    bench.desk({})  # opens the other parts, before any long work
    return bench


def ablation_metrics(router: RouterEntry) -> tuple[str, ...]:  # noqa: ARG001
    """What the table needs to know of every router."""
    return (*compared(), *AT_FIXED, *COSTS)


def build_ablation(
    bench: Bench, table: Results, encoders: Sequence[Other], policies: Sequence[Other]
) -> Ablation:
    """ablation.json as a value."""
    full = table.values("full", *compared())
    return Ablation(
        shop=bench.shop.name,
        queries="test split",
        n_queries=len(table),
        n_users=len(set(table.users)),
        tau=bench.constants.tau,
        fixed_budget=bench.budget,
        linear_weight=static_alpha(bench.fit, bench.budget, "fused"),
        commit=commit(),
        rows={n: ablation_row(table, n, full) for n in routers(*ABLATED)},
        encoders=_compared(bench, table, encoders),
        policies=_compared(bench, table, policies),
        sweep=_sweep(bench),
    )


def _sweep(bench: Bench) -> tuple[ReportRow, ...]:
    """Recall and ndcg@20 of every fixed theta on the grid (the paper's figure 3)."""
    thetas = [Theta(alpha, k) for k in Bins(bench.constants.tau).budgets for alpha in ALPHAS]
    found = []
    with bench.progress.task("static sweep", len(thetas)) as advance:
        for theta in thetas:
            answers = by_thetas(bench, [theta] * len(bench))
            means = {spoken(n): float(METRICS[n].values(answers).mean()) for n in SWEPT}
            found.append(ReportRow({"alpha": theta.alpha, "budget": theta.budget, **means}))
            advance(1)
    return tuple(found)


def _others(bench: Bench, paths: Sequence[Path], progress: Progress) -> tuple[Other, ...]:
    """The listed runs, before any long work. ConfigError where one asks other requests."""
    found = []
    for path in paths:
        config = load_config(path)
        try:
            other = set_bench(config, progress)
        except ArtifactError as error:
            progress.note(f"ablate: {path}: {error}")
            found.append(Other(path, config, None))
            continue
        if other.known.request_ids != bench.known.request_ids:
            raise ConfigError(
                f"{path}: its test requests ({len(other)}, shop '{other.shop.name}') are "
                f"not those of this run ({len(bench)}, '{bench.shop.name}'), so their "
                "difference means nothing. List configs of the same shop"
            )
        found.append(Other(path, config, other))
    return tuple(found)


def _compared(bench: Bench, table: Results, others: Sequence[Other]) -> tuple[OtherRun, ...]:
    """This run first, then each listed one: its teacher and its best fixed split."""
    if not others:
        return ()
    full = table.values("full", *compared())
    found = [_run(bench.config, "this run", table, full, "")]
    for other in others:
        path = other.path.as_posix()
        if other.bench is None:
            found.append(_run(other.config, path, None, full, f"adamroute run {path}"))
            continue
        known = routers("ablation", "reference")
        measured = measure(other.bench, {n: known[n] for n in COMPARED}, ablation_metrics)
        found.append(_run(other.config, path, measured, full, ""))
    return tuple(found)


def _run(config: Config, path: str, table: Results | None, full: Array, missing: str) -> OtherRun:
    rows = {n: ablation_row(table, n, full) for n in COMPARED} if table is not None else {}
    return OtherRun(
        name=config.name,
        config=path,
        text_encoder=config.encoders.text,
        multimodal_encoder=config.encoders.multimodal,
        policy=config.teacher.policy,
        row=rows.get("full"),
        static_best=rows.get("static_best"),
        not_built=missing,
    )
