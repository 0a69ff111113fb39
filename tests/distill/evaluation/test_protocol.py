"""Tables and the page, on a small index and a handful of requests."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.catalogue.request import Request
from adamroute.distill.evaluation.metrics import METRICS, of_place, placed
from adamroute.distill.evaluation.protocol import (
    PUBLISHED,
    PUBLISHED_OF,
    ProtocolReport,
    ProtocolRow,
    ProtocolTable,
    Wanted,
    page,
    protocol_row,
    tables,
)
from adamroute.distill.evaluation.rankers import FinishedParts
from adamroute.distill.evaluation.ranking_tasks import RankingTask
from adamroute.progress import SILENT
from tests.distill.market import market_index, market_shop


def wanted(copies: list[int], *, among: bool = False) -> Wanted:
    """Three requests: found first, found nowhere near, and without words or history."""
    ids = market_index().ids
    history = market_shop().histories["u1"]
    rows = np.array([0, 1, 7, 23])
    words = "lamp that dims softly for reading at night red"
    asked = (
        (Request("r1", "u1", words, history), ids[0]),
        (Request("r2", "u1", words, history), ids[23]),
        (Request("r3", None, "", ()), ids[0]),
    )
    tasks = tuple(
        RankingTask(request, target, rows if among else None, many)
        for (request, target), many in zip(asked, copies, strict=True)
    )
    return Wanted("three requests", tasks, fitted=True)


def test_metrics_are_means_over_requests_and_copies_count_as_often_as_they_stand() -> None:
    places, once = np.array([1.0, 3.0, 20.0, 21.0, 41.0, np.inf]), np.ones(6, np.int64)
    found = protocol_row([places], once).median
    gains = [1.0, 1 / 2.0, 1 / np.log2(21)]
    assert (found["hr@20"], found["hr@40"]) == (3 / 6, round(4 / 6, 6))
    assert found["ndcg@20"] == pytest.approx(sum(gains) / 6, abs=1e-6)
    assert found["ndcg@40"] == pytest.approx((sum(gains) + 1 / np.log2(22)) / 6, abs=1e-6)
    counted = protocol_row([np.array([1.0, np.inf])], np.array([3, 1])).median
    assert (counted["hr@20"], counted["ndcg@20"]) == (3 / 4, 3 / 4)
    assert protocol_row([places], 4 * once).median == found


def test_the_median_is_taken_metric_by_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "half", of_place("half", lambda places: 0.5 / places))
    trials = [np.array([1.0, np.inf]), np.array([20.0, 20.0]), np.array([2.0, 41.0])]
    row = protocol_row(trials, np.ones(2, np.int64))
    assert [trial["hr@20"] for trial in row.trials] == [0.5, 1.0, 0.5]
    assert [trial["mrr"] for trial in row.trials] == [0.5, 0.05, round((1 / 2 + 1 / 41) / 2, 6)]
    assert (row.median["hr@20"], row.median["mrr"]) == (0.5, row.trials[2]["mrr"])


def test_rows_hold_the_median_of_trials_and_chance_alone_has_several() -> None:
    (table,) = tables(FinishedParts(market_index(), 4), wanted([1, 1, 1]), range(5), SILENT)
    assert {name: len(row.trials) for name, row in table.rows.items()} == {
        "random": 5, "text_only": 1, "mm_only": 1, "half": 1,
    }  # fmt: skip
    assert table.rows["mm_only"].median["hr@20"] == pytest.approx(1 / 3, abs=1e-6)
    for name in PUBLISHED_OF:
        values = [trial[name] for trial in table.rows["random"].trials]
        assert table.rows["random"].median[name] == sorted(values)[2]


def test_repeated_rows_are_counted_in_a_table_of_their_own() -> None:
    once, counted = tables(FinishedParts(market_index(), 4), wanted([3, 1, 1]), range(1), SILENT)
    assert (once.n, counted.n) == (3, 5)
    assert (once.wordless, counted.wordless) == (1, 1)
    assert counted.rows["mm_only"].median["hr@20"] == pytest.approx(3 / 5)


def test_among_few_candidates_all_are_found_but_by_the_wordless() -> None:
    (table,) = tables(
        FinishedParts(market_index(), 24), wanted([1, 1, 1], among=True), range(1), SILENT
    )
    for row in table.rows.values():
        assert row.median["hr@20"] == pytest.approx(2 / 3, abs=1e-6)


def test_the_page_shows_the_published_figures_first_and_names_what_is_missing() -> None:
    quarter = dict.fromkeys(placed(), 0.25)
    row = ProtocolRow(median=quarter, trials=(quarter,))
    told = dict(zip(PUBLISHED_OF, ("0.0702", "0.1138", "0.0264", "0.0351"), strict=True))
    report = ProtocolReport(
        protocol="query-free",
        shop="msr-baby",
        items=7050,
        seed=0,
        budget=200,
        commit="c",
        published=dict(zip(PUBLISHED_OF, PUBLISHED["msr-baby"], strict=True)),
        tables=(ProtocolTable(requests="some", n=1200, wordless=7, rows={"half": row}),),
        counts={"users": 5},
        left_out={"student": "not finished"},
    )
    assert page(report).splitlines() == [
        "# msr-baby: query-free, 7,050 items, K = 200",
        "",
        "The published figures are of the authors' own catalogue, models and test set.",
        "",
        "## some (n = 1,200)",
        "",
        f"|  | {' | '.join(placed())} |",
        f"| --- | {' | '.join(['---'] * len(placed()))} |",
        f"| AdaM-Rec as published | {' | '.join(told.get(name, '') for name in placed())} |",
        f"| half | {' | '.join(['0.2500'] * len(placed()))} |",
        "",
        "7 had neither words nor a known wish: all missed.",
        "",
        "Counted: users 5.",
        "",
        "Left out, student: not finished",
    ]
