"""The teacher measured on the market shop: real labels, real branches, real replay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Split
from adamroute.config import Config
from adamroute.distill.evaluation.bench import Bench
from adamroute.distill.evaluation.learned import decision_ms
from adamroute.distill.evaluation.splits import FIXED_BUDGETS
from adamroute.distill.evaluation.teacher_report import Taught, facts, measure_teacher
from adamroute.llm.chat import Call
from adamroute.retrieval.ranks import rank_queries
from adamroute.retrieval.replay import TargetRanks, recalled, regrets
from adamroute.teacher.answer import TraceStep
from adamroute.theta import Theta
from tests.distill.market import label_market, market_config, market_index, market_shop
from tests.distill.taught import answer

INDEX, SHOP = market_index(), market_shop()
KNOWN = rank_queries(INDEX, SHOP.queries, len(INDEX))
SPLIT = np.array([query.split for query in SHOP.queries])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    found = market_config(tmp_path_factory.mktemp("market"))
    label_market(found, SHOP, INDEX)
    return found


def bench_of(config: Config, split: Split, *fitted: Split) -> Bench:
    """One split is asked, the others are fitted on."""
    asked, fit = SPLIT == split, np.isin(SPLIT, fitted)  # noqa: SIM300
    queries = tuple(q for q in SHOP.queries if q.split in fitted)
    return Bench(
        config, SHOP, INDEX, SHOP.split(split), KNOWN.take(asked), queries, KNOWN.take(fit)
    )


@pytest.fixture(scope="module")
def bench(config: Config) -> Bench:
    return bench_of(config, "test", "train", "calibration")


def own_ranks(place: int) -> TargetRanks:
    """Of one of the test split's requests."""
    return KNOWN.take(SPLIT == "test").ranks.take(np.array([place]))


@pytest.fixture(scope="module")
def measured(bench: Bench) -> Taught:
    return measure_teacher(bench)


def test_some_of_the_known_requests_keep_their_ranks_and_names() -> None:
    few = KNOWN.take(SPLIT == "test")
    assert few.request_ids == tuple(query.query_id for query in SHOP.split("test"))
    assert few.text.tolist() == KNOWN.text[SPLIT == "test"].tolist()
    assert few.text_lists.shape == (len(few), len(INDEX))


@pytest.mark.parametrize("name", ["teacher", "prior_only"])
def test_recall_at_k_keeps_the_alpha_of_the_answer_and_of_its_start(
    bench: Bench, measured: Taught, name: str
) -> None:
    way = bench.constants.combine
    found = measured.table.values(name, *(f"recall@{k}" for k in FIXED_BUDGETS))
    for b, said in enumerate(bench.taught({})):
        alpha = (said.theta if name == "teacher" else said.theta0).alpha
        hits = [recalled(own_ranks(b), Theta(alpha, k), way)[0] for k in FIXED_BUDGETS]
        assert found[b].tolist() == hits


def test_regret_and_recall_are_those_of_the_answers_own_theta(
    bench: Bench, measured: Taught
) -> None:
    way, table = bench.constants.combine, measured.table
    for b, said in enumerate(bench.taught({})):
        own = own_ranks(b)
        assert table.of("teacher", "recall")[b] == recalled(own, said.theta, way)[0]
        assert table.of("teacher", "regret")[b] == regrets(own, [said.theta], way)[0]
    for k in FIXED_BUDGETS:
        assert np.all(table.of("oracle", f"recall@{k}") >= table.of("teacher", f"recall@{k}"))


def test_the_history_is_counted_without_the_item_that_is_asked_for(
    bench: Bench, measured: Taught
) -> None:
    spans = {0: "0", 1: "1 to 2", 2: "1 to 2", 3: "3 to 5", 4: "3 to 5", 5: "3 to 5"}
    told = measured.table.fact("history").to_list()
    for query, span in zip(bench.queries, told, strict=True):
        history = SHOP.histories[query.user_id]
        kept = [x for x in history if x.positive and x.item_id != query.target_id]
        assert span == spans[len(kept)]


def test_ranks_are_those_of_the_last_labelling_round_and_of_train_queries(
    config: Config, measured: Taught
) -> None:
    lines = (config.stage("labels") / "rows.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["source"] == "teacher"]
    assert measured.ranks.pseudo_text.tolist() == [r for row in rows for r in row["text_ranks"]]
    assert measured.ranks.pseudo_mm.tolist() == [r for row in rows for r in row["mm_ranks"]]
    assert measured.ranks.real_text.tolist() == KNOWN.text[SPLIT == "train"].tolist()


def test_a_shop_without_pseudo_queries_is_measured_too(tmp_path: Path) -> None:
    config = market_config(tmp_path)
    teacher = config.teacher.model_copy(update={"evidence": 0})
    config = config.model_copy(update={"teacher": teacher})
    label_market(config, SHOP, INDEX)
    found = measure_teacher(bench_of(config, "train", "train"))
    assert len(found.ranks.pseudo_text) == 0
    for k in FIXED_BUDGETS:
        mine, prior = (found.table.of(n, f"recall@{k}") for n in ("teacher", "prior_only"))
        assert np.array_equal(mine, prior)


def asked(*ms: float) -> TraceStep:
    calls = tuple(Call("theta_update@1", 10, 5, spent) for spent in ms)
    return TraceStep("r", 0, "start", None, None, None, None, 0.5, 40, "why", calls=calls)


@pytest.mark.parametrize(
    ("steps", "ms"),
    [
        ((), 8.0),  # no call: what the clock said
        ((asked(1.0, 2.0),), 8.0),  # calls at once
        ((asked(900.0), asked(300.0, 50.0)), 1250.0),  # kept replies, read in no time
    ],
)
def test_a_kept_reply_costs_what_it_cost_when_it_was_asked(
    steps: tuple[TraceStep, ...], ms: float
) -> None:
    said = replace(answer("r", 1), steps=steps)
    assert decision_ms(said) == ms
    assert facts([Request("r", None, "a rug", ())], [said])["ms"].to_list() == [ms]
