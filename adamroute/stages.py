"""Stages meet as files: a folder whose `manifest.json` is written last and says what made it.

A `Stage` says what its result depends on. Everything else about it is the same for all and stands
here: is it fresh, what does a run that was cut have already, when is the folder replaced, what
does a person run next. The stages themselves, as a graph, are in pipeline.py.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from adamroute.array_files import read_arrays
from adamroute.config import CONFIG_FILE, Config
from adamroute.errors import ArtifactError
from adamroute.failures import writing

MANIFEST = "manifest.json"
FORMAT = 1
PACKAGES = (
    "faiss-cpu", "faiss-gpu-cu12", "numpy", "peft", "ray", "scikit-learn", "torch",
    "transformers", "trl",
)  # fmt: skip

Arrays = Mapping[str, NDArray[np.generic]]
Record = dict[str, JsonValue]
Counts = Mapping[str, JsonValue]


class Manifest(BaseModel):
    """What made a stage's folder. `hash` names its content: config, inputs and outputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    stage: str
    key: str  # sha256 of stage, config and inputs: equal key, nothing to redo
    config: dict[str, JsonValue]  # the part that decides the result, with the stage's recipe
    inputs: dict[str, str]  # name to hash
    outputs: dict[str, str]  # file to sha256
    counts: dict[str, JsonValue]
    packages: dict[str, str]
    commit: str

    @property
    def hash(self) -> str:
        """Name of this content, 16 hex digits; package versions and commit do not enter."""
        return digest({"key": self.key, "outputs": self.outputs})


class Input(Protocol):
    """What a stage reads: another stage, or something outside the run."""

    @property
    def label(self) -> str:
        """Its name in manifests."""
        ...

    def hash(self, config: Config) -> str | None:
        """Name of its content; None where this config does not use it."""
        ...


@dataclass(frozen=True)
class Source:
    """Something outside the run's folders that a stage reads."""

    label: str
    find: Callable[[Config], str | None]

    def hash(self, config: Config) -> str | None:
        return self.find(config)


@dataclass(frozen=True)
class Work:
    """What a stage that is being made may write to."""

    folder: Path  # takes the place of the stage's folder at the end
    key: str
    pieces: Pieces


@dataclass(frozen=True)
class Stage:
    """One step of a run: a folder, the command that makes it, and all that decides its content."""

    name: str
    folder: str  # below the run's; or an absolute path
    verb: str  # of the command line
    inputs: tuple[Input, ...] = ()
    settings: tuple[str, ...] = ()  # dotted keys of the config: "labels", "routing.tau"
    recipe: int = 1  # raise it when equal inputs and settings come to mean another result

    @property
    def label(self) -> str:
        return self.folder

    def path(self, config: Config) -> Path:
        """Where its result lies."""
        return config.stage(self.folder)

    def read(self, config: Config) -> Manifest:
        """Its manifest; ArtifactError, with what to run, where it is not finished."""
        return read_manifest(self.path(config), self.name, self.verb)

    def hash(self, config: Config) -> str:
        return self.read(config).hash

    def run(
        self,
        config: Config,
        make: Callable[[Work], Counts],
        *,
        options: Mapping[str, JsonValue] | None = None,
        anew: bool = False,
    ) -> Manifest:
        """Let `make` fill the folder, where it does not hold this result already.

        `make` returns the manifest's counts. `options` are what decides the result beside config
        and inputs; `anew` makes it in any case, and without the pieces of a run that was cut.
        After an error the old folder still stands, and finished pieces wait for the next run.
        """
        draft = self._draft(config, options)
        folder = self.path(config)
        pieces = Pieces(folder.with_name(folder.name + ".parts"), draft.key)
        made = not anew and self._is_made(config, draft)
        if anew or made:  # of a run that was killed at its end
            pieces.remove()
        if made:
            return self.read(config)
        with publish(folder) as scratch:
            manifest = _sealed(draft, scratch, make(Work(scratch, draft.key, pieces)))
        pieces.remove()
        return manifest

    def is_fresh(self, config: Config, options: Mapping[str, JsonValue] | None = None) -> bool:
        """Whether the folder holds what `run` would make of the inputs at hand."""
        try:
            return self._is_made(config, self._draft(config, options))
        except ArtifactError:  # an input is not there
            return False

    def key(self, config: Config, options: Mapping[str, JsonValue] | None = None) -> str:
        """What the result depends on, as one hash; ArtifactError where an input is missing."""
        return self._draft(config, options).key

    def require(self, config: Config, *names: str) -> None:
        """ArtifactError unless these sections of the config, or sources, are what it was made of.

        A stage that is read without being run again can so refuse a config that was changed.
        """
        made = self.read(config)
        settings = config.deciding(key for key in self.settings if key.partition(".")[0] in names)
        sources = {s.label: s.hash(config) for s in self.inputs if s.label in names}
        for name in names:
            old = made.config.get(name), made.inputs.get(name)
            if old != (settings.get(name), sources.get(name)):
                raise ArtifactError(
                    f"{self.path(config)}: made for another `{name}` than the config's. "
                    f"Run again: adamroute {self.verb} CONFIG"
                )

    def at(self, folder: Path) -> Stage:
        """The same in a folder of the user's; ArtifactError where that holds something else."""
        elsewhere = replace(self, folder=str(folder.absolute()))
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            try:
                read_manifest(folder, self.name, self.verb)
            except ArtifactError as error:
                raise ArtifactError(
                    f"{folder}: holds something else than an earlier result of '{self.name}', "
                    "which would be deleted. Give an empty or new folder"
                ) from error
        return elsewhere

    def _is_made(self, config: Config, draft: Manifest) -> bool:
        try:
            return self.read(config).key == draft.key
        except ArtifactError:
            return False

    def _draft(self, config: Config, options: Mapping[str, JsonValue] | None) -> Manifest:
        """The manifest of a result that is not made yet."""
        settings = {**config.deciding(self.settings), **(options or {}), "recipe": self.recipe}
        hashes = {source.label: source.hash(config) for source in self.inputs}
        inputs = {label: found for label, found in hashes.items() if found is not None}
        decides = {"stage": self.name, "config": settings, "inputs": inputs, "format": FORMAT}
        return Manifest(
            format=FORMAT, stage=self.name, key=digest(decides), config=settings, inputs=inputs,
            outputs={}, counts={}, packages=package_versions(), commit=commit(),
        )  # fmt: skip


@dataclass
class Pieces:
    """Finished pieces of an unfinished stage, kept beside its folder so that a cut run goes on.

    A piece is written whole under its name (temporary file, then rename) and read back instead of
    being made again; pieces of another key are thrown away. Since every piece is a pure function
    of the key and its name, a resumed run gives the same bytes as one that was never cut. A piece
    that a failing disk damaged is made again.
    """

    folder: Path
    key: str
    _ready: bool = field(default=False, init=False)

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The named arrays, made now or read from an earlier run."""
        path = self._path(f"{name}.npz")
        with suppress(FileNotFoundError, ValueError):
            return read_arrays(path)
        buffer = io.BytesIO()
        np.savez(buffer, **dict(make()))  # type: ignore[arg-type]  # arrays by name
        write_bytes(path, buffer.getvalue())
        return read_arrays(path)

    def records(self, name: str, make: Callable[[], list[Record]]) -> list[Record]:
        """The named records, made now or read from an earlier run."""
        path = self._path(f"{name}.json")
        with suppress(FileNotFoundError, ValueError):
            return _records(path)
        write_text(path, json.dumps(make(), ensure_ascii=False))
        return _records(path)

    def remove(self) -> None:
        """Throw all pieces away."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._ready = False

    def _path(self, name: str) -> Path:
        marker = self.folder / "key"
        if not self._ready and not (marker.is_file() and marker.read_text() == self.key):
            self.remove()
            self.folder.mkdir(parents=True)
            write_text(marker, self.key)
        self._ready = True
        return self.folder / name


def _records(path: Path) -> list[Record]:
    found: list[Record] = json.loads(path.read_text(encoding="utf-8"))
    return found


def verified(config: Config, stages: Sequence[Stage]) -> dict[str, Manifest]:
    """As `chained`, and every file of theirs as it was sealed.

    Reads each file once to compare its sha256: a tenth of a second per 100 MB.
    """
    manifests = chained(config, stages)
    for stage in stages:
        _check_whole(stage, stage.path(config), manifests[stage.name])
    return manifests


def chained(config: Config, stages: Sequence[Stage]) -> dict[str, Manifest]:
    """Manifests by stage name: every stage finished, and made from the others at hand.

    ArtifactError says which is not, and what to run.
    """
    manifests = {stage.name: stage.read(config) for stage in stages}
    hashes = {stage.label: manifests[stage.name].hash for stage in stages}
    for stage in stages:
        for source, made_from in manifests[stage.name].inputs.items():
            if hashes.get(source, made_from) != made_from:
                raise ArtifactError(
                    f"{stage.path(config)}: made from {source} {made_from}, at hand is "
                    f"{hashes[source]}. Run again: adamroute {stage.verb} CONFIG"
                )
    return manifests


def _check_whole(stage: Stage, folder: Path, manifest: Manifest) -> None:
    for name, wanted in manifest.outputs.items():
        path = folder / name
        if not path.is_file() or file_hash(path) != wanted:
            raise ArtifactError(
                f"{path}: not the file that {MANIFEST} was written for. "
                f"Delete {folder} and run: adamroute {stage.verb} CONFIG"
            )


def digest(value: object) -> str:
    """First 16 hex digits of the sha256 of a JSON value with sorted keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_hash(path: Path) -> str:
    """sha256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_hash(path: Path) -> str:
    """As `file_hash`, but a file that looks as it did is read once a process."""
    state = path.stat()
    return _content_hash(path.absolute(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _content_hash(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001  # the cache's key
    return file_hash(path)


def read_manifest(folder: Path, stage: str, verb: str = "") -> Manifest:
    """The manifest of a finished stage; ArtifactError where the folder is absent or cut short."""
    path, verb = folder / MANIFEST, verb or stage
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


def _sealed(draft: Manifest, folder: Path, counts: Counts) -> Manifest:
    """Hash every file in the folder and write the manifest last, by rename."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)
    outputs = {p.relative_to(folder).as_posix(): file_hash(p) for p in files}
    manifest = draft.model_copy(update={"outputs": outputs, "counts": dict(counts)})
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    return manifest


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a temporary name beside it, then a rename."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """As `write_text`."""
    with written(path) as stream:
        stream.write(data)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """As `write_text`, what the block writes into the stream."""
    partial = path.with_name(path.name + ".partial")
    try:
        with writing(path), partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:  # what remains of it may be all that is left of the disk
        partial.unlink(missing_ok=True)
        raise
    partial.replace(path)


def keep_config(config: Config) -> None:
    """Write the config into the run's folder, where `open_run` finds it."""
    config = config.model_copy(update={"shop": config.shop.resolve(), "out": config.out.resolve()})
    config.out.mkdir(parents=True, exist_ok=True)
    path = config.out / CONFIG_FILE
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    write_text(path, text)


@contextmanager
def publish(folder: Path) -> Iterator[Path]:
    """A scratch folder that takes the place of `folder` when the block ends without an error.

    What stood there before is removed only after the new one is complete; after an error the old
    one still stands and the scratch folder is gone.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch, old = (folder.with_name(folder.name + end) for end in (".partial", ".old"))
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        with writing(folder):
            yield scratch
    except BaseException:  # Ctrl-C too must not leave half a folder
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    scratch.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


@cache
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
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    if not (root / ".git").exists():
        return "unknown"
    try:
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return "unknown"
    return run.stdout.strip() or "unknown"
