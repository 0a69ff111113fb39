"""report.json, report.md, the pictures and the per-request file, from measured outcomes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from adamroute.catalogue.shop import Catalogue, Item, Shop
from adamroute.config import Config
from adamroute.distill.evaluation import routers as registry
from adamroute.distill.evaluation.metrics import METRICS, of_place
from adamroute.distill.evaluation.outcomes import split
from adamroute.distill.evaluation.pages import (
    examples,
    fallback_counts,
    quarters,
    separation,
    significance,
    verdict,
)
from adamroute.distill.evaluation.report import Measured, measured, run_report, write_report
from adamroute.distill.evaluation.routers import RouterEntry, routers
from adamroute.distill.evaluation.schema import Difference, Report
from adamroute.errors import ConfigError
from adamroute.progress import SILENT
from adamroute.teacher.belief import evidence_belief
from adamroute.teacher.difficulty import Difficulty
from tests.distill.worlds import CONSTANTS, B, bench, measured_world, queries, requests, told

ROW_KEYS = {
    "recall", "recall_augmented", "recall_pessimistic", "hr@20", "hr@40", "ndcg@20", "ndcg@40",
    "mean_budget", "mean_candidates", "fallback_rate", "llm_calls", "tokens", "p50_ms", "p95_ms",
    "recall_at_k", "ci95", "minus_static_best",
}  # fmt: skip


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    home = tmp_path_factory.mktemp("run")
    return Config(name="small", shop=home / "shop", out=home / "out")


@pytest.fixture(scope="module")
def shop(config: Config) -> Shop:
    items = (Item("item0", "A rug", "rug", {}, "rug", None),)
    catalogue = Catalogue(items)
    asked = queries(requests())
    return Shop("small_shop", config.shop, catalogue, {}, asked, "none")


def write(found: Measured, folder: Path, config: Config, shop: Shop) -> Report:
    folder.mkdir(parents=True)
    command = "adamroute report small.yaml"
    return write_report(folder, config, shop, found, queries="test split", command=command)


@pytest.fixture(scope="module")
def folder(config: Config, shop: Shop) -> Path:
    written = config.stage("report")
    write(measured_world(), written, config, shop)
    return written


def test_what_the_run_lacks_stands_in_the_report_and_on_its_page(
    config: Config, shop: Shop, tmp_path: Path
) -> None:
    reason = "calibrate: 3 requests of 1 users"
    found = replace(measured_world(), lacks=(reason, reason))  # as two folds say it
    assert write(found, tmp_path / "report", config, shop).lacks == (reason,)
    assert f"- {reason}\n" in (tmp_path / "report" / "report.md").read_text()


def test_report_json_has_the_keys_of_the_contract(folder: Path) -> None:
    raw = json.loads((folder / "report.json").read_text())
    assert set(raw) == {
        "format", "shop", "queries", "n_queries", "n_users", "teacher_policy", "calibrated_on",
        "mean_budget", "commit", "rows", "agreement", "slices", "lacks",
    }  # fmt: skip
    assert (raw["format"], raw["shop"], raw["n_queries"], raw["n_users"]) == (
        1,
        "small_shop",
        B,
        B // 2,
    )
    assert set(raw["rows"]) == set(routers("report"))
    for row in raw["rows"].values():
        assert set(row) == ROW_KEYS
        assert set(row["recall_at_k"]) == {"20", "40", "100"}
        assert {"recall", "recall_at_k_mean"} <= set(row["minus_static_best"])
    assert set(raw["agreement"]) == {
        "alpha_mae", "top_bin", "kl", "budget_ratio", "win", "tie", "loss", "calls_saved",
        "tokens_saved",
    }  # fmt: skip
    assert raw["slices"]["kind"]["visual"]["student"]["recall_at_k"]["20"] >= 0


def test_what_was_written_is_read_back_the_same(folder: Path) -> None:
    text = (folder / "report.json").read_text()
    assert Report.model_validate_json(text).model_dump_json(indent=2) + "\n" == text


@pytest.mark.parametrize("change", ["drop", "add", "nan"])
def test_a_report_with_a_row_missing_a_key_too_many_or_nan_is_refused(
    folder: Path, change: str
) -> None:
    raw = json.loads((folder / "report.json").read_text())
    if change == "drop":
        del raw["rows"]["oracle"]
    elif change == "add":
        raw["rows"]["oracle"]["extra"] = 1
    else:
        raw["mean_budget"] = float("nan")
    with pytest.raises(ValidationError):
        Report.model_validate(raw)


def test_the_same_measurements_write_the_same_bytes(
    folder: Path, config: Config, shop: Shop, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    write(measured_world(), again, config, shop)
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 7
    for name in names:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name


def test_agreement_counts_bins_budgets_and_calls_by_hand(folder: Path) -> None:
    agreement = Report.model_validate_json((folder / "report.json").read_text()).agreement
    kinds = requests().kinds
    far = {"functional": 0.3, "mixed": 0.1, "visual": 0.4}  # student .8, .4, .1; teacher .5
    assert agreement["alpha_mae"] == pytest.approx(sum(far[str(kind)] for kind in kinds) / B)
    assert agreement["top_bin"] == 0.0
    assert agreement["budget_ratio"] == pytest.approx(40 / 80)
    assert (agreement["calls_saved"], agreement["tokens_saved"]) == (2.0, 30.0)
    votes = evidence_belief((3,), (5,), Difficulty(), CONSTANTS.bins, CONSTANTS.lam).votes
    probs = [p.alpha_probs for p in told(requests()).predictions[1:]]  # no evidence of the first
    divergences = [float(np.sum(votes * np.log(votes / p))) for p in probs]
    assert agreement["kl"] == pytest.approx(np.mean(divergences))
    assert agreement["win"] + agreement["tie"] + agreement["loss"] == pytest.approx(1.0)


def test_the_page_starts_with_the_verdict_and_shows_every_router(folder: Path) -> None:
    page = (folder / "report.md").read_text()
    report = Report.model_validate_json((folder / "report.json").read_text())
    assert page.splitlines()[2] == " ".join(verdict(report))
    for name in ("best fixed split", "LoRA student", "random split", "oracle", "rank fusion"):
        assert name in page
    assert "adamroute report small.yaml" in page
    assert "small\\_shop" in page  # markup in names is escaped


def test_a_query_cannot_break_out_of_its_table_cell(folder: Path) -> None:
    lines = [x for x in (folder / "report.md").read_text().splitlines() if "a \\| red rug" in x]
    assert lines
    assert all(x.replace("\\|", "").count("|") == 7 for x in lines)


def test_every_table_of_the_page_is_well_formed(folder: Path) -> None:
    width = 0
    for line in (folder / "report.md").read_text().splitlines():
        columns = line.replace("\\|", "").count("|")
        assert columns in (0, width) or width == 0, line
        width = columns


def test_three_pictures_are_drawn_and_linked(folder: Path) -> None:
    page = (folder / "report.md").read_text()
    for name in ("routers.png", "alphas.png", "curves.png"):
        assert f"({name})" in page
        with Image.open(folder / name) as picture:
            assert picture.width > 800
            colours = picture.convert("RGB").getcolors(1 << 24)
            assert colours is not None
            assert len(colours) > 100
    assert not list(folder.glob("*.partial"))


def test_every_request_has_a_row_of_its_own(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    assert len(rows) == B
    assert rows[0]["student"] == {"alpha": 0.8, "budget": 40}
    assert [row["fallback"] for row in rows[:6]] == [
        "low_confidence",
        *[None] * 4,
        "low_confidence",
    ]


def test_fallbacks_are_counted_by_name() -> None:
    assert fallback_counts(measured_world().table) == {
        "cascade: low_confidence": B // 5,
        "teacher: no_neighbours": B,
    }


def test_separation_is_perfect_for_a_student_that_hears_the_kind() -> None:
    assert separation(measured_world().table) == (1.0, 1.0)


def test_confidence_is_held_against_what_was_kept_quarter_by_quarter() -> None:
    confidence, kept = np.linspace(0.2, 0.9, B), np.arange(B) >= B - 8
    found = quarters(confidence, kept)  # the last fifth is within epsilon
    assert [q["n"] for q in found] == [B // 4] * 4
    assert [q["kept"] for q in found] == [0.0, 0.0, 0.0, pytest.approx(8 / 10)]
    assert found[0]["confidence"] < found[3]["confidence"]


def test_fewer_than_three_folds_is_an_error(config: Config) -> None:
    with pytest.raises(ConfigError, match="--folds 2: train, calibration and test need one each"):
        run_report(config, SILENT, folds=2)


def test_gained_and_lost_requests_are_those_of_the_table() -> None:
    table = measured_world().table
    mine, static = (table.of(n, "recall_at_k_mean") for n in ("student", "static_best"))
    assert examples(table, gained=True)[0] == (mine > static).sum()
    assert examples(table, gained=False)[0] == (mine < static).sum()


def test_one_entry_among_the_metrics_stands_in_every_row_and_on_the_page(
    config: Config, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mrr = of_place("MRR", lambda places: 1.0 / places, percent=False)
    monkeypatch.setitem(METRICS, "mrr", mrr)
    report = write(measured(bench(), {}), tmp_path / "mrr", config, shop)
    for name, row in report.rows.items():
        assert row["hr@20"] / 20 <= row["mrr"] <= 1.0, name
        assert row["ci95"]["mrr"][0] <= row["mrr"] <= row["ci95"]["mrr"][1]
        assert "mrr" in row["minus_static_best"]
    assert "| NDCG@40 | MRR |" in (tmp_path / "mrr" / "report.md").read_text()
    assert '"mrr": ' in (tmp_path / "mrr" / "report.json").read_text()


def test_one_entry_among_the_routers_stands_in_the_tables_and_pictures(
    folder: Path, config: Config, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = RouterEntry(
        "third", "one third text", ("report",),
        lambda b: split(b, np.full((1, B), 1 / 3), np.full((1, B), 40.0)), "#5fa777", curve=True,
    )  # fmt: skip
    monkeypatch.setattr(registry, "ROUTERS", (*registry.ROUTERS, third))
    report = write(measured(bench(), {}), tmp_path / "third", config, shop)
    assert report.rows["third"]["mean_budget"] == 40.0
    assert "third" in report.slices["kind"]["visual"]
    assert "| one third text |" in (tmp_path / "third" / "report.md").read_text()
    with (
        Image.open(folder / "routers.png") as before,
        Image.open(tmp_path / "third" / "routers.png") as after,
    ):
        assert after.height > before.height  # one more row
    assert (folder / "curves.png").read_bytes() != (tmp_path / "third" / "curves.png").read_bytes()


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.01, 0.03, "more than chance explains"),
        (-0.01, 0.03, "which chance alone could explain"),
        (-0.04, -0.01, "a loss that chance does not explain"),
    ],
)
def test_the_verdict_says_what_the_interval_allows(low: float, high: float, words: str) -> None:
    assert significance(Difference(mean=(low + high) / 2, ci95=(low, high))) == words


def test_folds_and_queries_exclude_each_other(config: Config, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        run_report(config, SILENT, queries=tmp_path / "q.jsonl", folds=5)
