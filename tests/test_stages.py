"""A stage: fresh or stale, made whole or not at all, resumed, refused, and what its name says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from adamroute import stages
from adamroute.config import Config
from adamroute.errors import ArtifactError
from adamroute.stages import MANIFEST, Counts, Source, Stage, Work, chained, verified

FIRST = Stage("first", "one", "begin", (), ("seed", "labels"), recipe=2)
SECOND = Stage("second", "two", "go on", (FIRST, Source("sky", lambda _: "blue")), ("wandb",))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.model_validate({"name": "c", "shop": tmp_path, "out": tmp_path / "out"})


def changed(config: Config, **update: object) -> Config:
    return Config.model_validate({**config.model_dump(mode="json"), **update})


def write(text: str) -> Callable[[Work], Counts]:
    def make(work: Work) -> Counts:
        stages.write_text(work.folder / "rows.txt", text)
        return {"rows": len(text)}

    return make


def never(work: Work) -> Mapping[str, JsonValue]:
    raise AssertionError(f"{work.folder} was made again")


def test_a_stage_is_made_once_for_its_settings_and_again_for_others(config: Config) -> None:
    assert not FIRST.is_fresh(config)
    manifest = FIRST.run(config, write("one"))
    assert (manifest.stage, manifest.counts) == ("first", {"rows": 3})
    assert manifest.outputs == {"rows.txt": stages.file_hash(config.stage("one") / "rows.txt")}
    assert set(manifest.config) == {"seed", "labels", "recipe"}
    assert FIRST.run(config, never) == FIRST.read(config) == manifest
    other = changed(config, seed=9)
    assert not FIRST.is_fresh(other)
    assert FIRST.run(other, write("one")).hash != manifest.hash


def test_what_a_stage_does_not_name_leaves_it_fresh(config: Config) -> None:
    FIRST.run(config, write("one"))
    assert FIRST.is_fresh(changed(config, serve={"port": 1}, wandb={"mode": "disabled"}))


@pytest.mark.parametrize("other", [replace(FIRST, recipe=3), replace(FIRST, name="third")])
def test_another_recipe_or_stage_has_another_key(config: Config, other: Stage) -> None:
    assert other.key(config) != FIRST.key(config)


def test_options_of_a_command_decide_too(config: Config) -> None:
    FIRST.run(config, write("one"), options={"folds": 3})
    assert not FIRST.is_fresh(config)
    assert FIRST.is_fresh(config, {"folds": 3})


def test_inputs_are_known_by_their_content(config: Config) -> None:
    with pytest.raises(ArtifactError, match="adamroute begin CONFIG"):
        SECOND.run(config, never)
    assert not SECOND.is_fresh(config)
    first = FIRST.run(config, write("one"))
    second = SECOND.run(config, write("two"))
    assert second.inputs == {"one": first.hash, "sky": "blue"}
    FIRST.run(config, write("other"), anew=True)
    assert not SECOND.is_fresh(config)


def test_a_source_that_the_config_does_not_use_is_no_input(config: Config) -> None:
    stage = replace(FIRST, inputs=(Source("sky", lambda c: "blue" if c.seed else None),))
    assert stage.run(config, write("")).inputs == {}
    assert stage.key(changed(config, seed=1)) != stage.key(config)


def test_made_anew_the_result_is_replaced(config: Config) -> None:
    FIRST.run(config, write("one"))
    FIRST.run(config, write("again"), anew=True)
    assert (config.stage("one") / "rows.txt").read_text() == "again"


def test_an_error_leaves_what_stood_there_before_and_the_pieces(config: Config) -> None:
    FIRST.run(config, write("old"))

    def fail(work: Work) -> Counts:
        stages.write_text(work.folder / "rows.txt", "new")
        work.pieces.records("piece", lambda: [{"a": 1}])
        raise KeyboardInterrupt

    other = changed(config, seed=1)
    with pytest.raises(KeyboardInterrupt):
        FIRST.run(other, fail)
    assert (config.stage("one") / "rows.txt").read_text() == "old"
    assert sorted(p.name for p in config.out.iterdir()) == ["one", "one.parts"]

    def resume(work: Work) -> Counts:
        return {"kept": work.pieces.records("piece", lambda: [{"a": 2}])[0]["a"]}

    assert FIRST.run(other, resume).counts == {"kept": 1}
    assert [p.name for p in config.out.iterdir()] == ["one"]


def test_pieces_of_a_run_killed_at_its_end_are_cleared(config: Config) -> None:
    FIRST.run(config, write("one"))
    (config.out / "one.parts").mkdir()
    FIRST.run(config, never)
    assert [p.name for p in config.out.iterdir()] == ["one"]


def test_a_missing_manifest_says_which_command_makes_it(config: Config) -> None:
    with pytest.raises(ArtifactError, match=r"stage 'second' is not finished.*adamroute go on"):
        SECOND.read(config)


def test_a_broken_or_foreign_manifest_is_refused_and_made_again(config: Config) -> None:
    FIRST.run(config, write("one"))
    with pytest.raises(ArtifactError, match="stage 'first' format 1, wanted 'second'"):
        replace(SECOND, folder="one").read(config)
    (config.stage("one") / MANIFEST).write_text("{}")
    with pytest.raises(ArtifactError, match=r"not a manifest of format 1.*adamroute begin"):
        FIRST.read(config)
    FIRST.run(config, write("one"))
    assert FIRST.is_fresh(config)


def test_only_an_earlier_result_an_empty_or_no_folder_may_be_replaced(
    config: Config, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    for _ in range(2):
        FIRST.at(folder).run(config, write("one"), anew=True)
    assert (folder / "rows.txt").read_text() == "one"
    assert not config.stage("one").exists()
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        SECOND.at(folder)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        FIRST.at(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    FIRST.at(tmp_path / "empty")


def test_a_result_of_another_config_can_be_refused(config: Config) -> None:
    FIRST.run(config, write("one"))
    FIRST.require(changed(config, seed=5), "labels")
    with pytest.raises(ArtifactError, match=r"another `labels` than.*adamroute begin CONFIG"):
        FIRST.require(changed(config, labels={"teacher": 0.5}), "labels")
    SECOND.run(config, write("two"))
    SECOND.require(config, "sky")
    red = replace(SECOND, inputs=(Source("sky", lambda _: "red"),))
    with pytest.raises(ArtifactError, match="another `sky`"):
        red.require(config, "sky")


def test_a_run_is_verified_to_its_last_file(config: Config) -> None:
    first, second = FIRST.run(config, write("one")), SECOND.run(config, write("two"))
    assert verified(config, (FIRST, SECOND)) == {"first": first, "second": second}
    (config.stage("two") / "rows.txt").write_text("cut")
    with pytest.raises(ArtifactError, match=r"rows\.txt: not the file.*adamroute go on CONFIG"):
        verified(config, (FIRST, SECOND))
    assert chained(config, (FIRST, SECOND))


def test_a_stage_made_from_another_run_of_the_one_before_is_refused(config: Config) -> None:
    FIRST.run(config, write("one"))
    SECOND.run(config, write("two"))
    path = config.stage("one") / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "key": "another"}))
    with pytest.raises(ArtifactError, match=r"made from one .*adamroute go on CONFIG"):
        chained(config, (FIRST, SECOND))
    assert chained(config, (SECOND,))  # the first is not asked for


def test_a_file_is_hashed_once_unless_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    first = stages.content_hash(path)
    assert first == stages.file_hash(path)
    monkeypatch.setattr(stages, "file_hash", lambda _: pytest.fail("read again"))
    assert stages.content_hash(path) == first
    monkeypatch.undo()
    path.write_text("longer")
    assert stages.content_hash(path) == stages.file_hash(path) != first


def test_the_commit_is_named_and_outside_git_it_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stages.commit()
    monkeypatch.setattr(stages, "__file__", str(tmp_path / "adamroute" / "stages.py"))
    assert stages.commit.__wrapped__() == "unknown"
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert stages.commit.__wrapped__() == "unknown"
