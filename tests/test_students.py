"""Every kind of student behind one path: trained, calibrated, served and reported."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.config import Config
from adamroute.distill.evaluation.report import run_report
from adamroute.pipeline import BUILD, LABEL, RANKS, RERANKER, borrow
from adamroute.progress import SILENT
from adamroute.run import assemble_run
from adamroute.training.calibrate import run_calibrate
from adamroute.training.train import run_train


@pytest.mark.parametrize("kind", ["linear", "intent"])
def test_a_student_that_reads_the_querys_vector_is_served_as_the_report_asks_it(
    tiny_run: Config, tmp_path: Path, kind: str
) -> None:
    student = tiny_run.student.model_copy(update={"kind": kind})
    config = tiny_run.model_copy(update={"out": tmp_path, "student": student})
    borrow(config, tiny_run, BUILD, RANKS, LABEL, RERANKER)
    trained = run_train(config, SILENT)
    assert trained.counts["kind"] == kind
    assert "adapter" not in {path.name for path in config.stage("student").iterdir()}
    run_calibrate(config, SILENT)
    run, page = assemble_run(config), run_report(config, SILENT)
    lines = (config.stage("report") / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    words = {query.query_id: query.text for query in read_shop(config.shop).queries}
    for row in map(json.loads, lines[:5]):
        query, user = words[row["request_id"]], row["user_id"]
        served = run.route(query=query, user_id=user, policy="student")
        assert asdict(served.theta) == row["student"]
    text = page.read_text(encoding="utf-8")
    assert f"the {kind} student recalls" in text
    assert ("| linear student |" in text) == (kind != "linear")  # it stands there once
