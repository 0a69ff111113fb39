"""The ranks stage: written requests by parts that never saw their items, logged ones as served."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from adamroute.assembly import load_ranker
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import Config
from adamroute.distill.labels.requests import write_ranks
from adamroute.distill.labels.synthetic import Writer, Written
from adamroute.encoders.query_adapter import QueryAdapter
from adamroute.leaning import reach_with
from adamroute.pipeline import RANKS
from adamroute.progress import SILENT
from adamroute.retrieval.cross_fit import FOLDER, CrossFitted, FoldParts, load_folds
from adamroute.retrieval.ranks import QueryRanks, load_ranks, rank_queries
from adamroute.retrieval.replay import TargetRanks
from adamroute.stages import read_manifest
from adamroute.teacher.constants import read_teacher_file
from adamroute.teacher.paraphrase import load_paraphraser
from tests.distill.market import (
    label_market,
    market_config,
    market_index,
    market_shop,
    rank_market,
    write_shop,
)

INDEX = market_index()
ITEMS_ALONE = replace(market_shop(queries=False), histories={})


def ranked(out: Path, shop: Shop = ITEMS_ALONE, **labels: float) -> Config:
    config = market_config(out, **labels)
    rank_market(config, shop, INDEX, SILENT)
    return config


def folds(config: Config) -> CrossFitted:
    return load_folds(config.stage("index"), INDEX.branches, INDEX.text_encoder)


def requests_of(config: Config, shop: Shop = ITEMS_ALONE) -> tuple[Written, ...]:
    """What the writer of the stage writes, from what the stage left."""
    words = load_paraphraser(RANKS.path(config))
    writer = Writer(INDEX.ids, INDEX.words, folds(config).claims, words)
    return writer.write(
        count=config.labels.synthetic_requests, seed=config.seed, split_items=not shop.queries
    )


def stored(config: Config, queries: tuple[Query, ...]) -> QueryRanks:
    return load_ranks(RANKS.path(config), queries)


def same(one: TargetRanks, other: TargetRanks) -> bool:
    return all(
        np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(TargetRanks)
    )


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return ranked(tmp_path_factory.mktemp("honest"))


def test_requests_are_the_writers_with_the_claims_and_words_that_were_kept(honest: Config) -> None:
    made = requests_of(honest)
    assert synthetic_queries(ITEMS_ALONE, RANKS.path(honest)) == tuple(r.query for r in made)
    assert 0 < sum(request.unstated for request in made) < len(made) == 60


def test_a_claim_that_is_asked_for_unstated_does_not_stand_in_the_ranked_listing(
    honest: Config,
) -> None:
    made, proof = requests_of(honest), folds(honest)
    unstated = np.array([request.unstated for request in made])
    queries = tuple(request.query for request in made)
    known, index = stored(honest, queries), rank_queries(INDEX, queries, 1)
    texts = [query.text for query in queries]
    found = proof.ranks(texts, known.text_vectors, known.targets, unstated=unstated)
    assert same(known.ranks, found)
    worst = proof.ranks(texts, known.text_vectors, known.targets, unstated=unstated, worst=True)
    assert same(known.worst, worst)
    # Nothing is fitted in this shop, so that what is stated ranks as the index has it.
    assert same(known.ranks.take(~unstated), index.ranks.take(~unstated))
    assert np.mean(np.log(known.text[unstated])) > np.mean(np.log(index.text[unstated]))


def test_a_leaky_run_ranks_them_by_the_index_itself(honest: Config, tmp_path: Path) -> None:
    leaky = ranked(tmp_path, out_of_sample=False)
    queries = synthetic_queries(ITEMS_ALONE, RANKS.path(leaky))
    assert queries == synthetic_queries(ITEMS_ALONE, RANKS.path(honest))
    index = rank_queries(INDEX, queries, 1)
    assert same(stored(leaky, queries).ranks, index.ranks)
    assert not same(stored(honest, queries).ranks, index.ranks)


def test_pseudo_queries_are_verified_as_written_requests_are_ranked(
    honest: Config, tmp_path: Path
) -> None:
    assert load_ranker(market_config(tmp_path, out_of_sample=False), INDEX) is INDEX
    proof = load_ranker(honest, INDEX)
    assert isinstance(proof, CrossFitted)
    assert proof.fold.tolist() == folds(honest).fold.tolist()


def test_a_folds_own_parts_rank_its_items(tmp_path: Path) -> None:
    """Of fold 0 a text branch that knows the fold's items and has turned all others round."""
    config = ranked(tmp_path)
    queries = synthetic_queries(ITEMS_ALONE, RANKS.path(config))
    before, own = stored(config, queries), folds(config).fold == 0
    turned = np.where(own[:, None], INDEX.text_vectors, -INDEX.text_vectors)
    size = INDEX.text_vectors.shape[1]
    side = QueryAdapter(np.zeros(size, np.float32), np.eye(size, dtype=np.float32))
    FoldParts(turned, side, None, None).save(config.stage("index") / FOLDER, 0)
    shutil.rmtree(RANKS.path(config))
    RANKS.run(config, lambda work: write_ranks(config, (), INDEX, work, SILENT))
    after, here = stored(config, queries), own[before.targets]
    assert np.all(after.text[here] <= own.sum())  # no other item is above them any more
    assert before.text[here].max() > own.sum()
    assert np.array_equal(after.mm, before.mm)
    assert same(after.ranks.take(~here), before.ranks.take(~here))


def test_logged_queries_rank_as_they_are_served_and_leave_the_written_ones_no_lists(
    tmp_path: Path,
) -> None:
    shop = market_shop()
    config = ranked(tmp_path, shop)
    own = rank_queries(INDEX, shop.queries, len(INDEX))
    found = stored(config, shop.queries)
    assert same(found.ranks, own.ranks)
    assert found.text_lists.tolist() == own.text_lists.tolist()
    written = synthetic_queries(shop, RANKS.path(config))
    assert {query.split for query in written} == {"train"}
    assert stored(config, written).text_lists.shape == (60, 0)
    assert read_manifest(RANKS.path(config), "ranks").counts == {
        "synthetic": {"train": 60}, "logged": {"train": 12, "calibration": 6, "test": 6},
    }  # fmt: skip


def test_a_shop_of_items_alone_keeps_lists_for_the_reports_that_ask_its_requests(
    honest: Config,
) -> None:
    queries = synthetic_queries(ITEMS_ALONE, RANKS.path(honest))
    assert stored(honest, queries).mm_lists.shape == (60, len(INDEX))


def test_twenty_judged_queries_are_outcomes_like_any_and_raise_trust_by_their_number(
    tmp_path: Path,
) -> None:
    config = market_config(tmp_path)
    write_shop(ITEMS_ALONE, config.shop)
    rows = (
        f'{{"query": "{q.text} {n}", "item_id": "{q.target_id}", "grade": 3}}\n'
        for n, q in enumerate(market_shop().queries[:20])
    )
    (tmp_path / "judged.jsonl").write_text("".join(rows), encoding="utf-8")
    shop = read_shop(config.shop, tmp_path / "judged.jsonl")
    train = shop.split("train")
    assert len(shop.queries) == 20 > len(train) > 0
    counts = label_market(config, shop, INDEX).counts
    assert counts["rows"] == {"teacher": len(train), "outcome": len(train), "synthetic": 60}
    assert counts["no_evidence"] == len(train)  # nobody's history is known
    reach = read_teacher_file(config.stage("labels")).leaning.reach
    assert reach_with(0) < reach == reach_with(len(train))
