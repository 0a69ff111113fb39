"""The report of a real small run: every stage, encoder, index and student is the real one."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import synthetic_queries
from adamroute.config import Config
from adamroute.distill.evaluation.learned import load_learned
from adamroute.distill.evaluation.report import measure_run, run_report
from adamroute.distill.evaluation.schema import Report
from adamroute.errors import ArtifactError, ConfigError, LabelError
from adamroute.leaning import reach_with
from adamroute.pipeline import RERANKER
from adamroute.progress import SILENT, Progress
from adamroute.retrieval.ranks import load_ranks
from adamroute.retrieval.replay import recalled
from adamroute.stages import read_manifest
from adamroute.teacher.constants import read_teacher_file
from adamroute.theta import Theta
from adamroute.training.reranker_fit import run_reranker

ReportRow = dict[str, object]


@pytest.fixture(scope="module")
def folder(tiny_run: Config) -> Path:
    return run_report(tiny_run, SILENT, command="adamroute report tiny.yaml").parent


def report_of(folder: Path) -> Report:
    return Report.model_validate_json((folder / "report.json").read_text())


def rows_of(folder: Path) -> list[ReportRow]:
    return [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]


def queries_file(config: Config, path: Path, *, shuffle_kinds: bool = False) -> Path:
    """The shop's test queries as a file of their own."""
    lines = (config.shop / "queries.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == "test"]
    kinds = [row["kind"] for row in rows]
    if shuffle_kinds:
        random.Random(1).shuffle(kinds)
    changed = [{**row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in changed))
    return path


def test_the_test_split_is_reported_with_hits_that_replay_confirms(
    tiny_run: Config, folder: Path
) -> None:
    report, rows = report_of(folder), rows_of(folder)
    wanted = read_shop(tiny_run.shop).split("test")
    assert report.n_queries == len(wanted) == len(rows)
    assert [row["request_id"] for row in rows] == [query.query_id for query in wanted]
    known = load_ranks(tiny_run.stage("ranks"), wanted)
    assert [row["text_rank"] for row in rows] == known.text.tolist()
    for name in ("student", "linear_student", "teacher"):
        hits = [
            recalled(known.ranks.take(np.array([b])), Theta(**r[name]), report.combine)[0]  # type: ignore[arg-type]
            for b, r in enumerate(rows)
        ]
        assert report.rows[name]["recall"] == pytest.approx(np.mean(hits))
        assert report.rows["oracle"].recall >= report.rows[name].recall
    assert report.rows["student"]["p50_ms"] > 0


def test_a_run_says_what_its_numbers_stand_on_and_how_far_written_requests_lie(
    tiny_run: Config, folder: Path
) -> None:
    report, shop = report_of(folder), read_shop(tiny_run.shop)
    assert (report.asked, report.learned, report.out_of_sample) == ("real", "real", True)
    constants = read_teacher_file(tiny_run.stage("labels"))
    assert (report.combine, report.reach) == (constants.combine, constants.leaning.reach)
    assert report.reach == reach_with(len(shop.split("train")))
    ranks = tiny_run.stage("ranks")
    written, real = (
        load_ranks(ranks, queries)
        for queries in (synthetic_queries(shop, ranks), shop.split("test"))
    )
    assert report.written_distance == {
        "text": pytest.approx(widest_gap(written.text, real.text)),
        "multimodal": pytest.approx(widest_gap(written.mm, real.mm)),
    }
    first = (folder / "report.md").read_text().splitlines()[2]
    assert first.startswith(f"**Real evidence:** these numbers stand on {report.n_queries} real")


def widest_gap(one: np.ndarray, other: np.ndarray) -> float:
    """Between the shares of both that are no greater than each value."""
    values = [*one.tolist(), *other.tolist()]
    return float(max(abs((one <= v).mean() - (other <= v).mean()) for v in values))


def test_a_second_run_finds_the_report_fresh(tiny_run: Config, folder: Path) -> None:
    before = (folder / "report.md").stat().st_mtime_ns
    assert run_report(tiny_run, SILENT) == folder / "report.md"
    assert (folder / "report.md").stat().st_mtime_ns == before
    assert read_manifest(folder, "report").counts == {"requests": len(rows_of(folder))}


def test_permuting_the_kinds_of_the_queries_changes_no_answer(
    tiny_run: Config, tmp_path: Path
) -> None:
    answers = []
    for shuffle in (False, True):
        out = tmp_path / str(shuffle)
        queries = queries_file(tiny_run, tmp_path / f"{shuffle}.jsonl", shuffle_kinds=shuffle)
        run_report(tiny_run, SILENT, queries=queries, out=out)
        answers.append([{**row, "kind": None} for row in rows_of(out)])
        assert report_of(out).queries == queries.name
        assert not (out / "manifest.json").exists()  # a folder of the caller's is never sealed
    assert answers[0] == answers[1]


def test_every_row_of_a_queries_file_counts_whatever_its_split(
    tiny_run: Config, tmp_path: Path
) -> None:
    target = read_shop(tiny_run.shop).catalogue.items[0].item_id
    row = {"query_id": "a", "user_id": "stranger", "query": "a thing", "target_id": target}
    rows = [{**row, "split": "train"}, {**row, "query_id": "b", "kind": "gift"}]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    report = report_of(run_report(tiny_run, SILENT, queries=path, out=tmp_path / "out").parent)
    assert (report.n_queries, report.n_users) == (2, 1)
    assert set(report.slices["kind"]) == {"gift"}


def test_folds_test_every_user_once_and_pool_the_rows(tiny_run: Config, tmp_path: Path) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path / "run"})
    for name in ("index", "ranks", "labels", "student", "reranker", "calibration"):
        shutil.copytree(tiny_run.stage(name), config.stage(name))
    seen = []

    def refit(part: Config, progress: Progress) -> None:  # noqa: ARG001
        """Stands for label, train and calibrate: their results, without fitting them anew."""
        seen.append(part.fold)
        assert part.stage("index").resolve() == config.stage("index").resolve()
        for name in ("labels", "student", "reranker", "calibration"):
            shutil.copytree(tiny_run.stage(name), part.stage(name))

    page = run_report(config, SILENT, folds=3, refit=(refit,))
    assert [fold and (fold.of, fold.number) for fold in seen] == [(3, 0), (3, 1), (3, 2)]
    asked = {str(row["request_id"]) for row in rows_of(page.parent)}
    assert asked == {query.query_id for query in read_shop(config.shop).queries}
    assert report_of(page.parent).queries == "all queries, 3 folds over users"
    assert page.parent != config.stage("report")


def test_folds_without_stages_to_refit_are_refused(tiny_run: Config, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs the stages to refit"):
        run_report(tiny_run, SILENT, folds=3, out=tmp_path / "out")


def test_parts_that_do_not_belong_together_are_refused(tiny_run: Config, tmp_path: Path) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path})
    for name in ("index", "ranks", "labels", "student", "reranker", "calibration"):
        shutil.copytree(tiny_run.stage(name), config.stage(name))
    path = config.stage("student") / "manifest.json"
    path.write_text(path.read_text().replace('"linear.npz": "', '"linear.npz": "00'))
    with pytest.raises(ArtifactError, match="Calibrate again"):
        run_report(config, SILENT)
    assert not config.stage("report").exists()


def test_nothing_to_report_on_is_an_error(tiny_run: Config) -> None:
    with pytest.raises(LabelError, match="0 requests to report on"):
        measure_run(tiny_run, read_shop(tiny_run.shop), (), SILENT)


def test_the_reranker_is_fitted_on_train_requests_and_found_fresh(tiny_run: Config) -> None:
    manifest = run_reranker(tiny_run, SILENT)
    assert manifest.counts["logged"] == len(read_shop(tiny_run.shop).split("train"))
    assert manifest.counts["written"] == 60
    assert manifest.counts["grade_5"] != 0
    assert manifest == RERANKER.read(tiny_run)


def test_a_run_without_a_calibration_says_what_to_run(tiny_run: Config, tmp_path: Path) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path})
    with pytest.raises(ArtifactError, match="adamroute build CONFIG"):
        run_report(config, SILENT)
    with pytest.raises(ArtifactError, match="adamroute calibrate CONFIG"):
        load_learned(config, None)  # type: ignore[arg-type]
