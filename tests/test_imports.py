"""The house rule of one-way imports, checked in a fresh process and by reading the sources."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("ray", "vllm", "torch", "transformers", "trl", "peft")


def test_importing_adamroute_brings_no_heavy_framework_along() -> None:
    code = (
        "import sys, adamroute, adamroute.config, adamroute.cli, adamroute.routing.policy;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def imported(path: Path) -> set[str]:
    """Top-level packages a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("stage", ["distill", "training", "serving"])
def test_stages_never_import_each_other(stage: str) -> None:
    others = {"distill", "training", "serving"} - {stage}
    for path in (ROOT / stage).rglob("*.py"):
        assert not imported(path) & others, path


def test_only_the_command_line_reaches_from_the_core_to_the_stages() -> None:
    stages = {"distill", "training", "serving"}
    for path in (ROOT / "adamroute").rglob("*.py"):
        if path.name != "cli.py":
            assert not imported(path) & stages, path


def test_only_the_models_room_touches_torch_and_transformers() -> None:
    for path in (ROOT / "adamroute").rglob("*.py"):
        if "models" not in path.parts:
            assert not imported(path) & (set(HEAVY) | {"sentence_transformers"}), path
