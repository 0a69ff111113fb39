"""Tables and the page, on a small index and a handful of requests."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.catalogue.request import Request
from adamroute.distill.evaluation.protocols.contenders import Run
from adamroute.distill.evaluation.protocols.run import (
    NAMES,
    PUBLISHED,
    ProtocolReport,
    ProtocolRow,
    ProtocolTable,
    Wanted,
    page,
    tables,
)
from adamroute.progress import SILENT
from tests.distill.market import market_index, market_shop


def wanted(copies: list[int], *, among: bool = False) -> Wanted:
    """Three requests: found first, found nowhere near, and without words or history."""
    ids = market_index().ids
    history = market_shop().histories["u1"]
    rows = np.array([0, 1, 7, 23])
    return Wanted(
        name="three requests",
        requests=(
            Request("r1", "u1", "lamp that dims softly for reading at night red", history),
            Request("r2", "u1", "lamp that dims softly for reading at night red", history),
            Request("r3", None, "", ()),
        ),
        targets=(ids[0], ids[23], ids[0]),
        among=(rows, rows, rows) if among else (None, None, None),
        copies=np.array(copies),
        fitted=True,
    )


def test_rows_hold_the_median_of_trials_and_chance_alone_has_several() -> None:
    (table,) = tables(Run(market_index(), 4), wanted([1, 1, 1]), range(5), SILENT)
    assert {name: len(row.trials) for name, row in table.rows.items()} == {
        "random": 5, "text_only": 1, "mm_only": 1, "half": 1,
    }  # fmt: skip
    assert table.rows["mm_only"].median["hr@20"] == pytest.approx(1 / 3, abs=1e-6)
    for name in NAMES:
        values = [trial[name] for trial in table.rows["random"].trials]
        assert table.rows["random"].median[name] == sorted(values)[2]


def test_repeated_rows_are_counted_in_a_table_of_their_own() -> None:
    once, counted = tables(Run(market_index(), 4), wanted([3, 1, 1]), range(1), SILENT)
    assert (once.n, counted.n) == (3, 5)
    assert (once.wordless, counted.wordless) == (1, 1)
    assert counted.rows["mm_only"].median["hr@20"] == pytest.approx(3 / 5)


def test_among_few_candidates_all_are_found_but_by_the_wordless() -> None:
    (table,) = tables(Run(market_index(), 24), wanted([1, 1, 1], among=True), range(1), SILENT)
    for row in table.rows.values():
        assert row.median["hr@20"] == pytest.approx(2 / 3, abs=1e-6)


def test_the_page_shows_the_published_figures_first_and_names_what_is_missing() -> None:
    row = ProtocolRow(median=dict.fromkeys(NAMES, 0.25), trials=(dict.fromkeys(NAMES, 0.25),))
    report = ProtocolReport(
        protocol="query-free",
        shop="msr-baby",
        items=7050,
        seed=0,
        budget=200,
        commit="c",
        published=dict(zip(NAMES, PUBLISHED["msr-baby"], strict=True)),
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
        "|  | hr@20 | hr@40 | ndcg@20 | ndcg@40 |",
        "| --- | --- | --- | --- | --- |",
        "| AdaM-Rec as published | 0.0702 | 0.1138 | 0.0264 | 0.0351 |",
        "| half | 0.2500 | 0.2500 | 0.2500 | 0.2500 |",
        "",
        "7 had neither words nor a known wish: all missed.",
        "",
        "Counted: users 5.",
        "",
        "Left out, student: not finished",
    ]
