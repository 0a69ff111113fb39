"""From the table of results to the rows of all reports: means, intervals, paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.metrics import AT_FIXED, compared
from adamroute.distill.evaluation.routers import routers
from adamroute.distill.evaluation.schema import Difference, Interval, ReportRow
from adamroute.distill.evaluation.splits import FIXED_BUDGETS, Array
from adamroute.distill.evaluation.table import Results

LEFT_OUT = ("recall_pessimistic", "recall_at_k_mean")  # of the values in ablation.json
Number = Callable[[Results, str], float]


def _mean(metric: str) -> Number:
    return lambda table, router: table.mean(router, metric)


def _quantile(metric: str, share: float) -> Number:
    return lambda table, router: float(np.quantile(table.of(router, metric), share))


NUMBERS: Mapping[str, Number] = {
    "mean_budget": _mean("budget"),
    "mean_candidates": _mean("candidates"),
    "fallback_rate": _mean("fell_back"),
    "llm_calls": _mean("llm_calls"),
    "tokens": _mean("tokens"),
    "ms": _mean("ms"),
    "p50_ms": _quantile("ms", 0.5),
    "p95_ms": _quantile("ms", 0.95),
}


def best_today(table: Results) -> str:
    """Of what a shop can have without a router, the one that recalls most on these requests."""
    return max(routers("today"), key=lambda name: table.mean(name, "recall_at_k_mean"))


def report_row(table: Results, router: str, today: str) -> ReportRow:
    """One router, with its intervals and its differences to the best fixed ones and to `today`."""
    names = compared()
    own = table.values(router, *names)
    bases = {"static_best": "static_best", "fusion_best": "fusion_best", "today": today}
    gains = [own - table.values(base, *names) for base in bases.values()]
    spans = table.intervals(np.concatenate([own, *gains], axis=1))
    count = len(names)
    minus_base = {
        f"minus_{base}": differences(names, gain, spans[count * place : count * (place + 1)])
        for place, (base, gain) in enumerate(zip(bases, gains, strict=True), 1)
    }
    means = dict(zip(names, own.mean(axis=0).tolist(), strict=True))
    costs = [name for name in NUMBERS if name != "ms"]
    return ReportRow(
        {
            **{name: mean for name, mean in means.items() if name != "recall_at_k_mean"},
            **{name: NUMBERS[name](table, router) for name in costs},
            "recall_at_k": at_fixed(table, router),
            "ci95": dict(zip(names, spans[:count], strict=True)),
            **minus_base,
        }
    )


def ablation_row(table: Results, router: str, full: Array) -> ReportRow:
    """One row; `full` is [B, M] of the compared metrics."""
    names = compared()
    gains = table.values(router, *names) - full
    own = {spoken(n): table.mean(router, n) for n in names if n not in LEFT_OUT}
    told = {name: number(table, router) for name, number in NUMBERS.items()}
    return ReportRow(
        {
            **own,
            "recall_at_k": at_fixed(table, router),
            **{name: told[name] for name in ("mean_budget", "mean_candidates")},
            "minus_full": differences(names, gains, table.intervals(gains)),
            **{name: told[name] for name in ("llm_calls", "tokens", "ms")},
        }
    )


def teacher_row(table: Results, router: str, today: str) -> ReportRow:
    """One router at equal budgets; `ci95` is of the mean over K = 20, 40, 100."""
    (span,) = table.intervals(table.values(router, "recall_at_k_mean"))
    return ReportRow(
        {
            "recall_at_k": at_fixed(table, router),
            "ci95": span,
            "minus_static_best": minus(table, router, "static_best"),
            "minus_today": minus(table, router, today),
        }
    )


def distance(written: NDArray[np.number], real: NDArray[np.number]) -> float:
    """Kolmogorov-Smirnov's of two sets of ranks: the widest gap between their distributions."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(written, real, method="asymp").statistic)


def spoken(metric: str) -> str:
    """A metric's key in the rows of ablation.json, format 1: `hr20`."""
    return metric.replace("@", "")


def at_fixed(table: Results, router: str) -> dict[str, float]:
    """Mean recall at each fixed K."""
    means = table.values(router, *AT_FIXED).mean(axis=0).tolist()
    return dict(zip(map(str, FIXED_BUDGETS), means, strict=True))


def differences(
    names: Sequence[str], gains: Array, spans: Iterable[Interval]
) -> dict[str, Difference]:
    """Paired differences by name: gains [B, M] with an interval a column."""
    means = gains.mean(axis=0).tolist()
    return {
        name: Difference(mean=mean, ci95=span)
        for name, mean, span in zip(names, means, spans, strict=True)
    }


def minus(table: Results, router: str, other: str) -> dict[str, Difference]:
    """One router less another in recall at K = 20, 40, 100, and in the mean of them."""
    gain = table.values(router, *AT_FIXED) - table.values(other, *AT_FIXED)
    columns = np.concatenate([gain, gain.mean(axis=1, keepdims=True)], axis=1)
    places = (*map(str, FIXED_BUDGETS), "mean")
    return differences(places, columns, table.intervals(columns))
