"""Two commands in one folder of a run: the second is told who has it."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path

import pytest

from adamroute.errors import InUseError
from adamroute.run_lock import LOCK, only_writer


def test_the_second_is_told_who_writes_there(tmp_path: Path) -> None:
    who = rf"run: `adamroute build` writes there \(process {os.getpid()} on {socket.gethostname()}"
    with only_writer(tmp_path / "run", "build"):
        with pytest.raises(InUseError, match=who), only_writer(tmp_path / "run", "label"):
            raise AssertionError("two writers")
        assert (tmp_path / "run" / LOCK).is_file()


def test_afterwards_the_folder_is_free_and_goes_where_it_stayed_empty(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    with only_writer(folder, "build"):
        pass
    assert not folder.exists()
    with only_writer(folder, "label"):
        (folder / "x").touch()
    assert [path.name for path in folder.iterdir()] == ["x"]


def test_the_lock_of_a_command_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text('{"verb": "run", "pid": 1}', encoding="utf-8")
    with only_writer(tmp_path, "build"):
        assert '"build"' in (tmp_path / LOCK).read_text(encoding="utf-8")


def test_a_writer_that_has_not_said_who_it_is_yet_is_one(tmp_path: Path) -> None:
    with (tmp_path / LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        wanted = "another command writes there. Wait"
        with pytest.raises(InUseError, match=wanted), only_writer(tmp_path, "build"):
            raise AssertionError("two writers")


def test_a_lock_that_was_removed_when_it_was_had_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def flock(_: object, __: int) -> None:
        asked.append(1)
        if len(asked) == 1:
            (tmp_path / LOCK).unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    with only_writer(tmp_path, "build"):
        assert len(asked) == 2


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EPERM])
def test_a_disk_without_locks_is_used_without(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", flock)
    if number == errno.ENOLCK:
        with only_writer(tmp_path, "build"):
            pass
    else:
        with pytest.raises(OSError, match="no"), only_writer(tmp_path, "build"):
            pass
