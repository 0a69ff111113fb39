"""The teacher as a served replica or an evaluation loads it from the label stage's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.artifacts import read_manifest
from adamroute.config import Config, TeacherConfig
from adamroute.errors import ArtifactError
from adamroute.recall.loaded import RecallIndex
from adamroute.routing.composition import Composition, load_composition
from adamroute.routing.difficulty import Difficulty
from adamroute.routing.evidence import EvidencePolicy
from adamroute.routing.teacher import Teacher
from adamroute.routing.theta import Bins, Theta
from adamroute.shop.catalogue import TimeMeaning
from adamroute.store import Snapshot, SqliteProfileStore

ROWS_FILE = "rows.jsonl"  # label rows, and targets.npz beside them: what training reads
TARGETS_FILE = "targets.npz"
TEACHER_FILE = "teacher.json"
BLIND_BUDGET = 800  # where the paper begins without a collaborative start, at alpha .5
STORE_FILE = "store.sqlite"
COMPOSITION_FILE = "composition.npz"


class TeacherFile(BaseModel):
    """What labelling fixed for this shop and everything later must share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    policy: Literal["evidence"] = "evidence"
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

    def policy_of(self, config: TeacherConfig, composition: Composition) -> EvidencePolicy:
        """The policy with this shop's constants."""
        return EvidencePolicy(
            composition=composition,
            difficulty=self.difficulty,
            bins=self.bins,
            lam=self.lam,
            strength=config.prior_strength,
            collaborative=config.collaborative_share,
        )

    def teacher(
        self,
        config: TeacherConfig,
        index: RecallIndex,
        snapshot: Snapshot,
        composition: Composition,
    ) -> Teacher:
        """The loop over one snapshot."""
        return Teacher(
            index=index,
            snapshot=snapshot,
            policy=self.policy_of(config, composition),
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


def load_teacher(labels: Path, index: RecallIndex, config: Config) -> Teacher:
    """The teacher of a finished label stage; the profile store is opened read-only.

    ArtifactError where the labels were made from another index.
    """
    manifest = read_manifest(labels, "label")
    if manifest.inputs.get("index") != index.hash:
        raise ArtifactError(
            f"{labels}: made from index {manifest.inputs.get('index')}, the index at hand is "
            f"{index.hash}. Run: adamroute label CONFIG"
        )
    constants = read_teacher_file(labels)
    composition = load_composition(labels / COMPOSITION_FILE)
    snapshot = SqliteProfileStore(labels / STORE_FILE).snapshot()
    return constants.teacher(config.teacher, index, snapshot, composition)
