"""From finished stage folders to the parts of the graph, checked before anything starts."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from adamroute.catalogue.preferences import PreferenceProfile
from adamroute.catalogue.shop import Interaction, Request
from adamroute.config import Config
from adamroute.errors import ArtifactError
from adamroute.reranking.features import FEATURES, Case
from adamroute.reranking.load import load_reranker
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.dual import Candidates
from adamroute.retrieval.search_index import SearchIndex, load_index
from adamroute.routing.confidence import Calibration, load_calibration
from adamroute.routing.lora_student import LoraStudent
from adamroute.serving.flow import Facts
from adamroute.serving.nodes import Users
from adamroute.serving.schemas import Versions
from adamroute.stages import MANIFEST, Manifest, file_hash, read_manifest
from adamroute.store import shared_store
from adamroute.teacher.constants import load_snapshot, load_teacher, read_teacher_file
from adamroute.teacher.loop import Teacher

# Folder of each served stage, the stage's name in its manifest, and the verb that makes it.
STAGES = {
    "index": ("build", "build"),
    "labels": ("label", "label"),
    "student": ("train", "train"),
    "scorer": ("scorer", "train"),
    "calibration": ("calibrate", "calibrate"),
}
SMALL_THREADS = 1  # of recall and teacher; the router gets the rest of the machine
ENGINE_LOCK = "serve/engine.lock"  # below config.out
WARM_UP = "warm up"


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
    if manifests["labels"].config["teacher"] != config.teacher.settings():
        raise ArtifactError(
            f"{config.stage('labels')}: labelled by another teacher than the config's, so what "
            "falling back gains was never measured. Run again: adamroute label CONFIG"
        )
    calibration = load_calibration(config.stage("calibration"))
    calibration.check(hashes)
    shared = shared_store(config, manifests["labels"].key, read_only=True)
    if shared is not None:
        shared.check()
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


def index(config: Config) -> SearchIndex:
    """Arrays, encoders and search, on one thread; ConfigError where FAISS wants a GPU it lacks."""
    return load_index(config.stage("index"), SMALL_THREADS, device=config.serve.recall_device)


def users(config: Config) -> Users:
    """All users as the last labelling round left them."""
    labels = config.stage("labels")
    return Users(
        load_snapshot(labels, config),
        neighbours=config.teacher.neighbours,
        time=read_teacher_file(labels).time,
    )


def scorer(config: Config) -> Reranker:
    """The five-level scorer: weights from a file, or a language model's engine."""
    return load_reranker(config)


def teacher(config: Config, index: SearchIndex) -> Teacher:
    """The full loop; its store is opened read-only, and no call outlives the request."""
    llm = config.teacher.llm
    if llm is not None:
        quick = {"retries": 0, "timeout_s": min(llm.timeout_s, config.serve.timeout_s)}
        patient = config.teacher.model_copy(update={"llm": llm.model_copy(update=quick)})
        config = config.model_copy(update={"teacher": patient})
    return load_teacher(config.stage("labels"), index, config)


def warm_reranker(config: Config) -> Reranker:
    """As `scorer`; a language model has read one item, which costs its first call's set-up."""
    if "scorer" not in config.served_engines:
        return scorer(config)
    with engine_alone(config):
        loaded = scorer(config)
        loaded.score(_one_item())
        return loaded


def warm_teacher(config: Config, index: SearchIndex) -> Teacher:
    """As `teacher`; a language model has answered each kind of prompt once."""
    if "teacher" not in config.served_engines:
        return teacher(config, index)
    history = tuple(Interaction(item_id, True, 0.0) for item_id in index.ids[:1])
    with engine_alone(config):
        loaded = teacher(config, index)
        loaded.decide(Request(WARM_UP, None, WARM_UP, history))
        return loaded


@contextmanager
def engine_alone(config: Config) -> Iterator[None]:
    """One engine of a run starts at a time, in whatever process.

    vLLM takes what it does not find free for its own use: engines that start on one GPU together
    would each count the other's weights.
    """
    path = config.out / ENGINE_LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:  # closing it lets go
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _one_item() -> Case:
    first, score = np.ones(1, np.int64), np.ones(1, np.float32)
    found = Candidates(np.zeros(1, np.int64), first, first, score, score, ("both",))
    return Case(WARM_UP, PreferenceProfile(), found, np.zeros((1, len(FEATURES))), (WARM_UP,))


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
