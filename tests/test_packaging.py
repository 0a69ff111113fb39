"""What the code imports is declared, and the wheel is one package that runs from any folder."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import ROOT

STAGES = ("distill", "training", "serving")
BUILT_FROM = ("adamroute", *STAGES, "configs")
OF_ANOTHER = {"pydantic_core": "pydantic", "grpc": "ray"}  # modules that a declared package brings


def named(requirement: str) -> str:
    """The package of a requirement, as metadata compare names."""
    return re.split(r"[\[><=~;]", requirement)[0].strip().lower().replace("_", "-")


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    lists = [project["dependencies"], *(optional[extra] for extra in extras)]
    return {named(requirement) for every in lists for requirement in every} - {"adamroute"}


def imports(folder: str) -> Iterator[tuple[str, str]]:
    """File and first name of each absolute import below a folder, those in functions too."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            for module in modules:
                yield str(path.relative_to(ROOT)), module.split(".")[0]


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (("adamroute", *STAGES), ("stack", "cpu", "gpu")),
        (("scripts", "tests"), ("stack", "cpu", "gpu", "postgres", "dev")),
    ],
)
def test_every_package_that_is_imported_is_declared(
    folders: tuple[str, ...], extras: tuple[str, ...]
) -> None:
    known, brought = declared(*extras), packages_distributions()
    own = {"adamroute", *sys.stdlib_module_names, *(["tests"] if "tests" in folders else [])}
    for folder in folders:
        for file, module in imports(folder):
            names = {OF_ANOTHER.get(module, module), *brought.get(module, ())}
            assert module in own or {named(name) for name in names} & known, f"{file}: {module}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: a build leaves folders beside its sources."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in BUILT_FROM:
        leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", source, "--no-build-isolation", "--wheel-dir", built)
    (made,) = built.glob("*.whl")
    return made


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*command, *map(str, arguments), "--no-deps"], check=True, timeout=300)


@pytest.mark.slow
def test_the_wheel_holds_one_package_with_all_files_of_the_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        files = {name for name in packed.namelist() if ".dist-info/" not in name}
    wanted = {
        (Path(folder) / name).relative_to(ROOT).as_posix()
        for folder, _, names in os.walk(ROOT / "adamroute", followlinks=True)
        for name in names
        if "__pycache__" not in folder
    }
    assert files == wanted
    assert {f"adamroute/{stage}/__init__.py" for stage in STAGES} <= files
    assert "adamroute/distill/evaluation/templates/report.md.j2" in files
    assert "adamroute/configs/demo.yaml" in files


@pytest.mark.slow
def test_an_installed_wheel_runs_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip("install", wheel, "--target", site)

    def python(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": str(site)},
            check=True, capture_output=True, text=True, timeout=300,
        ).stdout  # fmt: skip

    assert " demo " in python("-m", "adamroute", "--help")
    seen = python(
        "-c",
        "import adamroute.distill, adamroute.serving, adamroute.training\n"
        "from adamroute.cli import DEMO\n"
        "from adamroute.config import load_config\n"
        "from adamroute.stages import commit\n"
        "print(adamroute.__file__, load_config(DEMO).shop, commit(), sep='\\n')",
    )
    assert seen.split() == [str(site / "adamroute/__init__.py"), "runs/demo/shop", "unknown"]
