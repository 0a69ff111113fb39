"""The teacher's constants on disk."""

import json
from pathlib import Path

import pytest

from adamroute.errors import ArtifactError
from adamroute.teacher.constants import TEACHER_FILE, TeacherFile, read_teacher_file
from adamroute.teacher.difficulty import Difficulty
from adamroute.theta import Bins, Theta

FACTORS = tuple(1 + place / 10 for place in range(11))
CONSTANTS = TeacherFile(
    combine="fused", trust=0.75, tau=200, lam=0.7, text_factor=4.0, mm_factor=3.0,
    fused_factors=FACTORS, static_alpha=0.3, static_budget=40, time="none",
)  # fmt: skip


def test_what_is_written_reads_back_as_values_of_the_domain(tmp_path: Path) -> None:
    (tmp_path / TEACHER_FILE).write_text(CONSTANTS.model_dump_json(), encoding="utf-8")
    read = read_teacher_file(tmp_path)
    assert read == CONSTANTS
    assert read.bins == Bins(200, "fused")
    assert read.difficulty == Difficulty(4.0, 3.0, FACTORS)
    assert read.static == Theta(0.3, 40)


@pytest.mark.parametrize("text", ["", "{", '{"tau": "many"}'])
def test_a_broken_file_says_what_to_run(tmp_path: Path, text: str) -> None:
    (tmp_path / TEACHER_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)


def test_a_file_of_the_format_before_says_what_to_run(tmp_path: Path) -> None:
    older = CONSTANTS.model_dump(exclude={"combine", "trust", "fused_factors"}) | {"format": 1}
    (tmp_path / TEACHER_FILE).write_text(json.dumps(older), encoding="utf-8")
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)


def test_a_missing_file_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute label"):
        read_teacher_file(tmp_path)
