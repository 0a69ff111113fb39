"""The teacher as a served replica or an evaluation loads it from the label stage's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.catalogue.shop import TimeMeaning
from adamroute.config import Config, TeacherConfig
from adamroute.errors import ArtifactError
from adamroute.llm.engines import chat_engine
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import read_manifest
from adamroute.store import ProfileStore, Snapshot, shared_store
from adamroute.teacher.difficulty import Difficulty
from adamroute.teacher.evidence_policy import EvidencePolicy
from adamroute.teacher.intent_model import IntentModel, load_intent_model
from adamroute.teacher.llm_policy import LlmPolicy
from adamroute.teacher.llm_views import Listings
from adamroute.teacher.loop import Teacher
from adamroute.teacher.paraphrase import Paraphraser, load_paraphraser
from adamroute.teacher.policy import TeacherPolicy
from adamroute.theta import Bins, Theta

ROWS_FILE = "rows.jsonl"  # label rows, and targets.npz beside them: what training reads
TARGETS_FILE = "targets.npz"
TEACHER_FILE = "teacher.json"
BLIND_BUDGET = 800  # where the paper begins without a collaborative start, at alpha .5
STORE_FILE = "store.sqlite"
REPLIES_FILE = Path("cache/replies.sqlite")  # in the run's folder: a language model's replies
INTENT_FILE = "composition.npz"


class TeacherFile(BaseModel):
    """What labelling fixed for this shop and everything later must share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    policy: Literal["evidence", "llm"] = "evidence"  # whose labels these are
    tau: int  # min(config tau, N)
    lam: float  # price of a whole tau, solved on train rows for the wished mean budget
    text_factor: float  # difficulty matching, 1 where the shop has no real queries
    mm_factor: float
    static_alpha: float  # the static prior that all users start from
    static_budget: int
    time: TimeMeaning  # of the shop's interactions

    @property
    def bins(self) -> Bins:
        return Bins(self.tau)

    @property
    def difficulty(self) -> Difficulty:
        return Difficulty(self.text_factor, self.mm_factor)

    @property
    def static(self) -> Theta:
        return Theta(self.static_alpha, self.static_budget)

    def policy_of(
        self,
        config: TeacherConfig,
        index: SearchIndex,
        composition: IntentModel,
        wording: Paraphraser,
        replies: Path | None = None,
    ) -> TeacherPolicy:
        """The policy with this shop's constants; `replies` is where a model's are kept, if at all.

        Without kept replies a language model's engine is loaded and checked now (EngineError),
        so that a server doesn't start without it; with them, when one is first missing.
        """
        evidence = self.evidence_policy(config, composition, wording)
        if config.llm is None or config.policy != "llm":
            return evidence
        engine = chat_engine(config.llm, replies)
        if replies is None:
            engine.check()
        return LlmPolicy(
            engine=engine,
            evidence=evidence,
            bins=self.bins,
            listings=Listings.of(index),
            usual=self.static,
            time=self.time,
            max_tokens=config.llm.max_tokens,
        )

    def evidence_policy(
        self, config: TeacherConfig, composition: IntentModel, wording: Paraphraser
    ) -> EvidencePolicy:
        """The policy without a language model, which also stands in for one."""
        return EvidencePolicy(
            composition=composition,
            wording=wording,
            bins=self.bins,
            lam=self.lam,
            strength=config.prior_strength,
            collaborative=config.collaborative_share,
        )

    def teacher(
        self,
        config: TeacherConfig,
        index: SearchIndex,
        snapshot: Snapshot,
        policy: TeacherPolicy,
    ) -> Teacher:
        """The loop over one snapshot."""
        return Teacher(
            index=index,
            snapshot=snapshot,
            policy=policy,
            evidence=config.evidence,
            neighbours=config.neighbours,
            blind=None if config.collaborative_start else Theta(0.5, min(BLIND_BUDGET, self.tau)),
            memory=config.memory,
        )


def read_teacher_file(labels: Path) -> TeacherFile:
    """teacher.json of the label stage. ArtifactError where it is absent or not that."""
    path = labels / TEACHER_FILE
    try:
        return TeacherFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise ArtifactError(
            f"{path}: not the teacher's constants ({type(error).__name__}). "
            "Run: adamroute label CONFIG"
        ) from error


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
    composition = load_intent_model(labels / INTENT_FILE)
    snapshot = load_snapshot(labels, config)
    wording = load_paraphraser(labels)
    policy = constants.policy_of(config.teacher, index, composition, wording, replies)
    return constants.teacher(config.teacher, index, snapshot, policy)
