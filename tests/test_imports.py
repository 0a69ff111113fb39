"""The house rule of one-way imports, checked in a fresh process and by reading the sources."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("ray", "vllm", "torch", "transformers", "trl", "peft")


def test_importing_adamroute_brings_no_heavy_framework_along() -> None:
    code = (
        "import sys, adamroute, adamroute.config, adamroute.cli, adamroute.routing.policy_string;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def imported(path: Path) -> set[str]:
    """Modules a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found
