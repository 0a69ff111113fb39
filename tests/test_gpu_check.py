"""scripts/gpu_check.py on a machine without a GPU: nothing is run, and it says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "gpu_check.py"


def test_without_a_gpu_it_says_what_to_do_and_exits_with_its_own_code() -> None:
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    found = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, env=hidden
    )
    assert found.returncode == 3
    assert found.stderr.startswith("no GPU: ")
    assert "--tiny" in found.stderr
    assert "hardware: " in found.stdout
    assert "adamroute build" not in found.stdout
