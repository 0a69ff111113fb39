"""Stages meet as files: a folder whose `manifest.json` is written last and says what made it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from adamroute.errors import ArtifactError

StageConfig = BaseModel | Mapping[str, JsonValue]
MANIFEST = "manifest.json"
VERBS = {"profile": "build", "scorer": "train"}  # stages that another stage's verb runs
FORMAT = 1
PACKAGES = (
    "faiss-cpu", "faiss-gpu-cu12", "numpy", "peft", "ray", "scikit-learn", "torch",
    "transformers", "trl",
)  # fmt: skip


class Manifest(BaseModel):
    """What made a stage's folder. `hash` names its content: config, inputs and outputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    stage: str
    key: str  # sha256 of stage, config and inputs: equal key, nothing to redo
    config: dict[str, JsonValue]
    inputs: dict[str, str]  # name to hash
    outputs: dict[str, str]  # file to sha256
    counts: dict[str, JsonValue]
    packages: dict[str, str]
    commit: str

    @property
    def hash(self) -> str:
        """Name of this content, 16 hex digits; package versions and commit do not enter."""
        return digest({"key": self.key, "outputs": self.outputs})


def digest(value: object) -> str:
    """First 16 hex digits of the sha256 of a JSON value with sorted keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_hash(path: Path) -> str:
    """sha256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stage_key(stage: str, config: StageConfig, inputs: Mapping[str, str]) -> str:
    """What a stage's result depends on, as one hash."""
    return digest(
        {"stage": stage, "config": _plain(config), "inputs": dict(inputs), "format": FORMAT}
    )


def read_manifest(folder: Path, stage: str) -> Manifest:
    """The manifest of a finished stage; ArtifactError where the folder is absent or cut short."""
    path = folder / MANIFEST
    verb = VERBS.get(stage, stage)
    if not path.is_file():
        raise ArtifactError(
            f"{folder}: no {MANIFEST}, so stage '{stage}' is not finished there. "
            f"Run it first: adamroute {verb} CONFIG (or adamroute run CONFIG)"
        )
    try:
        manifest = Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise ArtifactError(
            f"{path}: not a manifest of format {FORMAT} ({error.error_count()} problems). "
            f"Delete the folder and run: adamroute {verb} CONFIG"
        ) from error
    if manifest.stage != stage or manifest.format != FORMAT:
        raise ArtifactError(
            f"{path}: stage '{manifest.stage}' format {manifest.format}, "
            f"wanted '{stage}' format {FORMAT}"
        )
    return manifest


def is_fresh(folder: Path, stage: str, key: str) -> bool:
    """Whether the folder holds the finished result of exactly this key."""
    try:
        return read_manifest(folder, stage).key == key
    except ArtifactError:
        return False


def write_manifest(
    folder: Path,
    *,
    stage: str,
    config: StageConfig,
    inputs: Mapping[str, str],
    counts: Mapping[str, JsonValue],
) -> Manifest:
    """Seal a folder: hash every file in it and write the manifest last, by rename."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)
    manifest = Manifest(
        format=FORMAT,
        stage=stage,
        key=stage_key(stage, config, inputs),
        config=_plain(config),
        inputs=dict(inputs),
        outputs={p.relative_to(folder).as_posix(): file_hash(p) for p in files},
        counts=dict(counts),
        packages=package_versions(),
        commit=commit(),
    )
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    return manifest


def check_replaceable(folder: Path, stage: str) -> None:
    """ArtifactError where `publish` would delete what no earlier run of this stage wrote."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        read_manifest(folder, stage)
    except ArtifactError as error:
        raise ArtifactError(
            f"{folder}: holds something else than an earlier result of '{stage}', which would be "
            "deleted. Give an empty or new folder"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a temporary name beside it, then a rename."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


@contextmanager
def publish(folder: Path) -> Iterator[Path]:
    """A scratch folder that takes the place of `folder` when the block ends without an error.

    What stood there before is removed only after the new one is complete; after an error the old
    one still stands and the scratch folder is gone.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(folder.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    except BaseException:  # Ctrl-C too must not leave half a folder
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    replace_folder(scratch, folder)


def replace_folder(scratch: Path, folder: Path) -> None:
    """Put a complete scratch folder in the place of another."""
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    scratch.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def package_versions() -> dict[str, str]:
    """Versions of the packages whose numerics decide a result, those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str:
    """Short commit of the checkout the code runs from, `+` when dirty, `unknown` outside git."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return "unknown"
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stdout.strip() or "unknown"


def _plain(config: StageConfig) -> dict[str, JsonValue]:
    return config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config)
