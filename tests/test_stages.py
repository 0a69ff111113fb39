from pathlib import Path

import pytest

from adamroute import stages as artifacts
from adamroute.errors import ArtifactError


def seal(folder: Path) -> artifacts.Manifest:
    return artifacts.write_manifest(
        folder, stage="index", config={"a": 1}, inputs={"shop": "x"}, counts={"items": 2}
    )


def test_a_sealed_folder_is_fresh_for_its_key_and_for_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    key = artifacts.stage_key("index", {"a": 1}, {"shop": "x"})
    assert not artifacts.is_fresh(folder, "index", key)
    with artifacts.publish(folder) as scratch:
        artifacts.write_text(scratch / "rows.txt", "one")
        seal(scratch)
    assert artifacts.is_fresh(folder, "index", key)
    other = artifacts.stage_key("index", {"a": 2}, {"shop": "x"})
    assert not artifacts.is_fresh(folder, "index", other)


def test_the_hash_names_config_inputs_and_outputs(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("one")
    first = seal(tmp_path)
    assert first.outputs == {"rows.txt": artifacts.file_hash(tmp_path / "rows.txt")}
    assert artifacts.read_manifest(tmp_path, "index") == first
    (tmp_path / "rows.txt").write_text("two")
    assert seal(tmp_path).hash != first.hash


def test_an_error_leaves_what_stood_there_before(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with artifacts.publish(folder) as scratch:
        (scratch / "a").write_text("old")

    def fail() -> None:
        with artifacts.publish(folder) as scratch:
            (scratch / "a").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (folder / "a").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize(
    ("stage", "verb"), [("label", "label"), ("profile", "build"), ("scorer", "train")]
)
def test_a_missing_manifest_says_which_command_makes_it(
    tmp_path: Path, stage: str, verb: str
) -> None:
    with pytest.raises(ArtifactError, match=f"adamroute {verb} CONFIG"):
        artifacts.read_manifest(tmp_path, stage)


def test_only_an_earlier_result_an_empty_or_no_folder_may_be_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    artifacts.check_replaceable(folder, "index")
    folder.mkdir()
    artifacts.check_replaceable(folder, "index")
    seal(folder)
    artifacts.check_replaceable(folder, "index")
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        artifacts.check_replaceable(folder, "report")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArtifactError, match="Give an empty or new folder"):
        artifacts.check_replaceable(tmp_path / "file", "index")


def test_a_broken_or_foreign_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / artifacts.MANIFEST).write_text("{}")
    with pytest.raises(ArtifactError, match="not a manifest of format 1"):
        artifacts.read_manifest(tmp_path, "index")
    (tmp_path / artifacts.MANIFEST).unlink()
    seal(tmp_path)
    with pytest.raises(ArtifactError, match="wanted 'label'"):
        artifacts.read_manifest(tmp_path, "label")


def test_the_commit_is_named() -> None:
    assert artifacts.commit()
