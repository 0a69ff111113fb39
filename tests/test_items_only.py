"""A shop of items alone: everything learned from synthetic requests, and every output says so."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.config import Config
from adamroute.distill.evaluation.report import run_report
from adamroute.distill.labels.label import run_label
from adamroute.indexing.build import run_build
from adamroute.progress import SILENT
from adamroute.run import assemble_run
from adamroute.training.calibrate import run_calibrate
from adamroute.training.reranker_fit import run_reranker
from adamroute.training.train import run_train

ITEMS = 300


def part_of(shop: Path, folder: Path) -> None:
    """The first ITEMS rows of a shop and their photos, as a shop of its own."""
    (folder / "images").mkdir(parents=True)
    shutil.copy(shop / "shop.yaml", folder)
    with (shop / "items.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row, _ in zip(csv.reader(stream), range(ITEMS + 1), strict=False)]
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    for row in rows[1:]:
        shutil.copy(shop / row[-1], folder / "images")


@pytest.mark.realdata
@pytest.mark.slow
def test_items_alone_are_enough_to_train_calibrate_report_and_serve(
    real_data: Path, tmp_path: Path
) -> None:
    part_of(real_data / "myntra", tmp_path / "shop")
    config = Config.model_validate(
        {
            "name": "myntra",
            "shop": tmp_path / "shop",
            "out": tmp_path / "run",
            "encoders": {"align": {"seeds": 1, "epochs": 4, "hidden": 32, "dimensions": 16}},
            "labels": {"synthetic_requests": 200},
            "student": {"layers": 2, "steps": 4},
        }
    )
    for stage in (run_build, run_label, run_train, run_reranker, run_calibrate, run_report):
        stage(config, SILENT)
    shop, ranks = read_shop(config.shop), config.stage("ranks")
    parts = [known_queries(shop, ranks, s) for s in ("train", "calibration", "test")]
    assert all(parts)
    assert sum(map(len, parts)) == 200
    report = json.loads((config.stage("report") / "report.json").read_text(encoding="utf-8"))
    assert report["calibrated_on"] == "synthetic"
    assert report["n_queries"] == len(parts[2])
    answer = assemble_run(config).recommend(query="black casual shoes", n=4)
    assert answer.calibrated_on == "synthetic"
    assert len(answer.items) == 4
