"""The ablation table of a real small run: every stage and every model is the real one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from PIL import Image
from pydantic import ValidationError

from adamroute.catalogue.folder import read_shop
from adamroute.config import Config
from adamroute.distill.evaluation.ablation_report import run_ablate
from adamroute.distill.evaluation.routers import routers
from adamroute.distill.evaluation.schema import ABLATED, Ablation
from adamroute.distill.evaluation.splits import static_alpha
from adamroute.errors import ArtifactError, ConfigError
from adamroute.progress import SILENT
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.replay import recalled
from adamroute.stages import read_manifest
from adamroute.teacher.constants import read_teacher_file
from adamroute.theta import ALPHAS, Theta

COMMAND = "adamroute ablate tiny.yaml"


def listed(config: Config, path: Path, **changes: object) -> Path:
    raw = {**config.model_dump(mode="json"), **changes}
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tiny_run: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run beside itself as another encoder pair, and beside one that is not built."""
    home = tmp_path_factory.mktemp("ablate")
    same = listed(tiny_run, home / "same.yaml", name="twin")
    absent = listed(tiny_run, home / "absent.yaml", name="absent", out=str(home / "nothing"))
    config = tiny_run.model_copy(
        update={
            "ablation": tiny_run.ablation.model_copy(
                update={"encoders": (same,), "policies": (absent,)}
            )
        }
    )
    return run_ablate(config, SILENT, out=home / "out", command=COMMAND)


@pytest.fixture(scope="module")
def report(page: Path) -> Ablation:
    return Ablation.model_validate_json((page.parent / "ablation.json").read_text())


def test_every_row_is_measured_on_the_test_split(tiny_run: Config, report: Ablation) -> None:
    assert tuple(report.rows) == tuple(routers(*ABLATED))
    assert report.n_queries == len(read_shop(tiny_run.shop).split("test"))
    full = report.rows["full"]["minus_full"]
    assert all(d.mean == 0.0 and d.ci95 == (0.0, 0.0) for d in full.values())


def test_rows_differ_from_the_full_method_where_the_missing_part_acts(report: Ablation) -> None:
    rows = {str(name): row for name, row in report.rows.items()}
    full = rows["full"]
    for name in ("no_augmentation", "no_attribute_filter", "no_preference_scoring"):
        assert rows[name]["recall"] == full["recall"]
        assert rows[name]["recall_at_k"] == full["recall_at_k"]
    assert rows["no_augmentation"]["recall_augmented"] == rows["no_augmentation"]["recall"]
    assert rows["no_preference_scoring"]["recall_augmented"] == full["recall_augmented"]
    for name in ("no_routing", "text_only", "mm_only"):
        assert rows[name]["mean_budget"] == report.tau == 80  # 800, cut at tau
    assert rows["no_start"]["mean_budget"] > 0
    assert rows["dense_text"]["recall_at_k"] == rows["text_only"]["recall_at_k"]
    peers = ("bm25", "dense_text", "rrf", "fusion_half", "fusion_best", "knn", "judged_fusion")
    assert tuple(routers("peer")) == peers
    for name in (*peers, "static_best", "oracle"):
        assert rows[name]["mean_budget"] == report.fixed_budget == 40
    assert all(row["llm_calls"] == 0.0 for row in rows.values())
    # What alpha means is the run's: the oracle is held against rows that spend in its way.
    assert rows["oracle"].recall >= max(rows[n].recall for n in ("knn", "kind_known", "random"))


def test_the_sweep_covers_the_grid_and_meets_the_table_at_its_ends(
    tiny_run: Config, report: Ablation
) -> None:
    found = {(swept["alpha"], swept["budget"]): swept for swept in report.sweep}
    assert set(found) == {(alpha, k) for alpha in ALPHAS for k in (20, 40, 80)}
    assert found[1.0, 80]["recall"] == pytest.approx(report.rows["text_only"]["recall"])
    assert found[0.0, 80]["ndcg20"] == pytest.approx(report.rows["mm_only"]["ndcg20"])
    known = load_ranks(tiny_run.stage("ranks"), read_shop(tiny_run.shop).split("test"))
    way = read_teacher_file(tiny_run.stage("labels")).combine
    half = recalled(known.ranks, Theta(0.5, 80), way)
    assert found[0.5, 80]["recall"] == pytest.approx(half.mean())
    split = recalled(known.ranks, Theta(0.5, 80), "split")  # as the paper's row, whatever the run
    assert report.rows["no_routing"]["recall"] == pytest.approx(split.mean())


def test_the_page_says_what_the_best_fixed_linear_fusion_weighs(
    tiny_run: Config, page: Path, report: Ablation
) -> None:
    shop = read_shop(tiny_run.shop)
    fit = load_ranks(tiny_run.stage("ranks"), (*shop.split("train"), *shop.split("calibration")))
    assert report.linear_weight == static_alpha(fit, report.fixed_budget, "fused")
    assert f"Linear fusion weighs text by {report.linear_weight:.1f} (fitted" in page.read_text()


def test_other_runs_are_read_where_they_are_built_and_named_where_not(report: Ablation) -> None:
    this, twin = report.encoders
    assert (this.config, twin.name, twin.not_built) == ("this run", "twin", "")
    assert this.row is not None
    assert twin.row is not None
    assert twin.row["recall_at_k"] == this.row["recall_at_k"]
    assert twin.row.minus("full", "recall").mean == 0.0
    _, absent = report.policies
    assert absent.row is None
    assert absent.not_built.startswith("adamroute run ")
    assert absent.not_built.endswith("absent.yaml")


def test_the_page_shows_every_row_the_papers_numbers_and_the_picture(page: Path) -> None:
    text = page.read_text()
    for wanted in ("no collaborative start", "BM25", "42.8 %", "another data set", COMMAND):
        assert wanted in text
    assert "not built: `adamroute run" in text
    width = 0
    for line in text.splitlines():
        columns = line.replace("\\|", "").count("|")
        assert columns in (0, width) or width == 0, line
        width = columns
    with Image.open(page.with_name("static_sweep.png")) as picture:
        assert picture.width > 800
    assert read_manifest(page.parent, "ablation").counts["requests"] != 0


def test_a_report_with_a_row_missing_is_refused(report: Ablation) -> None:
    raw = report.model_dump(mode="json")
    del raw["rows"]["bm25"]
    with pytest.raises(ValidationError, match="rows missing: bm25"):
        Ablation.model_validate(raw)


def test_a_folder_of_the_users_own_is_left_alone(tiny_run: Config, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        run_ablate(tiny_run, SILENT, out=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("made", "verb"),
    [((), "build"), (("index",), "label"), (("index", "ranks", "labels"), "train")],
)
def test_an_unfinished_run_says_what_to_run(
    tiny_run: Config, tmp_path: Path, made: tuple[str, ...], verb: str
) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path})
    for name in made:
        shutil.copytree(tiny_run.stage(name), config.stage(name))
    with pytest.raises(ArtifactError, match=f"adamroute {verb} CONFIG"):
        run_ablate(config, SILENT)
    assert not config.stage("ablation").exists()


def test_a_run_over_other_requests_cannot_stand_in_the_table(
    tiny_run: Config, tmp_path: Path
) -> None:
    other = listed(tiny_run, tmp_path / "other.yaml", fold={"of": 3, "number": 0})
    config = tiny_run.model_copy(
        update={"ablation": tiny_run.ablation.model_copy(update={"policies": (other,)})}
    )
    with pytest.raises(ConfigError, match="List configs of the same shop"):
        run_ablate(config, SILENT, out=tmp_path / "out")
