"""The teacher measured on the market shop: real labels, real branches, real replay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adamroute.config import Config
from adamroute.distill.evaluation.schema import FIXED_BUDGETS
from adamroute.distill.evaluation.teaching.measure import Scene, Taught, measure_teacher
from adamroute.progress import SILENT
from adamroute.retrieval.ranks import rank_queries
from adamroute.retrieval.replay import recalled, regret
from adamroute.theta import Theta
from tests.distill.market import label_market, market_config, market_index, market_shop

INDEX, SHOP = market_index(), market_shop()
KNOWN = rank_queries(INDEX, SHOP.queries, 1)
SPLIT = np.array([query.split for query in SHOP.queries])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    found = market_config(tmp_path_factory.mktemp("market"))
    label_market(found, SHOP, INDEX)
    return found


@pytest.fixture(scope="module")
def measured(config: Config) -> Taught:
    scene = Scene(
        asked=SHOP.split("test"),
        known=KNOWN.take(SPLIT == "test"),
        fit=KNOWN.take(SPLIT != "test"),
        train=KNOWN.take(SPLIT == "train"),
    )
    return measure_teacher(config, SHOP, INDEX, scene, SILENT)


def test_some_of_the_known_requests_keep_their_ranks_and_names() -> None:
    few = KNOWN.take(SPLIT == "test")
    assert few.request_ids == tuple(query.query_id for query in SHOP.split("test"))
    assert few.text.tolist() == KNOWN.text[SPLIT == "test"].tolist()
    assert few.text_lists.shape == (len(few), 1)


@pytest.mark.parametrize("name", ["teacher", "prior_only"])
def test_recall_at_k_keeps_the_alpha_of_the_answer_and_of_its_start(
    measured: Taught, name: str
) -> None:
    known = KNOWN.take(SPLIT == "test")
    for b, said in enumerate(measured.answers):
        alpha = (said.theta if name == "teacher" else said.theta0).alpha
        hits = [
            recalled(known.text[[b]], known.mm[[b]], Theta(alpha, k))[0] for k in FIXED_BUDGETS
        ]
        assert measured.at_k[name][b].tolist() == hits  # type: ignore[index]


def test_regret_and_recall_are_those_of_the_answers_own_theta(measured: Taught) -> None:
    known = KNOWN.take(SPLIT == "test")
    for b, said in enumerate(measured.answers):
        pair = known.text[[b]], known.mm[[b]]
        assert measured.recall[b] == recalled(*pair, said.theta)[0]
        assert measured.regrets[b] == regret(int(pair[0][0]), int(pair[1][0]), said.theta)
    assert np.all(measured.at_k["oracle"] >= measured.at_k["teacher"])


def test_the_history_is_counted_without_the_item_that_is_asked_for(measured: Taught) -> None:
    for query, liked in zip(measured.queries, measured.liked, strict=True):
        history = SHOP.histories[query.user_id]
        kept = [x for x in history if x.positive and x.item_id != query.target_id]
        assert liked == len(kept)


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
    train = KNOWN.take(SPLIT == "train")
    scene = Scene(SHOP.split("train"), train, train, train)
    found = measure_teacher(config, SHOP, INDEX, scene, SILENT)
    assert len(found.ranks.pseudo_text) == 0
    assert np.array_equal(found.at_k["teacher"], found.at_k["prior_only"])
