"""What `make` does before it downloads torch, with a pip that only says what it would take."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PIP = """#!/bin/sh
echo "$*" >> "{folder}/asked"
case "$*" in *--dry-run*) cat "{folder}/plan" ;; esac
"""
CUDA = '{"install": [{"metadata": {"name": "torch"}}, {"metadata": {"name": "nvidia-nccl"}}]}'
CPU = '{"install": [{"metadata": {"name": "torch"}}, {"metadata": {"name": "sympy"}}]}'


def install(folder: Path, plan: str, **environment: str) -> tuple[int, str, list[str]]:
    """Exit code, what was said, and what pip was asked."""
    pip = folder / "pip"
    pip.write_text(PIP.format(folder=folder), encoding="utf-8")
    pip.chmod(0o755)
    (folder / "plan").write_text(plan, encoding="utf-8")
    run = subprocess.run(
        [ROOT / "scripts" / "install_torch.sh", pip, "install"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "NVIDIA": str(folder / "no-gpu"), **environment},
    )  # fmt: skip
    asked = (folder / "asked").read_text(encoding="utf-8").splitlines()
    return run.returncode, run.stdout, asked


def test_a_cpu_build_is_taken_without_a_question(tmp_path: Path) -> None:
    code, said, asked = install(tmp_path, CPU)
    assert (code, asked[-1]) == (0, "install torch")
    assert "downloads about 0.2 GB" in said


def test_a_cuda_build_is_not_downloaded_where_nobody_chose_it(tmp_path: Path) -> None:
    code, said, asked = install(tmp_path, CUDA)
    assert code == 2
    assert "3 GB to download" in said
    assert "TORCH_INDEX=URL" in said
    assert asked == ["install --dry-run --report - torch"]


@pytest.mark.parametrize("chosen", [{"TORCH": "any"}, {"NVIDIA": "/dev/null"}])
def test_chosen_or_with_a_gpu_it_is(tmp_path: Path, chosen: dict[str, str]) -> None:
    code, said, asked = install(tmp_path, CUDA, **chosen)
    assert (code, asked[-1]) == (0, "install torch")
    assert "downloads about 3 GB" in said


def test_an_index_of_cpu_builds_is_asked_too(tmp_path: Path) -> None:
    _, _, asked = install(tmp_path, CPU, TORCH_INDEX="U")
    assert asked[-1] == "install --extra-index-url U torch"


def test_what_is_there_is_not_installed_again(tmp_path: Path) -> None:
    code, said, asked = install(tmp_path, '{"install": []}')
    assert (code, said, len(asked)) == (0, "", 1)
