"""The command `adamroute`: a verb a step, `run` for all of them, and verbs that measure or serve.

The only module of the core that may import the stages, and it does so inside its verbs, so that
`--help` stays quick and a verb pays only for what it uses.
"""

from __future__ import annotations

import json
import logging
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from adamroute.config import Config, load_config
from adamroute.failures import ending
from adamroute.process import Stopped, prepare_process, run_in_utf8, stopped_by_signals
from adamroute.progress import Progress, TerminalProgress
from adamroute.run_lock import only_writer
from adamroute.stages import keep_config

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Split each request's recall budget between a text and a multimodal index, learned from "
    "an agent. Start with: adamroute demo",
)

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file of configs/.")]
ShopDir = Annotated[
    Path | None, typer.Option("--shop", metavar="DIR", help="Read this shop folder instead.")
]
OutDir = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write stages below this folder.")
]
T = TypeVar("T")
DEMO = Path(__file__).parent / "configs" / "demo.yaml"  # of the checkout or of the wheel
AMAZON_SETS = "amazon-beauty, amazon-clothing, amazon-music, msr-video-games or msr-baby."


@app.command()
def build(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """Read the shop, embed its items, fit the photo alignment, write index/."""
    _write("build", _build, _load(config, shop, out))


@app.command()
def label(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """Run the teacher over the train users and write soft labels to labels/."""
    _write("label", _label, _load(config, shop, out))


@app.command()
def train(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """Train the student and the re-ranker: student/, reranker/."""
    _write("train", _train, _load(config, shop, out))


@app.command()
def calibrate(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """Fit the student's confidence and measure what falling back gains: calibration/."""
    _write("calibrate", _calibrate, _load(config, shop, out))


@app.command()
def report(
    config: ConfigPath,
    *,
    queries: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Report these queries, whatever their split."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=3, help="Refit all that is fitted, per fold over all users."),
    ] = None,
    teacher: Annotated[
        bool,
        typer.Option(
            "--teacher",
            help="Report on the teacher alone: teacher.json and .md; folds refit labels only.",
        ),
    ] = False,
    shop: ShopDir = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where report.json and .md go.")
    ] = None,
) -> None:
    """Teacher versus student: report.json, report.md and its pictures."""
    make = partial(_teacher_report if teacher else _report, queries=queries, folds=folds, out=out)
    _write("report", make, _load(config, shop), elsewhere=out is not None and folds is None)


@app.command()
def ablate(
    config: ConfigPath,
    shop: ShopDir = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where ablation.json and .md go."),
    ] = None,
) -> None:
    """What each part of the method is worth, beside its peers: one table, one static sweep.

    Needs a finished build, label and train. Encoder pairs and policies to compare are other
    configs, listed under `ablation:` in this one.
    """
    from adamroute.distill.evaluation.ablation_report import run_ablate

    make = partial(run_ablate, out=out, command=shlex.join(["adamroute", *sys.argv[1:]]))
    print(_write("ablate", make, _load(config, shop), elsewhere=out is not None))


@app.command()
def run(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """All stages in order; those whose inputs have not changed are skipped, a cut one resumes."""
    _write("run", _run, _load(config, shop, out))


@app.command()
def serve(config: ConfigPath, shop: ShopDir = None, out: OutDir = None) -> None:
    """Serve the finished run over HTTP until Ctrl-C (OpenAPI at /docs)."""
    from adamroute.serving.app import serve_forever

    loaded = _load(config, shop, out)

    def ready(url: str) -> None:
        print(f"serving '{loaded.name}' on {url}", flush=True)

    serve_forever(loaded, on_ready=ready)


@app.command()
def judge(
    config: ConfigPath,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Import judgements: JSONL of grades or clicks, or TREC qrels."
        ),
    ] = None,
    topics: Annotated[
        Path | None,
        typer.Option(metavar="FILE.tsv", help="Words of qrels: a line QID<TAB>QUERY for each."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the page; 0 takes any free one.")
    ] = 8010,
    shop: ShopDir = None,
    out: OutDir = None,
) -> None:
    """Say what queries meant, on a page until Ctrl-C (needs `build`), or from a file.

    Twenty queries go a long way: a shop without a log is then fitted and measured on them.
    """
    if topics is not None and file is None:
        raise typer.BadParameter("--topics are the words of a qrels file: give --file too")
    loaded = _load(config, shop, out)
    with only_writer(loaded.out, "judge"):
        if file is not None:
            _import(loaded, file, topics)
        else:
            _judge(loaded, port)


@app.command()
def ask(
    config: ConfigPath,
    query: Annotated[
        str | None, typer.Argument(help="Leave it out for a query-free request.")
    ] = None,
    *,
    user: Annotated[str | None, typer.Option(help="User id; unknown users work too.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many items.")] = 5,
    policy: Annotated[
        str, typer.Option(help="auto, auto@T, student, teacher or static@ALPHA,BUDGET.")
    ] = "auto",
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="liked, disliked (the default) or an item id; may be repeated; '' keeps all."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Ask this server; without it, answer in this process.")
    ] = None,
    shop: ShopDir = None,
    out: OutDir = None,
) -> None:
    """One request from the shell; prints the answer as JSON."""
    from adamroute.recommender.exclusion import EXCLUDED

    left_out = tuple(entry for entry in exclude or EXCLUDED if entry)
    if url is not None:
        from adamroute.serving.client import Body, ask_server

        body: Body = {
            "user_id": user, "query": query, "n": n, "policy": policy, "exclude": [*left_out],
        }  # fmt: skip
        answer = ask_server(url, body)
    else:
        from adamroute.run import assemble_run

        run = assemble_run(_load(config, shop, out))
        answer = run.recommend(query=query, user_id=user, n=n, policy=policy, exclude=left_out)
    print(json.dumps(answer.plain(), indent=2, ensure_ascii=False))


@app.command()
def protocol(
    config: ConfigPath,
    trials: Annotated[
        int, typer.Option(min=1, help="Of rows that chance has a part in; medians are shown.")
    ] = 5,
    shop: ShopDir = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where protocol.json and .md go.")
    ] = None,
) -> None:
    """HR and NDCG by the published protocols: exact id, or without queries 1 against 1000.

    Needs `build`; rows of teacher, student and re-ranker come with `label` and `train`.
    """
    from adamroute.distill.evaluation.protocol import run_protocol

    make = partial(run_protocol, trials=trials, out=out)
    written = _write("protocol", make, _load(config, shop), elsewhere=out is not None)
    print(written.read_text(encoding="utf-8"), end="")


@app.command()
def data(
    name: Annotated[str, typer.Argument(metavar="NAME", help=AMAZON_SETS)],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where your files are.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="SHOP", help="The shop folder to make; DIR/NAME if not given."
        ),
    ] = None,
    images: Annotated[
        bool,
        typer.Option(
            "--images/--no-images", help="Fetch photos from the addresses in your metadata."
        ),
    ] = True,
    keep_duplicates: Annotated[
        bool, typer.Option("--keep-duplicates", help="A query for each repeated row of the file.")
    ] = False,
) -> None:
    """Make a shop folder of public data that you downloaded; without files it says which.

    Only photos are fetched, and a run that was stopped goes on where it was.
    """
    from adamroute.datasets.amazon.make import data_amazon

    made = data_amazon(
        name, folder, TerminalProgress(), out=out, images=images, keep_duplicates=keep_duplicates
    )
    print("\n".join(made.told()))


@app.command()
def demo(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", show_default="the packaged configs/demo.yaml")
    ] = DEMO,
) -> None:
    """The whole of it: generate the demo shop, run every stage, serve, ask, report, stop."""
    from adamroute.serving.tour import tour

    loaded = _load(config)
    written = _write("demo", _run, loaded)
    for line in tour(loaded):
        print(line, flush=True)
    print(f"\nserver stopped. The report: {written}")


def _load(config: Path, shop: Path | None = None, out: Path | None = None) -> Config:
    """The config, whose thread count is this process's from here on."""
    loaded = load_config(config, shop=shop, out=out)
    prepare_process(loaded.threads)
    return loaded


def _write(
    verb: str, make: Callable[[Config, Progress], T], config: Config, *, elsewhere: bool = False
) -> T:
    """Make it while no other command writes to the run's folder; `elsewhere` writes not there."""
    with nullcontext() if elsewhere else only_writer(config.out, verb):
        return make(config, TerminalProgress())


def _run(config: Config, progress: Progress) -> Path:
    for stage in (_build, _label, _train, _calibrate):
        stage(config, progress)
    return _report(config, progress)


def _build(config: Config, progress: Progress) -> None:
    from adamroute.indexing.build import run_build

    if config.demo is not None:
        from adamroute.datasets.demo import generate_demo_shop

        with progress.task("demo shop", config.demo.items) as advance:
            generate_demo_shop(config.shop, **config.demo.model_dump(), advance=advance)
    if config.profiler.kind == "llm":
        from adamroute.indexing.profiling import run_profile

        run_profile(config, progress)
    run_build(config, progress)
    keep_config(config)


def _import(config: Config, file: Path, topics: Path | None) -> None:
    from adamroute.catalogue.folds import judged_file, whole_shop
    from adamroute.catalogue.judged_file import take_judgements
    from adamroute.catalogue.judged_queries import told_judged

    catalogue = whole_shop(config).catalogue
    taken = take_judgements(file, catalogue, judged_file(config), topics)
    print("\n".join((*taken.told(), *told_judged(whole_shop(config)))))


def _judge(config: Config, port: int) -> None:
    from adamroute.catalogue.folds import whole_shop
    from adamroute.catalogue.judged_queries import told_judged
    from adamroute.serving.judging import judge_forever

    def ready(url: str) -> None:
        print(f"judging '{config.name}' on {url} (Ctrl-C ends it)", flush=True)

    judge_forever(config, ready, port)
    print("\n".join(told_judged(whole_shop(config))))


def _label(config: Config, progress: Progress) -> None:
    from adamroute.distill.labels.label import run_label

    run_label(config, progress)
    keep_config(config)


def _train(config: Config, progress: Progress) -> None:
    from adamroute.training.reranker_fit import run_reranker
    from adamroute.training.train import run_train

    run_train(config, progress)
    run_reranker(config, progress)
    keep_config(config)


def _calibrate(config: Config, progress: Progress) -> None:
    from adamroute.training.calibrate import run_calibrate

    run_calibrate(config, progress)
    keep_config(config)


def _report(
    config: Config,
    progress: Progress,
    queries: Path | None = None,
    folds: int | None = None,
    out: Path | None = None,
) -> Path:
    from adamroute.distill.evaluation.report import run_report

    refit = (_label, _train, _calibrate)
    return run_report(
        config,
        progress,
        queries=queries,
        folds=folds,
        out=out,
        refit=refit,
        command=shlex.join(["adamroute", *sys.argv[1:]]),
    )


def _teacher_report(
    config: Config, progress: Progress, queries: Path | None, folds: int | None, out: Path | None
) -> Path:
    from adamroute.distill.evaluation.teacher_report import run_teacher_report
    from adamroute.distill.labels.label import relabel
    from adamroute.distill.labels.requests import run_ranks

    if folds is not None:
        run_ranks(config, progress)
    return run_teacher_report(
        config,
        progress,
        queries=queries,
        folds=folds,
        out=out,
        relabel=relabel,
        command=shlex.join(["adamroute", *sys.argv[1:]]),
    )


def main() -> None:
    """Entry point: what a user can mend is one line on stderr and exit code 2; 130 and 143 for
    SIGINT and SIGTERM; 1 and a traceback for a bug.
    """
    run_in_utf8()
    logging.raiseExceptions = False  # a library's log on a full disk: its traceback helps nobody
    try:
        with stopped_by_signals():
            prepare_process()
            app()
    except (Exception, Stopped) as error:
        line, code = ending(error)
        print(f"adamroute: {line}", file=sys.stderr)
        sys.exit(code)
