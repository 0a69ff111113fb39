"""report.json, report.md, the pictures and the per-request file, from measured outcomes."""

import json
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from pydantic import ValidationError

from adamroute.catalogue.known_queries import SYNTHETIC_QUERIES, WRITTEN
from adamroute.catalogue.shop import Catalogue, Item, Query, Shop, Split
from adamroute.config import Config
from adamroute.distill.evaluation import routers as registry
from adamroute.distill.evaluation.metrics import METRICS, of_place
from adamroute.distill.evaluation.outcomes import split
from adamroute.distill.evaluation.pages import (
    evidence,
    examples,
    fallback_counts,
    quarters,
    separation,
    significance,
    verdict,
)
from adamroute.distill.evaluation.report import (
    Measured,
    build_report,
    measured,
    run_report,
    write_report,
)
from adamroute.distill.evaluation.routers import RouterEntry, routers
from adamroute.distill.evaluation.schema import Asked, Difference, Report
from adamroute.distill.evaluation.summary import best_today
from adamroute.distill.labels.synthetic import Written, as_queries_file
from adamroute.errors import ConfigError
from adamroute.progress import SILENT
from adamroute.retrieval.ranks import QueryRanks, save_ranks
from adamroute.retrieval.replay import TargetRanks
from adamroute.teacher.belief import evidence_belief
from tests.distill.worlds import (
    CONSTANTS,
    FUSED,
    B,
    bench,
    measured_world,
    queries,
    requests,
    told,
)

ROW_KEYS = {
    "recall", "recall_augmented", "recall_pessimistic", "hr@5", "hr@10", "hr@20", "hr@40", "mrr",
    "ndcg@5", "ndcg@10", "ndcg@20", "ndcg@40",
    "mean_budget", "mean_candidates", "fallback_rate", "llm_calls", "tokens", "p50_ms", "p95_ms",
    "recall_at_k", "ci95", "minus_static_best", "minus_fusion_best", "minus_today",
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
        "mean_budget", "commit", "rows", "agreement", "slices", "lacks", "asked", "learned",
        "out_of_sample", "combine", "reach", "student", "today", "written_distance",
    }  # fmt: skip
    assert (raw["format"], raw["shop"], raw["n_queries"], raw["n_users"]) == (
        2,
        "small_shop",
        B,
        B // 2,
    )
    assert set(raw["rows"]) == set(routers("report"))
    for row in raw["rows"].values():
        assert set(row) == ROW_KEYS
        assert set(row["recall_at_k"]) == {"20", "40", "100"}
        for base in ("minus_static_best", "minus_fusion_best", "minus_today"):
            assert {"recall", "recall_at_k_mean"} <= set(row[base])
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
    ranks = TargetRanks(np.array([3]), np.array([5]), np.full((1, 11), 4))
    votes = evidence_belief(ranks, CONSTANTS.bins, CONSTANTS.lam).votes
    probs = [p.alpha_probs for p in told(requests()).predictions[1:]]  # no evidence of the first
    divergences = [float(np.sum(votes * np.log(votes / p))) for p in probs]
    assert agreement["kl"] == pytest.approx(np.mean(divergences))
    assert agreement["win"] + agreement["tie"] + agreement["loss"] == pytest.approx(1.0)


def test_the_page_says_its_evidence_first_then_the_verdict_and_shows_every_router(
    folder: Path,
) -> None:
    page = (folder / "report.md").read_text()
    report = Report.model_validate_json((folder / "report.json").read_text())
    assert page.splitlines()[2] == evidence(report)
    assert page.splitlines()[4] == " ".join(verdict(report))
    names = ("best fixed split", "student", "random split", "oracle", "rank fusion (RRF)")
    more = ("linear fusion, half", "best fixed linear fusion", "nearest past requests")
    for name in (*names, *more):
        assert f"| {name}" in page or f"| **{name}**" in page
    assert "adamroute report small.yaml" in page
    assert "small\\_shop" in page  # markup in names is escaped
    assert "Warning" not in page


def changed(
    config: Config, shop: Shop, *, asked: Asked = "real", learned: Asked = "written"
) -> Report:
    """The world's report with other facts about its evidence."""
    found = replace(measured_world(), asked=asked, learned=learned)
    return build_report(config, shop, found, "test split")


@pytest.mark.parametrize(
    ("asked", "learned", "said"),
    [
        ("real", "real", ("**Real evidence:**", f"{B} real requests", "those of other users.")),
        ("real", "written", ("**Real evidence:**", "written from the catalogue alone.")),
        ("written", "written", ("**Written evidence:**", f"{B} requests", "`adamroute judge`")),
    ],
)
def test_the_first_sentence_says_what_the_numbers_stand_on(
    config: Config, shop: Shop, asked: Asked, learned: Asked, said: tuple[str, ...]
) -> None:
    first = evidence(changed(config, shop, asked=asked, learned=learned))
    assert first.startswith(said[0])
    assert all(part in first for part in said)


@pytest.mark.parametrize("asked", ["real", "written"])
def test_the_report_of_a_leaky_run_warns_in_its_first_line_and_its_first_sentence(
    config: Config, shop: Shop, tmp_path: Path, asked: Asked
) -> None:
    labels = config.labels.model_copy(update={"out_of_sample": False})
    leaky = config.model_copy(update={"labels": labels})
    report = write(replace(measured_world(), asked=asked), tmp_path / "leaky", leaky, shop)
    assert not report.out_of_sample
    lines = (tmp_path / "leaky" / "report.md").read_text().splitlines()
    assert lines[0].startswith("# Warning, leaky evidence: small")
    assert lines[2].startswith("**Warning: leaky evidence.**")
    assert "`labels.out_of_sample: false`" in lines[2]
    assert json.loads((tmp_path / "leaky" / "report.json").read_text())["out_of_sample"] is False


@pytest.mark.parametrize(
    ("prefix", "split", "told_of"),
    [
        ("", "test", ("real", "written")),  # nobody of train asked
        ("judged:", "train", ("real", "real")),
        (WRITTEN, "train", ("written", "real")),
    ],
)
def test_whose_requests_are_asked_and_learned_from_is_read_off_ids_and_the_train_split(
    prefix: str, split: Split, told_of: tuple[str, str]
) -> None:
    world = bench()
    world.queries = tuple(replace(q, query_id=prefix + q.query_id) for q in world.queries)
    logged = tuple(replace(query, split=split) for query in world.shop.queries)
    world.shop = replace(world.shop, queries=logged)
    found = measured(world, {})
    assert (found.asked, found.learned) == told_of


def test_the_best_that_a_shop_has_today_is_what_gains_are_held_against(
    config: Config, shop: Shop
) -> None:
    table = measured_world().table
    means = {n: table.mean(n, "recall_at_k_mean") for n in routers("today")}
    assert list(means) == ["static_best", "rrf", "fusion_half", "fusion_best"]
    assert best_today(table) == max(means, key=lambda name: means[name])
    report = changed(config, shop)
    for name in routers("today"):
        rows = table.rows.with_columns(
            value=pl.when((pl.col("router") == name) & (pl.col("metric") == "recall_at_k_mean"))
            .then(1.0)
            .otherwise("value")
        )
        assert best_today(replace(table, rows=rows)) == name
    label = routers("report")[report.today].label
    assert f"the best that a shop has without a router, {label}, " in verdict(report)[0]


def test_an_alpha_is_told_as_what_the_run_means_by_it(
    config: Config, shop: Shop, tmp_path: Path
) -> None:
    for constants, word in ((CONSTANTS, "An alpha here is a share"), (FUSED, "is a weight")):
        home = tmp_path / constants.combine
        report = write(replace(measured_world(), constants=constants), home, config, shop)
        assert (report.combine, report.reach) == (constants.combine, 0.5)
        assert word in (home / "report.md").read_text()


def written_ranks(folder: Path, text: list[int], mm: list[int]) -> None:
    """A ranks stage whose written requests rank so; all ask for the one item."""
    folder.mkdir(parents=True)
    asked = tuple(
        Query(f"{WRITTEN}{n}:item0", f"{WRITTEN}item0", "rug", "item0", None, "train")
        for n in range(len(text))
    )
    known = requests()
    fields = {f.name: getattr(known, f.name)[: len(text)] for f in fields_of(QueryRanks)}
    arrays = {n: v for n, v in fields.items() if isinstance(v, np.ndarray)}
    arrays |= {"text": np.array(text), "mm": np.array(mm)}
    save_ranks(folder, [(asked, arrays)])
    (folder / SYNTHETIC_QUERIES).write_text(
        as_queries_file([Written(q, False) for q in asked]), encoding="utf-8"
    )


def test_the_distance_of_written_requests_is_the_widest_gap_to_real_ones_in_each_branch(
    config: Config, shop: Shop, tmp_path: Path
) -> None:
    apart = config.model_copy(update={"out": tmp_path / "run"})
    known = measured_world().table
    text, mm = (sorted(known.fact(name).to_list()) for name in ("text_rank", "mm_rank"))
    easier = mm[: B // 2]
    assert easier[-1] < mm[B // 2]
    # By text as the real ones; by photos all are as easy as the easier half of those.
    written_ranks(apart.stage("ranks"), text[::-1], 2 * easier)
    report = write(measured_world(), tmp_path / "report", apart, shop)
    assert report.written_distance == {"text": 0.0, "multimodal": 0.5}
    page = (tmp_path / "report" / "report.md").read_text()
    assert "lie 0.00 by text and 0.50 by photos from these real ones" in page
    assert "Kolmogorov-Smirnov" in page


def test_no_distance_is_told_where_there_is_nothing_real_or_nothing_written(
    config: Config, shop: Shop, tmp_path: Path, folder: Path
) -> None:
    assert changed(config, shop).written_distance == {}  # the run wrote none
    assert "Kolmogorov-Smirnov" not in (folder / "report.md").read_text()
    apart = config.model_copy(update={"out": tmp_path / "run"})
    written_ranks(apart.stage("ranks"), [1, 2], [1, 2])
    assert changed(apart, shop, asked="written").written_distance == {}
    assert set(changed(apart, shop).written_distance) == {"text", "multimodal"}


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
    for base in ("static_best", "fusion_best"):
        mine, other = (table.of(n, "recall_at_k_mean") for n in ("student", base))
        assert examples(table, base, gained=True)[0] == (mine > other).sum()
        assert examples(table, base, gained=False)[0] == (mine < other).sum()


def test_one_entry_among_the_metrics_stands_in_every_row_and_on_the_page(
    config: Config, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = of_place("half", lambda places: 0.5 / places, percent=False)
    monkeypatch.setitem(METRICS, "half", half)
    report = write(measured(bench(), {}), tmp_path / "half", config, shop)
    for name, row in report.rows.items():
        assert row["half"] == pytest.approx(row["mrr"] / 2), name
        assert row["hr@20"] / 20 <= row["mrr"] <= 1.0, name
        assert row["ci95"]["half"][0] <= row["half"] <= row["ci95"]["half"][1]
        for base in ("minus_static_best", "minus_fusion_best", "minus_today"):
            assert "half" in row[base]
    assert "| NDCG@40 | half |" in (tmp_path / "half" / "report.md").read_text()
    assert '"half": ' in (tmp_path / "half" / "report.json").read_text()


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
