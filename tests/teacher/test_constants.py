"""The teacher's constants on disk."""

import json
from pathlib import Path

import pytest

from adamroute.errors import ArtifactError
from adamroute.leaning import Leaning
from adamroute.teacher.constants import TEACHER_FILE, TeacherFile, read_teacher_file
from adamroute.theta import Bins, Theta

CONSTANTS = TeacherFile(
    combine="fused", leaning=Leaning(scale=0.1, reach=0.3), tau=200, lam=0.7,
    static_alpha=0.3, static_budget=40, time="none",
)  # fmt: skip


def test_what_is_written_reads_back_as_values_of_the_domain(tmp_path: Path) -> None:
    (tmp_path / TEACHER_FILE).write_text(CONSTANTS.model_dump_json(), encoding="utf-8")
    read = read_teacher_file(tmp_path)
    assert read == CONSTANTS
    assert read.bins == Bins(200, "fused")
    assert read.static == Theta(0.3, 40)


@pytest.mark.parametrize("text", ["", "{", '{"tau": "many"}'])
def test_a_broken_file_says_what_to_run(tmp_path: Path, text: str) -> None:
    (tmp_path / TEACHER_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)


def test_a_file_of_the_format_before_says_what_to_run(tmp_path: Path) -> None:
    older = CONSTANTS.model_dump(exclude={"leaning"}) | {"trust": 0.8, "format": 2}
    (tmp_path / TEACHER_FILE).write_text(json.dumps(older), encoding="utf-8")
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)


def test_a_missing_file_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)
