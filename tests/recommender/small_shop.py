"""A recommender over a shop of six items: real FAISS branches, re-ranker and teacher loop; only
the encoder (words of a small vocabulary), the student and the teacher's mind are made up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.encoders.seams import Vectors
from adamroute.errors import BusyError, ModelError
from adamroute.recommender import Recommender
from adamroute.recommender.answers import Versions
from adamroute.recommender.nodes import Nodes, Reranking, Router, Teaching
from adamroute.recommender.steps import Facts
from adamroute.recommender.trip import Clock
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.search_index import Branches, SearchIndex
from adamroute.routing.confidence import Calibration, Logistic
from adamroute.routing.policy_string import Standing
from adamroute.routing.student import Prediction, RoutingInput, Student
from adamroute.stages import FORMAT, Manifest
from adamroute.store import Snapshot, UserRecord
from adamroute.teacher.answer import TeacherAnswer
from adamroute.teacher.context import Context, Contexts, Evidence
from adamroute.teacher.loop import Teacher
from adamroute.teacher.policy import Liking, Rewriting, TeacherPolicy, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta
from tests.reranking.weighing import weighing

WORDS = ("rug", "lamp", "charger", "cable", "red", "blue", "green", "usb", "wool", "watt")
IDS = ("red-rug", "blue-rug", "green-lamp", "red-lamp", "charger", "cable")
TEXTS = ("rug wool", "rug wool", "lamp", "lamp", "charger usb watt", "cable usb")
LOOKS = ("red", "blue", "green", "red", "", "")
CATEGORIES = ("rug", "rug", "lamp", "lamp", "charger", "cable")
STUDENT, TEACHER = Theta(0.5, 4), Theta(1.0, 2)
STORED = Theta(0.5, 2)
TAU = len(IDS)


@dataclass
class WordEncoder:
    """Unit bag of words; the last dimension keeps a text of unknown words from being zero."""

    name: str = "words"
    dimensions: int = len(WORDS) + 1
    seen: list[str] = field(default_factory=list)  # every text encoded, in order
    broken: bool = False

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self.broken:
            raise ModelError("the encoder is broken")
        self.seen += texts
        rows = [[*(w in t.lower().split() for w in WORDS), 0.1] for t in _plain(texts)]
        vectors = np.array(rows, np.float32).reshape(-1, self.dimensions)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:  # noqa: ARG002
        return text_vectors


@dataclass
class SaidStudent:
    """Always the same theta."""

    theta: Theta = STUDENT
    name: str = "said"
    reads_vectors: bool = False
    asked: list[RoutingInput] = field(default_factory=list)

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:
        self.asked += inputs
        return [Prediction(np.full(11, 1 / 11), np.ones(1), self.theta, 1.0) for _ in inputs]


@dataclass
class OneMind:
    """A teacher's policy that asks for each evidence item by its id and always says TEACHER."""

    name: str = "one"
    seen: list[Context] = field(default_factory=list)

    def preferences(
        self,
        requests: Sequence[Request],  # noqa: ARG002 - the seam's
        drafts: Sequence[PreferenceProfile],
    ) -> list[Liking]:
        return [Liking(draft) for draft in drafts]

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        self.seen += tasks
        return [Thought(STORED, "start", fallbacks=("no_neighbours",)) for _ in tasks]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        return [Rewriting(tuple(map(_by_id, task.evidence))) for task in tasks]

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        return [Thought(TEACHER, "said") for _ in turns]


def _by_id(e: Evidence) -> PseudoQuery:
    return PseudoQuery(e.item_id, e.row, "visual", TEXTS[e.row])


@dataclass
class StuckTeacher:
    """Never answers."""

    cancelled: bool = False

    async def decide(self, request: Request) -> TeacherAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError(request)


class FullTeacher:
    """Its queue is always full."""

    async def decide(self, request: Request) -> TeacherAnswer:
        raise BusyError(f"teacher: its queue is full, {request.request_id} must wait")


def index(encoder: WordEncoder) -> SearchIndex:
    text = encoder.encode(TEXTS)
    mm = encoder.encode([f"{look} {words}" for look, words in zip(LOOKS, TEXTS, strict=True)])
    manifest = Manifest(
        format=FORMAT, stage="build", key="k", config={}, inputs={}, outputs={}, counts={},
        packages={}, commit="",
    )  # fmt: skip
    return SearchIndex(
        manifest=manifest,
        ids=IDS,
        titles=tuple(i.replace("-", " ") for i in IDS),
        texts=TEXTS,
        profile_texts=TEXTS,
        categories=CATEGORIES,
        images=("a.png", "b.png", "c.png", "d.png", None, None),
        visual=tuple({"colour": look} if look else {} for look in LOOKS),
        text_vectors=text,
        text_encoder=encoder,
        branches=Branches(None, encoder, DualRetriever(BranchIndex(text), BranchIndex(mm))),
    )


def snapshot(encoder: WordEncoder) -> Snapshot:
    """ann likes red things; bob, her only possible neighbour, a red lamp and a cable; cid only
    ever said no."""
    ann = (_said("red-rug"), _said("red-lamp"), _said("charger", positive=False))
    bob = (_said("red-lamp"), _said("cable"))
    return Snapshot(
        (
            _user("ann", "red, rug, lamp", ann, encoder, lends=False),
            _user("bob", "red, lamp, cable", bob, encoder, lends=True),
            _user("cid", "", (_said("cable", positive=False),), encoder, lends=False),
        )
    )


def contexts(encoder: WordEncoder | None = None) -> Contexts:
    encoder = encoder or WordEncoder()
    found = Contexts(index(encoder), snapshot(encoder), evidence=5, neighbours=5)
    encoder.seen.clear()
    return found


def teacher(mind: TeacherPolicy, blind: Theta | None = None) -> Teacher:
    """Evidence is ranked by the index itself."""
    known = contexts()
    return Teacher(known, mind, known.index, blind)


def nodes(confidence: float = 0.9, student: Student | None = None) -> Nodes:
    return Nodes(
        router=Router(student or SaidStudent(), calibration(confidence)),
        teacher=Teaching(teacher(OneMind())),
        reranker=Reranking(weighing({"asked_looks": 2.0})),
    )


def calibration(confidence: float) -> Calibration:
    """Confidence is the same for every answer: the logistic has no weights."""
    flat = (0.0, 0.0, 0.0, 0.0)
    bias = float(np.log(confidence / (1.0 - confidence)))
    return Calibration(
        epsilon=0.1, temperature=1.0, threshold=0.7, fallback_rate=0.2, verdict="gain",
        logistic=Logistic(mean=flat, scale=(1.0, 1.0, 1.0, 1.0), weights=flat, bias=bias),
        fallback_gain=None, offers=(), calibrated_on="outcomes", n_rows=100, n_users=10,
        good_share=0.8, brier=0.1, hashes={},
    )  # fmt: skip


GAIN = Standing(certified=True, gain=True, on_uncertified="student")
VERSIONS = Versions(index="i", student="s", calibration="c", reranker="o", labels="l")


FACTS = Facts(
    tau=TAU, time="none", threshold=0.7, standing=GAIN, calibrated_on="outcomes", versions=VERSIONS
)


def recommender(
    parts: Nodes | None = None,
    *,
    facts: Facts = FACTS,
    encoder: WordEncoder | None = None,
    clock: Clock = time.monotonic,
) -> Recommender:
    return Recommender(contexts(encoder), facts, parts or nodes(), clock)


def _plain(texts: Sequence[str]) -> list[str]:
    return [text.replace(",", " ") for text in texts]


def _said(item_id: str, *, positive: bool = True) -> Interaction:
    return Interaction(item_id, positive, 7.0)


def _user(
    user_id: str,
    wish: str,
    history: tuple[Interaction, ...],
    encoder: WordEncoder,
    *,
    lends: bool,
) -> UserRecord:
    e_pref = encoder.encode([wish])[0] if wish else np.empty(0, np.float32)
    return UserRecord(user_id, lends, wish, e_pref, history, STORED, 0, 0.0)
