"""The teacher as a served replica or an evaluation loads it from the label stage's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.catalogue.shop import TimeMeaning
from adamroute.errors import ArtifactError
from adamroute.leaning import Leaning
from adamroute.theta import Bins, Combine, Theta

ROWS_FILE = "rows.jsonl"  # label rows, and targets.npz beside them: what training reads
TARGETS_FILE = "targets.npz"
TRACES_FILE = "traces.jsonl"  # one row a step of the loop
TEACHER_FILE = "teacher.json"
BLIND_BUDGET = 800  # where the paper begins without a collaborative start, at alpha .5
STORE_FILE = "store.sqlite"
REPLIES_FILE = Path("cache/replies.sqlite")  # in the run's folder: a language model's replies
INTENT_FILE = "composition.npz"


class TeacherFile(BaseModel):
    """What labelling fixed for this shop and everything later must share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[3] = 3
    combine: Combine  # how retrieval spends a budget
    leaning: Leaning  # of the votes for alpha
    policy: Literal["evidence", "llm"] = "evidence"  # whose labels these are
    tau: int  # min(config tau, N)
    lam: float  # price of a whole tau, solved on train rows for the wished mean budget
    static_alpha: float  # the static prior that all users start from
    static_budget: int
    time: TimeMeaning  # of the shop's interactions

    @property
    def bins(self) -> Bins:
        return Bins(self.tau, self.combine)

    @property
    def static(self) -> Theta:
        return Theta(self.static_alpha, self.static_budget)


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
