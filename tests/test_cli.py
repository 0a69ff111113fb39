"""The command line as a user meets it: `main` in this process, on one small finished run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from adamroute import cli
from adamroute.catalogue.folder import derived_split, read_shop
from adamroute.catalogue.judged_queries import judged_id
from adamroute.catalogue.shop import SPLITS
from adamroute.config import Config
from adamroute.run_lock import only_writer


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Exit code of `adamroute ARGUMENTS`."""
    monkeypatch.setattr(sys, "argv", ["adamroute", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def config_file(tiny_run: Config, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny_run.model_dump(mode="json")), encoding="utf-8")
    return path


def test_help_names_every_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--help") == 0
    printed = capsys.readouterr().out
    verbs = "build label train calibrate report run serve judge ask demo"
    for verb in verbs.split():
        assert f" {verb} " in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "no/such.yaml"), "adamroute: no/such.yaml: no such config"),
        (("build",), "Missing argument 'CONFIG'"),
        (("fly", "x.yaml"), "No such command 'fly'"),
        (("report", "configs/demo.yaml", "--folds", "1"), "--folds"),
    ],
)
def test_wrong_input_is_one_clear_line_and_exit_code_2(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_missing_shop_folder_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"name: c\nshop: {tmp_path}/none\nout: {tmp_path}/out\n", encoding="utf-8")
    assert run(monkeypatch, "build", path) == 2
    printed = capsys.readouterr().err
    assert "--shop" in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_finished_run_is_not_run_again(
    config_file: Path, tiny_run: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = ("index", "ranks", "labels", "student", "reranker", "calibration")
    manifests = [tiny_run.stage(stage) / "manifest.json" for stage in stages]
    before = [path.stat().st_mtime_ns for path in manifests]
    assert run(monkeypatch, "run", config_file) == 0
    assert [path.stat().st_mtime_ns for path in manifests] == before
    report = json.loads((tiny_run.stage("report") / "report.json").read_text(encoding="utf-8"))
    assert report["shop"] == "demo"
    assert report["teacher_policy"] == "evidence"


def test_ask_answers_in_this_process(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("a striped umbrella", "-n", 3, "--policy", "static@0.5,20")
    assert run(monkeypatch, "ask", config_file, *asked) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["items"]) == 3
    assert (answer["source"], answer["user"]) == ("static", "unknown")


def test_judgements_of_a_file_are_imported_and_told(
    config_file: Path,
    tiny_run: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    item, out = read_shop(tiny_run.shop).catalogue.items[0].item_id, tmp_path / "out"
    qrels, topics = tmp_path / "mine.txt", tmp_path / "asked.tsv"
    qrels.write_text(f"1 0 {item} 1\n2 0 {item} 0\n")
    topics.write_text("1\tsomething nobody logged\n2\tsomething else\n")
    asked = ("--file", qrels, "--topics", topics, "--out", out)
    assert run(monkeypatch, "judge", config_file, *asked) == 0
    split = derived_split(judged_id("something nobody logged"))
    splits = ", ".join(f"{name} {int(name == split)}" for name in SPLITS)
    assert capsys.readouterr().out.splitlines() == [
        "mine.txt: 2 judgements of 2 queries taken",
        f"demo: 1 judged queries, 1 targets ({splits}); 20 go a long way",
        "judged queries without target: 1",
        "  judged.jsonl:2: 'something else'",
        "Next: adamroute run CONFIG, which fits and measures on them",
    ]
    assert [path.name for path in out.iterdir()] == ["judged.jsonl"]


def test_judging_needs_a_build_and_topics_need_qrels(
    config_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert run(monkeypatch, "judge", config_file, "--out", out, "--port", 0) == 2
    assert "Run it first: adamroute build CONFIG" in capsys.readouterr().err
    assert not out.exists()
    assert run(monkeypatch, "judge", config_file, "--topics", config_file) == 2
    assert "give --file too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "-n", 0), "n: 1 to tau = 80 items, got 0"),
        (("query", "--policy", "magic"), "policy 'magic' is not known"),
        (("",), "query: empty"),
        (("query", "--url", "http://127.0.0.1:9"), "Start a server first"),
    ],
)
def test_a_wrong_question_is_refused(
    arguments: tuple[object, ...],
    message: str,
    config_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "ask", config_file, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_bug_says_so_below_its_traceback(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(*_: object) -> None:
        raise LookupError("odd")

    monkeypatch.setattr(cli, "_build", odd)
    assert run(monkeypatch, "build", config_file) == 1
    printed = capsys.readouterr().err
    assert "LookupError: odd" in printed
    assert printed.splitlines()[-1].startswith("adamroute: this is a bug in adamroute")


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("c.yaml", "c.yaml: File exists. Give a path that is a folder"),
        ("c.yaml/run", "c.yaml/run: Not a directory. Give a path that is a folder"),
        ("x" * 300, "File name too long. Give a shorter one"),
    ],
)
def test_an_out_that_cannot_be_a_folder_is_one_line(
    out: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: c\nshop: none\nout: o\n", encoding="utf-8")
    assert run(monkeypatch, "build", path, "--out", tmp_path / out) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("\n") == 1


def test_who_only_reads_a_run_does_not_wait_for_who_writes_it(
    config_file: Path,
    tiny_run: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with only_writer(tiny_run.out, "run"):
        assert run(monkeypatch, "report", config_file) == 2
        assert "`adamroute run` writes there" in capsys.readouterr().err
        assert run(monkeypatch, "report", config_file, "--out", tmp_path / "report") == 0
        assert run(monkeypatch, "ask", config_file, "a mug", "--policy", "static@0.5,20") == 0
