"""How a command ends: what is said, with which code, and that nothing half-written stays."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest

from adamroute.encoders.vector_file import read_vectors, write_vectors
from adamroute.errors import ShopError
from adamroute.failures import ending
from adamroute.process import Stopped
from adamroute.stages import publish, write_text

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("error", "words", "code"),
    [
        (ShopError("shop: empty"), "shop: empty", 2),
        (Stopped(signal.SIGINT), "stopped by SIGINT", 130),
        (Stopped(signal.SIGTERM), "stopped by SIGTERM", 143),
        (OSError(errno.ENOSPC, "No space left", "o/x"), "o/x: No space left. Make room there", 2),
        (OSError(errno.ENOSPC, "No space left"), "a file (of `out` or TMPDIR): No space", 2),
        (OSError(errno.EROFS, "Read-only", b"o"), "o: Read-only. Give a folder that you may", 2),
        (PermissionError(errno.EACCES, "Denied", "o"), "o: Denied. Give a folder", 2),
        (NotADirectoryError(errno.ENOTDIR, "Not", "o"), "o: Not. Give a path that is a folder", 2),
        (FileExistsError(errno.EEXIST, "Exists", "o"), "o: Exists. Give a path that is a", 2),
        (IsADirectoryError(errno.EISDIR, "Is", "o"), "o: Is. Give a path that is a folder", 2),
        (OSError(errno.ENAMETOOLONG, "File name too long", "o"), "Give a shorter one", 2),
    ],
)
def test_what_a_person_can_mend_is_one_line(error: BaseException, words: str, code: int) -> None:
    line, found = ending(error)
    assert words in line
    assert "\n" not in line
    assert found == code


@pytest.mark.parametrize("error", [ValueError("odd"), OSError(errno.ENOENT, "No such", "x")])
def test_a_bug_keeps_its_traceback_and_says_that_it_is_one(error: Exception) -> None:
    line, code = ending(error)
    assert str(error) in line
    assert line.splitlines()[-1].startswith("adamroute: this is a bug in adamroute")
    assert code == 1


def no_room(*_: object, **__: object) -> NoReturn:
    raise FULL


def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "x", "old")
    write_vectors(tmp_path / "v.npz", {"k": np.ones(2, np.float32)})
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "x", "new")
    with pytest.raises(OSError, match="No space left"):
        write_vectors(tmp_path / "v.npz", {"k": np.zeros(2, np.float32)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.npz", "x"]
    assert (tmp_path / "x").read_text(encoding="utf-8") == "old"
    assert read_vectors(tmp_path / "v.npz")["k"].tolist() == [1.0, 1.0]


def test_a_folder_that_found_no_room_is_named_and_the_old_one_stands(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with publish(folder) as scratch:
        (scratch / "x").write_text("old", encoding="utf-8")
    with pytest.raises(OSError, match="index"), publish(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (folder / "x").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize(
    ("words", "free"), [("I/O error: No space left on device (os error 28)", 2**40), ("?", 0)]
)
def test_a_library_that_does_not_say_why_it_failed_is_asked_of_the_disk(
    words: str, free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(OSError, match="No space left") as caught, publish(tmp_path / "student"):
        raise RuntimeError(words)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "student")


def test_other_errors_of_a_folder_in_the_making_stay_what_they_are(tmp_path: Path) -> None:
    for error in (RuntimeError("odd"), ShopError("empty")):
        with pytest.raises(type(error), match=str(error)), publish(tmp_path / "index"):
            raise error


SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background
from pathlib import Path
from adamroute import cli
from adamroute.stages import publish
def slow(config, progress):
    with publish(config.out / "index"):
        print("begun", flush=True)
        time.sleep(60)
cli._build = slow
sys.argv = ["adamroute", "build", sys.argv[1]]
cli.main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_stage_with_its_code_and_nothing_half_written(
    number: int, code: int, tmp_path: Path
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"name: c\nshop: {tmp_path}\nout: {tmp_path}/out\n", encoding="utf-8")
    command = [sys.executable, "-c", SLOW, str(config)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.05)  # into the sleep that the signal ends
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == code
    assert said.startswith(f"adamroute: stopped by {signal.Signals(number).name}. To go on, run")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
