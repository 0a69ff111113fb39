"""From a config and a run's folders to its parts: the one place that chooses implementations.

Everything below takes its parts by the constructor. A new encoder, language-model engine, student
or re-ranker is one module of its own and one line here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from adamroute.config import Config, EncoderConfig, TeacherConfig
from adamroute.encoders.query_adapter import (
    QUERY_ADAPTER_FILE,
    TEXT_ADAPTER_FILE,
    AlignedPhotoEncoder,
    QueryAdapter,
)
from adamroute.encoders.seams import MultimodalEncoder, TextEncoder
from adamroute.errors import ArtifactError
from adamroute.llm.engines import chat_engine
from adamroute.pipeline import LABEL, RERANKER, SERVED, lacks
from adamroute.recommender.answers import Versions
from adamroute.recommender.nodes import Nodes, Reranking, Router, Teaching
from adamroute.recommender.steps import Facts
from adamroute.reranking.llm_grades import LlmReranker
from adamroute.reranking.reranker import (
    RERANKER_FILE,
    OrdinalReranker,
    Reranker,
    RetrievalOrder,
)
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.cross_fit import load_folds
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.search_index import Branches, SearchIndex, read_branches, read_items
from adamroute.routing.confidence import Calibration, load_calibration
from adamroute.routing.linear_student import LinearStudent
from adamroute.routing.policy_string import Standing
from adamroute.routing.student import Student
from adamroute.stages import Manifest, read_manifest, verified
from adamroute.store import ProfileStore, Snapshot, shared_store
from adamroute.teacher.constants import (
    BLIND_BUDGET,
    INTENT_FILE,
    STORE_FILE,
    TeacherFile,
    read_teacher_file,
)
from adamroute.teacher.context import Contexts
from adamroute.teacher.evidence_policy import EvidencePolicy
from adamroute.teacher.intent_model import IntentModel, load_intent_model
from adamroute.teacher.intent_student import IntentStudent
from adamroute.teacher.llm_policy import LlmPolicy
from adamroute.teacher.llm_views import Listings
from adamroute.teacher.loop import Ranker, Teacher
from adamroute.teacher.paraphrase import Paraphraser, load_paraphraser
from adamroute.teacher.policy import TeacherPolicy
from adamroute.theta import Theta

if TYPE_CHECKING:
    from adamroute.encoders.qwen_vl import Qwen3VLEncoder


def load_text_encoder(encoders: EncoderConfig) -> TextEncoder:
    """E_txt. ModelError where its weights are not at hand."""
    if encoders.text == "minilm":
        from adamroute.encoders.minilm import MiniLM

        return MiniLM()
    from adamroute.checkpoints import find_checkpoint
    from adamroute.encoders.qwen_text import Qwen3TextEncoder

    found = find_checkpoint(
        encoders.text_model, allow_download=encoders.allow_download, setting="encoders.text_model"
    )
    return Qwen3TextEncoder(found, dtype=encoders.dtype, batch=encoders.batch)


def load_vl_encoder(encoders: EncoderConfig) -> Qwen3VLEncoder:
    """Qwen3-VL-Embedding, which reads photos and queries. ModelError where it is not at hand."""
    from adamroute.checkpoints import find_checkpoint
    from adamroute.encoders.qwen_vl import Qwen3VLEncoder

    found = find_checkpoint(
        encoders.multimodal_model,
        allow_download=encoders.allow_download,
        setting="encoders.multimodal_model",
    )
    return Qwen3VLEncoder(found, dtype=encoders.dtype, batch=encoders.batch)


def load_mm_encoder(encoders: EncoderConfig, folder: Path, built_with: str) -> MultimodalEncoder:
    """E_mm's query side; ArtifactError where it is not the one that the index was built with."""
    if encoders.multimodal == "aligned-photo":
        return AlignedPhotoEncoder(QueryAdapter.load(folder / QUERY_ADAPTER_FILE))
    encoder = load_vl_encoder(encoders)
    _check_encoder(folder, "multimodal", built_with, encoder.name)
    return encoder


def load_index(
    folder: Path,
    text_encoder: TextEncoder | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
) -> SearchIndex:
    """Load index/; ArtifactError where it is unfinished, damaged or another encoder's.

    Without `text_encoder` the one that the index was built with is loaded (torch comes with it).
    """
    manifest = read_manifest(folder, "build")
    encoders = built_encoders(manifest)
    encoder = text_encoder or load_text_encoder(encoders)
    _check_encoder(folder, "text", str(manifest.counts.get("text_encoder")), encoder.name)
    stored = read_items(folder, manifest)
    name = str(manifest.counts.get("multimodal_encoder"))
    return SearchIndex(
        manifest=manifest,
        **stored.columns(),
        profile_texts=stored.profile_texts,
        text_vectors=stored.text_vectors,
        text_encoder=encoder,
        branches=load_branches(encoders, folder, name, device),
    )


def load_branches(
    encoders: EncoderConfig,
    folder: Path,
    built_with: str,
    device: Literal["cpu", "gpu"] = "cpu",
) -> Branches:
    """Both branches of index/; `built_with` names its multimodal encoder."""
    text, mm = (BranchIndex(vectors, device) for vectors in read_branches(folder))
    side = folder / TEXT_ADAPTER_FILE
    return Branches(
        QueryAdapter.load(side) if side.exists() else None,
        load_mm_encoder(encoders, folder, built_with),
        DualRetriever(text, mm),
    )


def built_encoders(manifest: Manifest) -> EncoderConfig:
    """The encoders of a finished index. Their weights are at hand: nothing is downloaded."""
    try:
        return EncoderConfig.model_validate(manifest.config["encoders"])
    except (KeyError, ValidationError) as error:
        raise ArtifactError(
            f"index: its manifest names no encoders that this version knows ({error}). "
            "Rebuild: adamroute build CONFIG"
        ) from error


def _check_encoder(folder: Path, kind: str, built_with: str, found: str) -> None:
    if found != built_with:
        raise ArtifactError(
            f"{folder}: built with {kind} encoder '{built_with}', got '{found}'. "
            "Rebuild: adamroute build CONFIG"
        )


def load_ranker(config: Config, index: SearchIndex) -> Ranker:
    """What ranks items that requests were written of: parts that never saw them.

    With `labels.out_of_sample: false` the index itself does, as every report then warns.
    """
    if not config.labels.out_of_sample:
        return index
    return load_folds(config.stage("index"), index.branches, index.text_encoder)


def evidence_policy(
    constants: TeacherFile, config: TeacherConfig, intents: IntentModel, paraphraser: Paraphraser
) -> EvidencePolicy:
    """The policy without a language model, which also stands in for one."""
    return EvidencePolicy(
        intents=intents,
        paraphraser=paraphraser,
        bins=constants.bins,
        lam=constants.lam,
        strength=config.prior_strength,
        collaborative=config.collaborative_share,
        leaning=constants.leaning,
    )


def teacher_policy(
    evidence: EvidencePolicy,
    constants: TeacherFile,
    config: TeacherConfig,
    index: SearchIndex,
    replies: Path | None = None,
) -> TeacherPolicy:
    """The policy that the config names; `replies` is where a model's are kept, if at all.

    Without kept replies a language model's engine is loaded and checked now (EngineError), so
    that a server doesn't start without it; with them, when one is first missing.
    """
    if config.llm is None or config.policy != "llm":
        return evidence
    engine = chat_engine(config.llm, replies)
    if replies is None:
        engine.check()
    return LlmPolicy(
        engine=engine,
        evidence=evidence,
        bins=constants.bins,
        listings=Listings.of(index),
        leaning=constants.leaning,
        usual=constants.static,
        time=constants.time,
        max_tokens=config.llm.max_tokens,
    )


def build_teacher(
    constants: TeacherFile,
    config: TeacherConfig,
    index: SearchIndex,
    snapshot: Snapshot,
    policy: TeacherPolicy,
    *,
    ranker: Ranker,
) -> Teacher:
    """The loop over one snapshot."""
    blind = Theta(0.5, min(BLIND_BUDGET, constants.tau))
    return Teacher(
        contexts=Contexts(index, snapshot, config.evidence, config.neighbours),
        policy=policy,
        ranker=ranker,
        blind=None if config.collaborative_start else blind,
        memory=config.memory,
    )


def load_snapshot(labels: Path, config: Config) -> Snapshot:
    """All users as the last labelling round left them, from where `store.url` says.

    ArtifactError where a shared database holds others than the labels were finished with.
    """
    manifest = read_manifest(labels, "label")
    shared = shared_store(config, manifest.key, read_only=True)
    if shared is None:
        return ProfileStore.file(labels / STORE_FILE).snapshot()
    snapshot, wanted = shared.snapshot(), manifest.counts.get("users")
    if snapshot.hash != wanted:
        raise ArtifactError(
            f"{shared}: users {snapshot.hash}, {labels} was finished with {wanted}. "
            "Run: adamroute label CONFIG"
        )
    return snapshot


def load_teacher(
    labels: Path, index: SearchIndex, config: Config, replies: Path | None = None
) -> Teacher:
    """The teacher of a finished label stage; the profile store is opened read-only.

    `replies`: where a language model's replies are kept; a server keeps none.
    ArtifactError where the labels were made from another index.
    """
    manifest = read_manifest(labels, "label")
    if manifest.inputs.get("index") != index.hash:
        raise ArtifactError(
            f"{labels}: made from index {manifest.inputs.get('index')}, the index at hand is "
            f"{index.hash}. Run: adamroute label CONFIG"
        )
    constants = read_teacher_file(labels)
    intents = load_intent_model(labels / INTENT_FILE)
    evidence = evidence_policy(constants, config.teacher, intents, load_paraphraser(labels))
    policy = teacher_policy(evidence, constants, config.teacher, index, replies)
    snapshot, ranker = load_snapshot(labels, config), load_ranker(config, index)
    return build_teacher(constants, config.teacher, index, snapshot, policy, ranker=ranker)


def load_student(config: Config) -> Student:
    """The student that serves. ArtifactError where it is not there or of another template."""
    match config.student.kind:
        case "linear":
            return load_linear_student(config)
        case "intent":
            return load_intent_student(config.stage("labels"))
        case "lora":
            from adamroute.routing.lora_student import LoraStudent

            return LoraStudent.load(config.stage("student"))


def load_linear_student(config: Config) -> LinearStudent:
    """Fitted on the same labels, whoever serves."""
    return LinearStudent.load(config.stage("student"))


def load_intent_student(labels: Path) -> IntentStudent:
    """The teacher's prior of a finished label stage."""
    constants, intents = read_teacher_file(labels), load_intent_model(labels / INTENT_FILE)
    return IntentStudent(intents, constants.bins, constants.lam, constants.leaning)


def load_reranker(config: Config) -> Reranker:
    """Read it, or load its engine; ArtifactError where the folder was made for another one."""
    if config.reranker.kind == "none":
        return RetrievalOrder()
    if config.reranker.kind == "ordinal":
        folder = RERANKER.path(config)
        if not (folder / RERANKER_FILE).exists() and lacks([RERANKER.read(config)]):
            return RetrievalOrder()  # its manifest says why none could be fitted
        return OrdinalReranker.load(folder)
    RERANKER.require(config, "reranker", "grader")
    from adamroute.llm.vllm_engine import load_engine
    from adamroute.reranking.vllm_grades import VllmGrades

    llm = config.reranker.llm
    return LlmReranker(VllmGrades(load_engine(llm.model, llm.vllm), llm.model), cache=llm.cache)


def load_contexts(config: Config, index: SearchIndex) -> Contexts:
    """Preparation of requests over the users as the last labelling round left them."""
    snapshot = load_snapshot(config.stage("labels"), config)
    return Contexts(index, snapshot, config.teacher.evidence, config.teacher.neighbours)


def path_facts(config: Config, constants: TeacherFile) -> Facts:
    """What the served path knows; thetas come from outside, so nothing of calibration is read."""
    return Facts(
        tau=constants.tau,
        time=constants.time,
        threshold=0.0,
        standing=Standing(certified=False, gain=False, on_uncertified="student"),
        calibrated_on="",
        versions=Versions("", "", "", "", ""),
        augmentation=config.retrieval.augmentation,
        attribute_filter=config.reranker.attribute_filter,
        combine=constants.combine,
    )


def local_nodes(config: Config, teacher: Teacher) -> Nodes:
    """Router, teacher and re-ranker in this process."""
    return Nodes(
        router=Router(load_student(config), calibration(config)),
        teacher=Teaching(teacher),
        reranker=Reranking(load_reranker(config)),
    )


def calibration(config: Config) -> Calibration:
    """The student's confidence."""
    return load_calibration(config.stage("calibration"))


def load_served_teacher(config: Config, index: SearchIndex) -> Teacher:
    """The full loop whose language model, if it has one, does not outlive a request."""
    llm = config.teacher.llm
    if llm is not None:
        quick = {"retries": 0, "timeout_s": min(llm.timeout_s, config.serve.timeout_s)}
        patient = config.teacher.model_copy(update={"llm": llm.model_copy(update=quick)})
        config = config.model_copy(update={"teacher": patient})
    return load_teacher(config.stage("labels"), index, config)


def check_run(config: Config) -> Facts:
    """Every stage finished, whole, and made from the others; ArtifactError with what to run.

    Reads each file once to compare its sha256: a tenth of a second per 100 MB.
    """
    manifests = verified(config, SERVED)
    LABEL.require(config, "teacher")  # else what falling back gains was never measured
    hashes = {stage.label: manifests[stage.name].hash for stage in SERVED}
    fitted = calibration(config)
    fitted.check(hashes)
    shared = shared_store(config, manifests["label"].key, read_only=True)
    if shared is not None:
        shared.check()
    constants = read_teacher_file(config.stage("labels"))
    return Facts(
        tau=constants.tau,
        time=constants.time,
        threshold=fitted.threshold,
        standing=fitted.standing(config.calibration.on_uncertified),
        calibrated_on=fitted.calibrated_on,
        versions=Versions(**hashes),
        reads_vectors=config.student.kind != "lora",
        augmentation=config.retrieval.augmentation,
        attribute_filter=config.reranker.attribute_filter,
        combine=constants.combine,
        lacks=lacks(manifests[stage.name] for stage in SERVED),
    )
