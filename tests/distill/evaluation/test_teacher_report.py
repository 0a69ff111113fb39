"""teacher.json and teacher.md: by hand from four requests, and from a real small run."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from PIL import Image

from adamroute import cli
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.shop import Catalogue, Item, Shop
from adamroute.config import Config
from adamroute.distill.evaluation.bench import open_bench
from adamroute.distill.evaluation.pages import teacher_page, teacher_verdict
from adamroute.distill.evaluation.pictures import Ranks
from adamroute.distill.evaluation.schema import TeacherReport
from adamroute.distill.evaluation.summary import minus
from adamroute.distill.evaluation.table import pooled
from adamroute.distill.evaluation.teacher_report import (
    Taught,
    build_teacher_report,
    hardness,
    run_teacher_report,
    write_teacher_report,
)
from adamroute.distill.labels.label import relabel
from adamroute.errors import ArtifactError, ConfigError, LabelError
from adamroute.progress import SILENT
from adamroute.stages import read_manifest
from tests.distill.market import market_config, market_index, market_shop
from tests.distill.taught import taught

NOTHING = np.empty(0)


def by_hand(found: Taught | None = None) -> TeacherReport:
    config = Config(name="small", shop=Path("shop"), out=Path("out"))
    catalogue = Catalogue((Item("item", "A rug", "rug", {}, "rug", None),))
    shop = Shop("small_shop", Path("shop"), catalogue, {}, (), "none")
    return build_teacher_report(config, shop, found or taught(), "test split", remembered=False)


def page_is_well_formed(page: str) -> None:
    width = 0
    for line in page.splitlines():
        columns = line.replace("\\|", "").count("|")
        assert columns in (0, width) or width == 0, line
        width = columns


def read(page: Path) -> TeacherReport:
    return TeacherReport.model_validate_json((page.parent / "teacher.json").read_text())


def test_gain_costs_and_fallback_shares_are_those_worked_by_hand() -> None:
    report = by_hand()
    assert (report.n_queries, report.n_users) == (4, 2)
    assert report.rows["teacher"].recall == pytest.approx(8 / 12)
    assert report.minus["static_best"]["mean"].mean == pytest.approx(2 / 12)
    assert report.gain_share == pytest.approx((8 - 6) / (9 - 6))
    assert report.fallbacks == {"no_neighbours": 0.5, "odd|name": 0.25}  # once a request
    assert report.no_evidence == 0.25
    assert report.regret == pytest.approx(0.1)
    assert (report.teacher_budget, report.costs["ms"], report.costs["llm_calls"]) == (40, 8.0, 0.0)


def test_the_teacher_is_held_against_the_best_that_a_shop_has_today_and_every_rival() -> None:
    report = by_hand()
    assert list(report.minus) == [
        "static_best", "rrf", "fusion_half", "fusion_best", "knn", "kind_guessed", "kind_known",
        "prior_only", "oracle",
    ]  # fmt: skip
    assert report.today == "static_best"  # all four recall 6 of 12: the first of them
    assert report.rows["teacher"].minus("today", "mean").mean == pytest.approx(2 / 12)
    other = taught()
    better = pl.when(pl.col("router") == "fusion_best").then(1.0).otherwise("value")
    table = replace(other.table, rows=other.table.rows.with_columns(value=better))
    report = by_hand(replace(other, table=table))
    assert report.today == "fusion_best"
    assert report.rows["teacher"].minus("today", "mean").mean == pytest.approx(8 / 12 - 1)
    assert report.rows["teacher"].minus("static_best", "mean").mean == pytest.approx(2 / 12)
    said = teacher_verdict(report)[0]
    assert "the best that a shop has without a router, best fixed linear fusion, 100.0 %" in said


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 0.0),
        ([1, 2, 3, 4], [3, 4, 5, 6], 0.5),  # at 2: half against none
        ([1, 1, 2], [1, 2, 2], 1 / 3),  # at 1: two of three against one
        ([1], [2, 3, 4], 1.0),
        ([1, 10], [5], 0.5),
    ],
)
def test_the_distance_is_the_widest_gap_of_the_distribution_functions(
    one: list[float], other: list[float], distance: float
) -> None:
    mine, theirs = np.array(one, np.float64), np.array(other, np.float64)
    for pair in ((mine, theirs), (theirs, mine)):
        found = hardness(Ranks(pair[0], pair[0], pair[1], pair[1]))
        assert found["text"]["distance"] == pytest.approx(distance)


def test_hardness_compares_both_branches() -> None:
    found = hardness(taught().ranks)
    text, mm = found["text"], found["multimodal"]
    assert (text["n_pseudo"], text["n_real"], mm["n_real"]) == (4, 4, 2)
    assert (text["median_pseudo"], text["median_real"]) == (1.5, 4.5)
    assert text["distance"] == 0.75  # at 2: three of four pseudo, no real one
    assert mm["distance"] == 1.0


def test_without_pseudo_queries_or_real_ones_there_is_nothing_to_compare() -> None:
    ranks = taught().ranks
    assert hardness(replace(ranks, real_text=NOTHING, real_mm=NOTHING)) == {}
    assert hardness(Ranks(NOTHING, NOTHING, ranks.real_text, ranks.real_mm)) == {}


def test_differences_are_paired_at_every_budget_and_over_all() -> None:
    found = minus(taught().table, "teacher", "static_best")
    assert found["20"].mean == pytest.approx(1 / 4)  # only request 3 at K = 20
    assert found["40"].mean == pytest.approx(1 / 4)  # only request 1 at K = 40
    assert found["100"].mean == 0.0
    assert found["100"].ci95 == (0.0, 0.0)
    assert found["mean"].mean == pytest.approx(2 / 12)
    # Both users gain one hit of six, so no way of drawing them changes the mean.
    assert found["mean"].ci95 == pytest.approx((1 / 6, 1 / 6))


def test_slices_split_the_requests_by_kind_history_and_steps() -> None:
    slices = by_hand().slices
    sizes = {name: {k: part["n"] for k, part in found.items()} for name, found in slices.items()}
    assert sizes == {
        "kind": {"functional": 1, "visual": 2},
        "history": {"0": 1, "3 to 5": 2, "21 and more": 1},
        "steps": {"0": 1, "1": 1, "2": 2},
    }
    assert list(sizes["history"]) == ["0", "3 to 5", "21 and more"]
    visual = slices["kind"]["visual"]
    assert visual["teacher"] == pytest.approx(5 / 6)
    assert visual["static_best"] == pytest.approx(4 / 6)
    assert visual["oracle"] == 1.0
    assert visual["regret"] == pytest.approx(0.05)
    assert visual["minus_static_best"].mean == pytest.approx(1 / 6)


def test_folds_are_pooled_request_by_request() -> None:
    once, twice = taught(), pooled([taught(), taught()])
    assert len(twice.table) == 8
    mine = once.table.of("teacher", "recall_at_k_mean")
    assert np.array_equal(twice.table.of("teacher", "recall_at_k_mean"), np.tile(mine, 2))
    assert len(twice.ranks.real_mm) == 4
    assert hardness(twice.ranks)["text"]["distance"] == 0.75


def test_the_page_says_the_verdict_and_no_name_breaks_its_tables(tmp_path: Path) -> None:
    report = by_hand()
    write_teacher_report(tmp_path, report, taught(), "adamroute report small.yaml --teacher")
    page = (tmp_path / "teacher.md").read_text()
    assert page.splitlines()[2] == " ".join(teacher_verdict(report))
    assert "0.67 of the gain of knowing the kind" in page
    assert "| odd\\|name | 25.0 % |" in page
    page_is_well_formed(page)
    for name in ("rows.png", "hardness.png"):
        assert f"({name})" in page
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 800


def test_what_cannot_be_compared_is_said_in_words() -> None:
    report = by_hand().model_copy(update={"gain_share": None, "hardness": {}, "fallbacks": {}})
    page = teacher_page(report, "command")
    assert "knowing the kind gains nothing here" in page
    assert "wrote no pseudo-query" in page
    assert "No fallback of any kind happened." in page
    assert "hardness.png" not in page


def test_the_test_split_of_a_real_run_is_reported_by_the_command_line(
    tiny_run: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, config = tmp_path / "out", tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(tiny_run.model_dump(mode="json")), encoding="utf-8")
    arguments = ["adamroute", "report", str(config), "--teacher", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    page = out / "teacher.md"
    report = read(page)
    wanted = read_shop(tiny_run.shop).split("test")
    assert report.n_queries == len(wanted)
    assert f"{config} --teacher" in page.read_text()
    assert report.costs["ms"] is not None
    assert report.rows["oracle"].recall >= report.rows["teacher"].recall
    assert sum(part["n"] for part in report.slices["history"].values()) == len(wanted)
    manifest = read_manifest(out, "teacher-report")
    assert manifest.counts == {"requests": len(wanted)}
    assert manifest.inputs["labels"] == read_manifest(tiny_run.stage("labels"), "label").hash
    page_is_well_formed(page.read_text())


def test_folds_ask_every_query_once_and_label_anew(tiny_run: Config, tmp_path: Path) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path / "run"})
    for name in ("index", "ranks"):
        shutil.copytree(tiny_run.stage(name), config.stage(name))
    stale = config.out / "folds-teacher" / "1-of-3" / "labels" / "rows.jsonl"
    stale.parent.mkdir(parents=True)
    stale.write_text("stale")
    first = run_teacher_report(config, SILENT, relabel=relabel, folds=3)
    report = read(first)
    assert report.n_queries == len(read_shop(config.shop).queries)
    assert report.queries == "all queries, 3 folds over users"
    assert report.costs["ms"] is None
    assert first.parent == config.out / "folds-teacher" / "report-teacher"
    assert json.loads(stale.read_text().splitlines()[0])["source"] == "teacher"
    folds = [config.out / "folds-teacher" / f"{n}-of-3" / "labels" for n in (1, 2, 3)]
    made_of = [read_manifest(folder, "label").config["fold"] for folder in folds]
    assert [fold["number"] for fold in made_of if isinstance(fold, dict)] == [0, 1, 2]
    before = first.with_name("teacher.json").read_text()
    run_teacher_report(config, SILENT, relabel=relabel, folds=3)
    assert first.with_name("teacher.json").read_text() == before


def test_a_queries_file_is_reported_and_excludes_folds(tiny_run: Config, tmp_path: Path) -> None:
    target = read_shop(tiny_run.shop).catalogue.items[0].item_id
    row = {"query_id": "a", "user_id": "stranger", "query": "a thing", "target_id": target}
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({**row, "split": "train"}) + "\n")
    page = run_teacher_report(
        tiny_run, SILENT, relabel=relabel, queries=path, out=tmp_path / "out"
    )
    report = read(page)
    assert (report.queries, report.no_evidence) == ("one.jsonl", 1.0)
    assert report.fallbacks["no_history"] == 1.0
    with pytest.raises(ConfigError, match="exclude each other"):
        run_teacher_report(tiny_run, SILENT, relabel=relabel, queries=path, folds=3)


def test_a_folder_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    config = market_config(tmp_path / "run")
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        run_teacher_report(config, SILENT, relabel=relabel, out=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_nothing_to_report_on_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="report --teacher: 0 requests to report on and 18 of"):
        open_bench(
            market_config(tmp_path), market_shop(), market_index(), (), verb="report --teacher"
        )
