"""The rows of a protocol's table, from whatever stages of a run are finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adamroute.assembly import load_index, load_reranker, load_teacher
from adamroute.catalogue.preferences import preference_text, profile_of, traits_by_id
from adamroute.catalogue.request import Request
from adamroute.config import Config
from adamroute.distill.evaluation.protocols.rankers import (
    ByChance,
    ByRecall,
    ByScorer,
    Encoded,
    Ranker,
)
from adamroute.errors import ArtifactError
from adamroute.pipeline import BUILD, LABEL, RERANKER, TRAIN
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.student import Student
from adamroute.stages import chained
from adamroute.teacher.constants import REPLIES_FILE, TeacherFile, read_teacher_file
from adamroute.teacher.context import Context
from adamroute.teacher.loop import Teacher
from adamroute.theta import Theta


@dataclass(frozen=True, eq=False)
class Run:
    """The parts of a run that protocols rank with."""

    index: SearchIndex
    tau: int
    hashes: Mapping[str, str] = field(default_factory=dict)  # of the finished stages
    teacher: Teacher | None = None
    constants: TeacherFile | None = None
    scorer: Reranker | None = None
    student: Student | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)  # stage to why


@dataclass(frozen=True)
class Contender:
    """One row of the table."""

    make: Callable[[int], Ranker]  # by the trial's seed
    seeded: bool = False  # whether trials can differ


def load_run(config: Config) -> Run:
    """The index, and what else is finished; ArtifactError where stages don't belong together."""
    index = load_index(config.stage("index"))
    tau = min(config.routing.tau, len(index.ids))
    hashes, left_out = _finished(config)
    if "labels" in left_out or "reranker" in left_out:
        return Run(index, tau, hashes, left_out=left_out)
    labels = config.stage("labels")
    return Run(
        index=index,
        tau=tau,
        hashes=hashes,
        teacher=load_teacher(labels, index, config, config.out / REPLIES_FILE),
        constants=read_teacher_file(labels),
        scorer=load_reranker(config),
        student=None if "student" in left_out else _student(config),
        left_out=left_out,
    )


def with_wishes(run: Run, requests: Sequence[Request]) -> list[Request]:
    """Requests without words ask the preference text of their history, `""` where it says none."""
    silent = [request for request in requests if not request.query]
    traits = traits_by_id(run.index.ids, run.index.categories, run.index.visual)
    profiles = [profile_of(request.history, traits) for request in silent]
    wishes = {r.request_id: preference_text(p) for r, p in zip(silent, profiles, strict=True)}
    return [replace(r, query=wishes.get(r.request_id, r.query)) for r in requests]


def contenders(run: Run, requests: Sequence[Request], *, fitted: bool) -> Mapping[str, Contender]:
    """Rows in the order of the table; those that need unfinished stages are not among them.

    `fitted` adds those that saw logged queries of train and calibration users.
    """
    asked = [request for request in requests if request.query]
    encoded = Encoded(run.index, [request.query for request in asked])
    ids = run.index.ids
    rows = {"random": Contender(lambda seed: ByChance(ids, seed), seeded=True)}
    for name, alpha in (("text_only", 1.0), ("mm_only", 0.0), ("half", 0.5)):
        rows[name] = _always(ByRecall(encoded, Theta(alpha, run.tau)))
    return {**rows, **_scored(run, asked, encoded)} if fitted else rows


def _always(ranker: Ranker) -> Contender:
    return Contender(lambda _: ranker)


def _scored(run: Run, asked: Sequence[Request], encoded: Encoded) -> dict[str, Contender]:
    """Rows whose candidates the run's scorer orders, the neighbours' items among them."""
    if run.teacher is None or run.scorer is None or run.constants is None:
        return {}
    teacher, scorer, time = run.teacher, run.scorer, run.constants.time
    tasks = teacher.contexts.prepare(asked)

    def ranker(thetas: Sequence[Theta]) -> Ranker:
        names = [request.request_id for request in asked]
        return ByScorer(encoded, scorer, tasks, dict(zip(names, thetas, strict=True)), time)

    def taught(_: int) -> Ranker:
        return ranker([answer.theta for answer in teacher.decide_many(asked)])

    half, static = Theta(0.5, run.tau), run.constants.static
    rows = {
        "half_scored": _always(ranker([half] * len(asked))),
        "static_scored": _always(ranker([static] * len(asked))),
        "teacher_scored": Contender(taught, teacher.policy.name != "evidence"),
    }
    if run.student is not None:
        rows["student_scored"] = _always(ranker(_told(run.student, tasks)))
    return rows


def _told(student: Student, tasks: Sequence[Context]) -> list[Theta]:
    """The student's theta for every task."""
    return [said.theta for t in tasks for said in student.predict([t.routing])]


def _student(config: Config) -> Student:
    from adamroute.routing.lora_student import LoraStudent

    return LoraStudent.load(config.stage("student"))


def _finished(config: Config) -> tuple[dict[str, str], dict[str, str]]:
    """Hashes of the stages that are there, and why the others are not, by folder.

    ArtifactError where one is another run's.
    """
    found, left_out = [BUILD], {}
    for stage in (LABEL, RERANKER, TRAIN):
        try:
            stage.read(config)
            found.append(stage)
        except ArtifactError:
            left_out[stage.label] = (
                f"{stage.path(config)} is not finished. Run: adamroute {stage.verb} CONFIG"
            )
    manifests = chained(config, found)
    return {stage.label: manifests[stage.name].hash for stage in found}, left_out
