"""What is set once for a process, seen in fresh ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adamroute.errors import ConfigError
from adamroute.process import Stopped, private_folder, stopped_by_signals

# The first breath of a verb: nothing may have brought torch before the variables are set.
VERB = """
import os, sys
from adamroute import cli, process
def prepared(threads=None):
    assert "torch" not in sys.modules and "faiss" not in sys.modules
    process.prepare_process(threads)
cli.prepare_process = prepared
sys.argv = ["adamroute", "{verb}", "--help"]
try:
    cli.main()
except SystemExit as stop:
    assert stop.code in (0, None), stop.code
sys.stdout.write("\\n" + os.environ["OMP_WAIT_POLICY"])
"""
THREADS = """
from adamroute.process import prepare_process
prepare_process(1)
import torch
print(torch.get_num_threads())
"""


def fresh(code: str, **environment: str) -> str:
    """Last line that a process of its own prints."""
    known = {
        k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")
    }
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env={**known, **environment},
    )  # fmt: skip
    return run.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("verb", ["build", "serve"])
def test_waiting_threads_sleep_in_every_verb_before_torch_comes(verb: str) -> None:
    assert fresh(VERB.format(verb=verb)) == "PASSIVE"


def test_what_the_environment_says_of_waiting_stays() -> None:
    assert fresh(VERB.format(verb="ask"), OMP_WAIT_POLICY="ACTIVE") == "ACTIVE"


def test_the_thread_count_reaches_torch() -> None:
    assert fresh(THREADS) == "1"


LATE = """
import faiss, torch
torch.set_num_threads(2)
faiss.omp_set_num_threads(2)
from adamroute.process import prepare_process
prepare_process(1)
print(torch.get_num_threads(), faiss.omp_get_max_threads())
"""
UNCOUNTED = """
import os
from adamroute.process import prepare_process, threads_uncounted
prepare_process(3)
with threads_uncounted():
    print(os.environ.get("OMP_NUM_THREADS"), end=" ")
print(os.environ["OMP_NUM_THREADS"])
"""
TITLE = """
import sys
from pathlib import Path
from adamroute.process import run_in_utf8
run_in_utf8()
Path(sys.argv[1]).write_text("größe 漢字")
print(sys.argv[1], Path(sys.argv[1]).read_text())
"""


def test_where_torch_and_faiss_came_first_they_are_told() -> None:
    assert fresh(LATE) == "1 1"


def test_processes_of_others_may_count_for_themselves() -> None:
    assert fresh(UNCOUNTED) == "None 3"


def test_a_locale_without_the_letters_of_a_path_or_title_does_not_matter(tmp_path: Path) -> None:
    script = tmp_path / "title.py"
    script.write_text(TITLE, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, script, tmp_path / "größe"],
        capture_output=True, check=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert run.stdout.decode("utf-8") == f"{tmp_path}/größe größe 漢字\n"
    assert (tmp_path / "größe").is_file()


def test_a_signal_that_was_ignored_before_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_by_signals():
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(Stopped, match="SIGTERM"):
                os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


HOME = """
import os
from adamroute.process import prepare_process, private_folder
prepare_process()
own = str(private_folder())
print(os.environ.get("HOME") == own, os.environ.get("MPLCONFIGDIR") == own)
"""


def test_libraries_get_a_folder_where_there_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert fresh(HOME, TMPDIR=str(tmp_path), HOME=str(tmp_path / "file" / "home")) == "True True"
    assert (tmp_path / f"adamroute-{os.getuid()}").stat().st_mode & 0o777 == 0o700
    assert fresh(HOME, TMPDIR=str(tmp_path), HOME=str(tmp_path)) == "False False"


def test_a_private_folder_that_is_another_users_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.getuid", lambda: 123_456)
    with pytest.raises(ConfigError, match="adamroute-123456 belongs to another user"):
        private_folder()
