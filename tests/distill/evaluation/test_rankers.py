"""Rankers over a small real index, and the whole protocol over small shops."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from adamroute import cli
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.request import Request
from adamroute.config import Config
from adamroute.distill.evaluation.protocol import run_protocol
from adamroute.distill.evaluation.rankers import (
    Encoded,
    FinishedParts,
    Found,
    by_chance,
    by_retrieval,
    contenders,
    load_parts,
    place,
    with_wishes,
)
from adamroute.distill.evaluation.ranking_tasks import exact_tasks
from adamroute.errors import ArtifactError, ConfigError, ShopError
from adamroute.progress import SILENT
from adamroute.routing.student import Prediction, RoutingInput
from adamroute.stages import read_manifest
from adamroute.theta import Theta
from tests.distill.market import market_index, market_shop

QUERY = "red lamp please"


def request(query: str = QUERY, name: str = "r1") -> Request:
    return Request(name, "u1", query, market_shop().histories["u1"])


def order(found: Found) -> list[int]:
    """Rows, the best first; ties as they were given."""
    rows, values = found
    return [int(row) for row in rows[np.argsort(-values, kind="stable")]]


def test_a_tie_is_lost_and_an_absent_item_has_no_place() -> None:
    found = np.array([7, 3, 5, 9]), np.array([3.0, 2.0, 2.0, 1.0])
    assert [place(found, row) for row in (7, 3, 5, 9)] == [1.0, 3.0, 3.0, 4.0]
    assert place(found, 8) == np.inf


def test_one_branch_alone_ranks_as_its_index_does_with_ties_lost() -> None:
    index = market_index()
    encoded = Encoded(index, [QUERY])
    vectors = index.encode([QUERY])
    found = by_retrieval(encoded, Theta(0.0, 24))(request(), None)
    rows = np.arange(24)
    worst = index.retriever.mm.ranks(np.repeat(vectors.mm, 24, axis=0), rows, worst=True)
    assert [place(found, row) for row in range(24)] == worst.tolist()
    assert worst.tolist().count(2) == 2  # the two red lamps look alike


def test_both_branches_rank_an_item_by_its_better_place() -> None:
    encoded = Encoded(market_index(), [QUERY])
    first, second, found = (
        by_retrieval(encoded, Theta(a, k))(request(), None)
        for a, k in [(1.0, 4), (0.0, 4), (0.5, 8)]
    )
    rows = found[0].tolist()
    assert set(rows) == {*first[0].tolist(), *second[0].tolist()}
    places = {row: min(place(first, row), place(second, row)) for row in rows}
    for row in rows:  # an item is behind every other whose better place is no worse
        assert place(found, row) == sum(other <= places[row] for other in places.values())


def test_among_some_rows_nothing_else_is_found_and_their_order_is_kept() -> None:
    ranker = by_retrieval(Encoded(market_index(), [QUERY]), Theta(0.0, 24))
    among = np.array([0, 3, 7, 11, 20])
    inside = order(ranker(request(), among))
    assert set(inside) == set(among.tolist())
    assert inside == [row for row in order(ranker(request(), None)) if row in inside]


def test_chance_is_equal_for_equal_seeds_and_fair() -> None:
    one, other = by_chance(10, 1), by_chance(10, 2)
    assert order(one(request(), None)) == order(by_chance(10, 1)(request(), None))
    assert order(one(request(), None)) != order(other(request(), None))
    asked = [Request(f"r{n}", None, QUERY, ()) for n in range(2000)]
    places = [place(one(each, None), 0) for each in asked]
    assert np.mean(places) == pytest.approx(5.5, abs=4 * 2.87 / np.sqrt(2000))


def test_chance_tells_the_best_hundred_of_many_items() -> None:
    rows, values = by_chance(2000, 1)(request(), None)
    assert len(set(rows.tolist())) == 100
    assert values.max() > 0.999 > 0.96 > values.min() > 0.94  # the best .05 of 0..1
    among, _ = by_chance(2000, 1)(request(), np.arange(50, 200))
    assert len(among) == 100
    assert set(among.tolist()) <= set(range(50, 200))


def test_a_request_without_words_asks_what_its_history_prefers() -> None:
    silent, spoken = with_wishes(market_index(), [request(""), request("a bag", "r2")])
    assert (silent.query, spoken.query) == ("red, blue, rug, vase, bag", "a bag")


def test_an_index_alone_gives_the_rows_that_need_no_more() -> None:
    rows = contenders(FinishedParts(market_index(), 24), [request()], fitted=True)
    assert list(rows) == ["random", "text_only", "mm_only", "half"]
    assert [name for name, row in rows.items() if row.seeded] == ["random"]


class Untouchable:
    """A student that must not be asked."""

    name = "untouchable"
    reads_vectors = False

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:  # noqa: ARG002
        raise AssertionError("asked")


def test_rows_that_may_not_be_shown_are_not_worked_out(tiny_run: Config) -> None:
    parts = load_parts(tiny_run)
    assert parts.served is not None
    run = replace(parts, served=replace(parts.served, student=Untouchable()))
    asked = [read_shop(tiny_run.shop).request(read_shop(tiny_run.shop).queries[0])]
    assert list(contenders(run, asked, fitted=False)) == ["random", "text_only", "mm_only", "half"]
    with pytest.raises(AssertionError, match="asked"):
        contenders(run, asked, fitted=True)


def write_shop(folder: Path, queries: list[dict[str, object]]) -> Path:
    folder.mkdir()
    (folder / "items.csv").write_text("id,title\na,cup\nb,mug\n", encoding="utf-8")
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    (folder / "shop.yaml").write_text(
        "name: small\nitems: {file: items.csv, id: id, title: title, text: [title]}\n"
        "queries: {file: queries.jsonl}\n",
        encoding="utf-8",
    )
    return folder


def query(name: str, user: str = "ann", **more: object) -> dict[str, object]:
    return {"query_id": name, "user_id": user, "query": "a cup", "target_id": "a", **more}


def test_repeated_rows_are_one_request_whether_written_out_or_counted(tmp_path: Path) -> None:
    rows = [query("q1"), query("q2", "bob"), query("q1-2")]
    written = read_shop(write_shop(tmp_path / "written", rows))
    counted = read_shop(
        write_shop(tmp_path / "counted", [query("q1", copies=2), query("q2", "bob", copies=1)])
    )
    for shop in (written, counted):
        asked = exact_tasks(shop, shop.queries)
        assert [(one.request.request_id, one.copies) for one in asked] == [("q1", 2), ("q2", 1)]


@pytest.mark.parametrize("copies", [0, -1, "two", 1.5])
def test_copies_that_count_nothing_are_refused(tmp_path: Path, copies: object) -> None:
    shop = read_shop(write_shop(tmp_path / "shop", [query("q1", copies=copies)]))
    with pytest.raises(ShopError, match=r"queries\.jsonl:1: copies '.*', wanted a whole number"):
        exact_tasks(shop, shop.queries)


def test_a_finished_run_is_measured_row_by_row(tiny_run: Config, tmp_path: Path) -> None:
    written = run_protocol(tiny_run, SILENT, trials=3, out=tmp_path)
    report = json.loads((tmp_path / "protocol.json").read_text(encoding="utf-8"))
    whole, test = report["tables"]
    shop = read_shop(tiny_run.shop)
    assert (whole["n"], test["n"]) == (len(shop.queries), len(shop.split("test")))
    assert list(whole["rows"]) == ["random", "text_only", "mm_only", "half"]
    assert list(test["rows"]) == [
        *whole["rows"], "half_scored", "static_scored", "teacher_scored", "student_scored",
    ]  # fmt: skip
    trials = {name: len(row["trials"]) for name, row in test["rows"].items()}
    assert trials == {**dict.fromkeys(trials, 1), "random": 3}
    assert test["rows"]["text_only"]["median"]["hr@20"] > test["rows"]["random"]["median"]["hr@20"]
    page = written.read_text(encoding="utf-8")
    assert f"## queries of the test split (n = {test['n']})" in page
    assert "Medians of 3 trials" in page
    assert (report["left_out"], report["published"]) == ({}, None)
    again = run_protocol(tiny_run, SILENT, trials=3, out=tmp_path / "again")
    assert again.read_text(encoding="utf-8") == page


def test_a_folder_of_the_users_own_keeps_its_files_and_gets_no_manifest(
    tiny_run: Config, tmp_path: Path
) -> None:
    mine = tmp_path / "manifest.json"
    mine.write_text("mine", encoding="utf-8")
    run_protocol(tiny_run, SILENT, trials=1, out=tmp_path)
    assert mine.read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest.json", "protocol.json", "protocol.md",
    ]  # fmt: skip


def test_stages_that_are_missing_are_named_and_their_rows_left_out(
    tiny_run: Config, tmp_path: Path
) -> None:
    bare = tiny_run.model_copy(update={"out": tmp_path / "bare"})
    bare.out.mkdir()
    bare.stage("index").symlink_to(tiny_run.stage("index"), target_is_directory=True)
    page = run_protocol(bare, SILENT, trials=1).read_text(encoding="utf-8")
    for stage in ("labels", "reranker", "student"):
        assert f"Left out, {stage}: {bare.stage(stage)} is not finished. Run: adamroute" in page
    assert "teacher_scored" not in page
    assert set(read_manifest(bare.stage("protocol"), "protocol").inputs) == {
        "shop", "index", "histories", "queries",
    }  # fmt: skip


def test_the_manifest_names_every_stage_that_ranked(tiny_run: Config, tmp_path: Path) -> None:
    whole = tiny_run.model_copy(update={"out": tmp_path / "whole"})
    whole.out.mkdir()
    stages = {"index": "build", "labels": "label", "student": "train", "reranker": "reranker"}
    for name in stages:
        whole.stage(name).symlink_to(tiny_run.stage(name), target_is_directory=True)
    run_protocol(whole, SILENT, trials=1)
    inputs = read_manifest(whole.stage("protocol"), "protocol").inputs
    hashes = {n: read_manifest(tiny_run.stage(n), stage).hash for n, stage in stages.items()}
    assert {name: inputs[name] for name in hashes} == hashes


def test_stages_of_another_run_are_refused(tiny_run: Config, tmp_path: Path) -> None:
    mixed = tiny_run.model_copy(update={"out": tmp_path / "mixed"})
    mixed.out.mkdir()
    for name in ("index", "labels", "student", "calibration"):
        mixed.stage(name).symlink_to(tiny_run.stage(name), target_is_directory=True)
    path = tiny_run.stage("reranker") / "manifest.json"
    reranker = json.loads(path.read_text(encoding="utf-8"))
    reranker["inputs"]["index"] = "another"
    mixed.stage("reranker").mkdir()
    (mixed.stage("reranker") / "manifest.json").write_text(json.dumps(reranker), encoding="utf-8")
    with pytest.raises(ArtifactError, match="made from index another"):
        run_protocol(mixed, SILENT, trials=1)


def test_an_index_of_other_items_is_refused(tiny_run: Config, tmp_path: Path) -> None:
    other = write_shop(tmp_path / "other", [query("q1")])
    with pytest.raises(ArtifactError, match=r"holds 120 items, the shop .* 2 others"):
        run_protocol(tiny_run.model_copy(update={"shop": other}), SILENT, trials=1)


def test_no_trials_are_no_measurement(tiny_run: Config) -> None:
    with pytest.raises(ConfigError, match="--trials 0"):
        run_protocol(tiny_run, SILENT, trials=0)


def test_the_verb_prints_the_page(
    tiny_run: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(tiny_run.model_dump(mode="json")), encoding="utf-8")
    verb = ["adamroute", "protocol", str(config), "--trials", "1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", verb)
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    assert capsys.readouterr().out == (tmp_path / "out" / "protocol.md").read_text(
        encoding="utf-8"
    )
