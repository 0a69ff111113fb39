"""What is set once for a process, seen in fresh ones."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
