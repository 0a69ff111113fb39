"""The one table of results: (router, request, metric, value), and what any report takes from it.

Means, paired intervals over users, slices and pooled folds are functions of this table, whichever
routers and metrics it holds. It is stored beside every report as Parquet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adamroute.distill.evaluation.metrics import METRICS
from adamroute.distill.evaluation.outcomes import Answers
from adamroute.distill.evaluation.splits import Array
from adamroute.stats import bootstrap_means, interval

Interval = tuple[float, float]
T = TypeVar("T")
RESULTS = "results.parquet"  # the rows, as every report leaves them beside its page


@dataclass(frozen=True, eq=False)
class Results:
    """Values of every router on the same requests, each (router, metric) in their order."""

    rows: pl.DataFrame  # router, request, metric, value
    requests: pl.DataFrame  # request, user, and the columns that requests are sliced by
    seed: int  # of the resamples

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def users(self) -> list[str]:
        """Of the requests, [B]."""
        return self.requests["user"].to_list()

    def told(self, facts: pl.DataFrame) -> Results:
        """The same with more columns of facts about the requests, [B] rows."""
        return replace(self, requests=self.requests.hstack(facts))

    def fact(self, column: str) -> pl.Series:
        """What the requests' table says of each, [B]."""
        return self.requests[column]

    @cached_property
    def _columns(self) -> Mapping[tuple[object, ...], pl.DataFrame]:
        return self.rows.partition_by(["router", "metric"], as_dict=True)

    def of(self, router: str, metric: str) -> Array:
        """[B]"""
        return self._columns[router, metric]["value"].to_numpy()

    def values(self, router: str, *metrics: str) -> Array:
        """[B, M], one column a metric."""
        return np.stack([self.of(router, metric) for metric in metrics], axis=1)

    def mean(self, router: str, metric: str) -> float:
        """Over requests."""
        return float(self.of(router, metric).mean())

    def intervals(self, columns: Array) -> tuple[Interval, ...]:
        """95 % intervals of the means of [B, M], users resampled alike for every column."""
        means = bootstrap_means(columns, self.users, self.seed)
        return tuple(interval(means[:, column]) for column in range(columns.shape[1]))

    def part(self, here: NDArray[np.bool_]) -> Results:
        """Some of the requests, [B] booleans."""
        asked = self.requests.filter(pl.Series(here))
        rows = self.rows.join(asked.select("request"), on="request", how="semi")
        return Results(rows, asked, self.seed)

    def parts(self, column: str) -> dict[str, Results]:
        """The requests by what `column` says of them, in natural order; "" is left out."""
        said = self.requests[column].to_numpy()
        labels = sorted(set(said.tolist()) - {""}, key=_natural)
        return {label: self.part(said == label) for label in labels}


def rows(
    router: str, metrics: Sequence[str], requests: pl.Series, answers: Answers
) -> pl.DataFrame:
    """The rows of one router, metric after metric."""
    return pl.concat(
        pl.DataFrame({"request": requests, "value": METRICS[metric].values(answers)}).select(
            pl.lit(router).alias("router"), "request", pl.lit(metric).alias("metric"), "value"
        )
        for metric in metrics
    )


def pooled(parts: Sequence[T]) -> T:
    """Folds as one: tables, arrays and tuples over requests one after the other.

    Dataclasses are pooled field by field; what is none of these is the first fold's.
    """
    first, many = cast(Any, parts[0]), cast(Any, parts)
    if isinstance(first, pl.DataFrame):
        return cast(T, pl.concat(many))
    if isinstance(first, np.ndarray):
        return cast(T, np.concatenate(many))
    if isinstance(first, tuple):
        return cast(T, sum(many, ()))
    if not is_dataclass(first):
        return parts[0]
    whole = {f.name: pooled([getattr(part, f.name) for part in parts]) for f in fields(first)}
    return cast(T, replace(cast(Any, first), **whole))


def _natural(label: str) -> tuple[int, str]:
    """`3 to 5` before `21 and more`; words by the alphabet."""
    first = label.split(" ")[0]
    return (int(first) if first.isdecimal() else 0), label
