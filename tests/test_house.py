"""The house's own rules, read off the sources: names, sizes, circles, what an import brings."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("adamroute", "distill", "training", "serving")
HEAVY = ("ray", "vllm", "torch", "transformers", "trl", "peft")
LONGEST, MEDIAN, POSITIONAL = 40, 8, 5  # lines of a function, of the middle one, parameters
Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    """Every module once: the links below adamroute/ lead to folders that are walked themselves."""
    found = [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
    ]
    assert len(found) > 100
    return found


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources()}


def functions() -> Iterator[tuple[str, Function]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{path.relative_to(ROOT)}:{node.name}", node


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_function_is_longer_than_a_screen_and_most_are_short() -> None:
    lengths = {name: length(node) for name, node in functions()}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}
    assert statistics.median(lengths.values()) <= MEDIAN


def test_no_parameter_list_is_long_without_names() -> None:
    def positional(node: Function) -> int:
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        return len([name for name in names if name not in ("self", "cls")])

    assert {n: positional(node) for n, node in functions() if positional(node) > POSITIONAL} == {}


def test_no_two_files_and_no_two_classes_share_a_name() -> None:
    files = Counter(path.name for path in sources() if path.name != "__init__.py")
    assert [name for name, count in files.items() if count > 1] == []
    classes = Counter(
        node.name
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_files_import_each_other_in_no_circle() -> None:
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("adamroute", cache_dir=None)
    arrows = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}
    TopologicalSorter(arrows).prepare()  # CycleError names the circle


def test_importing_adamroute_brings_no_heavy_framework_along() -> None:
    code = (
        "import sys, adamroute, adamroute.config, adamroute.cli, adamroute.routing.policy_string;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_face_of_the_library_is_all_there() -> None:
    import adamroute

    assert [name for name in adamroute.__all__ if getattr(adamroute, name, None) is None] == []
