"""`adamroute ablate CONFIG`: one table of the method's parts and its peers, and a static sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adamroute.config import Config, load_config
from adamroute.distill.evaluation.ablation.measure import (
    Ablated,
    Bench,
    ablate,
    references,
    set_bench,
    teacher_choice,
)
from adamroute.distill.evaluation.ablation.pages import render
from adamroute.distill.evaluation.ablation.pictures import draw_sweep
from adamroute.distill.evaluation.ablation.schema import (
    ROWS,
    Ablation,
    AblationRow,
    OtherRun,
    RowName,
    SweptTheta,
)
from adamroute.distill.evaluation.metrics import intervals
from adamroute.distill.evaluation.outcomes import Array, Outcomes, at_fixed, measures, outcomes
from adamroute.distill.evaluation.schema import METRICS, Difference
from adamroute.errors import ArtifactError, ConfigError
from adamroute.pipeline import ABLATION
from adamroute.progress import Progress
from adamroute.stages import (
    Counts,
    Work,
    commit,
    write_text,
)

ABLATION_JSON, ABLATION_MD, SWEEP = "ablation.json", "ablation.md", "static_sweep.png"


COMPARED: tuple[RowName, RowName] = ("full", "static_best")


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
        bench = set_bench(config)
        listed = config.ablation
        encoders, policies = (
            _others(bench, paths, progress) for paths in (listed.encoders, listed.policies)
        )
        report = build_ablation(bench, ablate(bench, progress), encoders, policies)
        write_text(work.folder / ABLATION_JSON, report.model_dump_json(indent=2) + "\n")
        draw_sweep(report, work.folder / SWEEP)
        write_text(work.folder / ABLATION_MD, render(report, command))
        return {"requests": report.n_queries}

    stage.run(config, make, anew=True)
    return stage.path(config) / ABLATION_MD


def build_ablation(
    bench: Bench, ablated: Ablated, encoders: Sequence[Other], policies: Sequence[Other]
) -> Ablation:
    """ablation.json as a value."""
    config, users = bench.config, [query.user_id for query in bench.queries]
    return Ablation(
        shop=bench.shop.name,
        queries="test split",
        n_queries=len(users),
        n_users=len(set(users)),
        tau=bench.tau,
        fixed_budget=bench.budget,
        linear_weight=ablated.linear_weight,
        commit=commit(),
        rows=ablation_rows(ablated.results, users, config.seed),
        encoders=_compared(bench, ablated, encoders),
        policies=_compared(bench, ablated, policies),
        sweep=tuple(
            SweptTheta(alpha=theta.alpha, budget=theta.budget, recall=recall, ndcg20=ndcg)
            for theta, recall, ndcg in ablated.sweep
        ),
    )


def ablation_rows(
    results: Mapping[RowName, Outcomes], users: Sequence[str], seed: int
) -> dict[RowName, AblationRow]:
    """All rows, each with its paired differences to the row `full`."""
    full = measures(results["full"])
    return {name: ablation_row(results[name], full, users, seed) for name in ROWS}


def ablation_row(result: Outcomes, full: Array, users: Sequence[str], seed: int) -> AblationRow:
    """One row; `full` is [B, M] of METRICS."""
    own = measures(result)
    gains = own - full
    spans = intervals(gains, users, seed)
    return AblationRow(
        recall=float(result.recall.mean()),
        recall_augmented=float(result.recall_augmented.mean()),
        hr20=float(result.hr20.mean()),
        hr40=float(result.hr40.mean()),
        ndcg20=float(result.ndcg20.mean()),
        ndcg40=float(result.ndcg40.mean()),
        recall_at_k=at_fixed(result.at_k),
        mean_budget=float(result.budget.mean()),
        mean_candidates=float(result.candidates.mean()),
        minus_full={
            name: Difference(mean=mean, ci95=span)
            for name, mean, span in zip(METRICS, gains.mean(axis=0).tolist(), spans, strict=True)
        },
        llm_calls=float(result.llm_calls.mean()),
        tokens=float(result.tokens.mean()),
        ms=float(result.ms.mean()),
    )


def _others(bench: Bench, paths: Sequence[Path], progress: Progress) -> tuple[Other, ...]:
    """The listed runs, before any long work. ConfigError where one asks other requests."""
    found = []
    for path in paths:
        config = load_config(path)
        try:
            other = set_bench(config)
        except ArtifactError as error:
            progress.note(f"ablate: {path}: {error}")
            found.append(Other(path, config, None))
            continue
        if other.known.request_ids != bench.known.request_ids:
            raise ConfigError(
                f"{path}: its test requests ({len(other.queries)}, shop '{other.shop.name}') are "
                f"not those of this run ({len(bench.queries)}, '{bench.shop.name}'), so their "
                "difference means nothing. List configs of the same shop"
            )
        found.append(Other(path, config, other))
    return tuple(found)


def _compared(bench: Bench, ablated: Ablated, others: Sequence[Other]) -> tuple[OtherRun, ...]:
    """This run first, then each listed one: its teacher and its best fixed split."""
    if not others:
        return ()
    full, users = measures(ablated.results["full"]), [query.user_id for query in bench.queries]

    def run(other: Config, path: str, found: Mapping[str, Outcomes], missing: str) -> OtherRun:
        rows = {n: ablation_row(r, full, users, bench.config.seed) for n, r in found.items()}
        return OtherRun(
            name=other.name,
            config=path,
            text_encoder=other.encoders.text,
            multimodal_encoder=other.encoders.multimodal,
            policy=other.teacher.policy,
            row=rows.get("full"),
            static_best=rows.get("static_best"),
            not_built=missing,
        )

    own = {str(name): ablated.results[name] for name in COMPARED}
    found = [run(bench.config, "this run", own, "")]
    for other in others:
        path = other.path.as_posix()
        missing = "" if other.bench else f"adamroute run {path}"
        found.append(run(other.config, path, _measured(other.bench), missing))
    return tuple(found)


def _measured(bench: Bench | None) -> dict[str, Outcomes]:
    if bench is None:
        return {}
    choices = (teacher_choice(bench, bench.config), references(bench)["static_best"])
    return {
        name: outcomes(bench.known, choice, bench.desk, bench.encode_ms)
        for name, choice in zip(COMPARED, choices, strict=True)
    }
