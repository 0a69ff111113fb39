"""Which requests a report asks: the test split, a file, or every logged query by folds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.queries import read_query_file
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config, FoldConfig
from adamroute.errors import ConfigError
from adamroute.pipeline import BUILD, RANKS, borrow
from adamroute.progress import Progress


def check_folds(queries: Path | None, folds: int | None) -> None:
    """ConfigError where a file and folds are asked for, or too few folds."""
    if folds is not None and queries is not None:
        raise ConfigError("report: --folds and --queries exclude each other. Give one of them")
    if folds is not None and folds < 3:
        raise ConfigError(f"report: --folds {folds}: train, calibration and test need one each")


def asked_queries(
    config: Config, shop: Shop, queries: Path | None, progress: Progress
) -> tuple[Query, ...]:
    """Every row of the file, else the test split; rows whose item is gone are noted."""
    if queries is None:
        return known_queries(shop, config.stage("ranks"), "test")
    read = read_query_file(queries, shop.catalogue)
    for name, count in read.problems.items():
        if count:
            progress.note(f"{queries}: {name.replace('_', ' ')}: {count}")
    return read.queries


def told_as(queries: Path | None, folds: int | None) -> str:
    """What reports call these requests."""
    if folds is not None:
        return f"all queries, {folds} folds over users"
    return "test split" if queries is None else queries.name


def fold_configs(config: Config, home: str, folds: int, progress: Progress) -> Iterator[Config]:
    """The same run over each fold of the users in turn, in a folder of its own below `home`.

    Index and ranks know no split, so all folds read the same ones.
    """
    for number in range(folds):
        progress.note(f"fold {number + 1} of {folds}")
        fold, out = FoldConfig(of=folds, number=number), f"{number + 1}-of-{folds}"
        part = config.model_copy(update={"out": config.out / home / out, "fold": fold})
        borrow(part, config, BUILD, RANKS)
        yield part
