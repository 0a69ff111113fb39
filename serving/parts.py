"""From finished stage folders to the parts of the graph, checked before anything starts."""

from __future__ import annotations

from pathlib import Path

from adamroute.artifacts import MANIFEST, Manifest, file_hash, read_manifest
from adamroute.config import Config
from adamroute.errors import ArtifactError
from adamroute.models.lora_student import LoraStudent
from adamroute.recall.loaded import RecallIndex, load_index
from adamroute.routing.confidence import Calibration, load_calibration
from adamroute.routing.loaded import STORE_FILE, load_teacher, read_teacher_file
from adamroute.routing.teacher import Teacher
from adamroute.scoring.scorer import OrdinalScorer
from adamroute.store import SqliteProfileStore
from serving.flow import Facts
from serving.nodes import Users
from serving.schemas import Versions

# Folder of each served stage, the stage's name in its manifest, and the verb that makes it.
STAGES = {
    "index": ("build", "build"),
    "labels": ("label", "label"),
    "student": ("train", "train"),
    "scorer": ("scorer", "train"),
    "calibration": ("calibrate", "calibrate"),
}
SMALL_THREADS = 1  # of recall and teacher; the router gets the rest of the machine


def check(config: Config) -> Facts:
    """Every stage finished, whole, and made from the others; ArtifactError with what to run.

    Reads each file once to compare its sha256: a tenth of a second per 100 MB.
    """
    manifests = {name: _sealed(config.stage(name), *STAGES[name]) for name in STAGES}
    hashes = {name: manifest.hash for name, manifest in manifests.items()}
    for name, manifest in manifests.items():
        for source, found in manifest.inputs.items():
            if hashes.get(source, found) != found:
                raise ArtifactError(
                    f"{config.stage(name)}: made from {source} {found}, at hand is "
                    f"{hashes[source]}. Run again: adamroute {STAGES[name][1]} CONFIG"
                )
    calibration = load_calibration(config.stage("calibration"))
    calibration.check(hashes)
    return Facts(
        tau=read_teacher_file(config.stage("labels")).tau,
        threshold=calibration.threshold,
        standing=calibration.standing(config.calibration.on_uncertified),
        calibrated_on=calibration.calibrated_on,
        versions=Versions(**hashes),
    )


def student(config: Config) -> LoraStudent:
    """The LoRA student on the router's cores."""
    return LoraStudent.load(config.stage("student"), max(1, int(config.serve.router_cpus)))


def calibration(config: Config) -> Calibration:
    """Its confidence."""
    return load_calibration(config.stage("calibration"))


def index(config: Config) -> RecallIndex:
    """Arrays and text encoder, on one thread."""
    return load_index(config.stage("index"), SMALL_THREADS)


def users(config: Config) -> Users:
    """All users as the last labelling round left them."""
    labels = config.stage("labels")
    return Users(
        SqliteProfileStore(labels / STORE_FILE).snapshot(),
        neighbours=config.teacher.neighbours,
        time=read_teacher_file(labels).time,
    )


def scorer(config: Config) -> OrdinalScorer:
    """The five-level scorer."""
    return OrdinalScorer.load(config.stage("scorer"))


def teacher(config: Config, index: RecallIndex) -> Teacher:
    """The full loop; its store is opened read-only."""
    return load_teacher(config.stage("labels"), index, config)


def _sealed(folder: Path, stage: str, verb: str) -> Manifest:
    manifest = read_manifest(folder, stage)
    for name, wanted in manifest.outputs.items():
        path = folder / name
        if not path.is_file() or file_hash(path) != wanted:
            raise ArtifactError(
                f"{path}: not the file that {MANIFEST} was written for. "
                f"Delete {folder} and run: adamroute {verb} CONFIG"
            )
    return manifest
