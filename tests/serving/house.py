"""A shop of six items behind real nodes: real FAISS branches, scorer and teacher loop; only the
encoder (words of a small vocabulary), the student and the teacher's mind are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.config import ServeConfig
from adamroute.encoders.seams import Vectors
from adamroute.reranking.features import FEATURES
from adamroute.reranking.reranker import OrdinalReranker
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.search_index import SearchIndex
from adamroute.routing.confidence import Calibration, Logistic
from adamroute.routing.policy_string import Standing
from adamroute.routing.student import Prediction
from adamroute.serving.flow import Facts, Flow, Nodes
from adamroute.serving.nodes import Recall, Router, Score, Teach, Users
from adamroute.serving.schemas import Versions
from adamroute.stages import FORMAT, Manifest
from adamroute.store import Snapshot, UserRecord
from adamroute.teacher.context import Context, Evidence
from adamroute.teacher.loop import Teacher
from adamroute.teacher.policy import Liking, Rewriting, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta

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

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        rows = [[*(w in t.lower().split() for w in WORDS), 0.1] for t in _plain(texts)]
        vectors = np.array(rows, np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:  # noqa: ARG002
        return text_vectors


@dataclass
class SaidStudent:
    """Always the same theta."""

    theta: Theta = STUDENT
    name: str = "said"
    asked: list[tuple[str, PreferenceProfile]] = field(default_factory=list)

    def predict(
        self,
        query: str,
        profile: PreferenceProfile,
        text_vector: NDArray[np.float32],  # noqa: ARG002
    ) -> Prediction:
        self.asked.append((query, profile))
        return Prediction(np.full(11, 1 / 11), np.ones(1), self.theta, 1.0)

    def predict_many(
        self,
        queries: Sequence[str],
        profiles: Sequence[PreferenceProfile],
        text_vectors: NDArray[np.float32],
    ) -> list[Prediction]:
        asked = zip(queries, profiles, text_vectors, strict=True)
        return [self.predict(*one) for one in asked]


class OneMind:
    """A teacher's policy that asks for each evidence item by its id and always says TEACHER."""

    name = "one"

    def preferences(
        self,
        requests: Sequence[Request],  # noqa: ARG002 - the seam's
        drafts: Sequence[PreferenceProfile],
    ) -> list[Liking]:
        return [Liking(draft) for draft in drafts]

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        return [Thought(STORED, "start", fallbacks=("no_neighbours",)) for _ in tasks]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        return [Rewriting(tuple(map(_by_id, task.evidence))) for task in tasks]

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        return [Thought(TEACHER, "said") for _ in turns]


def _by_id(e: Evidence) -> PseudoQuery:
    return PseudoQuery(e.item_id, e.row, "visual", TEXTS[e.row])


@dataclass
class Counted:
    """A meter that remembers."""

    counts: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)

    def count(self, counter: str, /, **tags: str) -> None:
        self.counts.append((counter, tags))

    def latency(self, stage: str, ms: float) -> None:
        assert ms >= 0.0
        self.stages.append(stage)


@dataclass
class Lines:
    """A log that remembers."""

    lines: list[dict[str, object]] = field(default_factory=list)

    def info(self, event: str, **values: object) -> None:
        self.lines.append({"event": event, **values})


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
        mm_vectors=mm,
        text_encoder=encoder,
        mm_encoder=encoder,
        recall=DualRetriever(BranchIndex(text), BranchIndex(mm)),
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


def nodes(confidence: float = 0.9, student: SaidStudent | None = None) -> Nodes:
    encoder = WordEncoder()
    catalogue, users = index(encoder), snapshot(encoder)
    encoder.seen.clear()
    weights = np.zeros(len(FEATURES))
    weights[FEATURES.index("asked_looks")] = 2.0
    scorer = OrdinalReranker(
        mean=np.zeros(len(FEATURES)),
        scale=np.ones(len(FEATURES)),
        weights=weights,
        thresholds=np.array([-2.0, -1.0, 1.0, 2.0]),
    )
    teacher = Teacher(catalogue, users, OneMind(), evidence=5, neighbours=5)
    return Nodes(
        router=Router(student or SaidStudent(), calibration(confidence)),
        recall=Recall(catalogue, Users(users, neighbours=5, time="none")),
        scorer=Score(scorer),
        teacher=Teach(teacher),
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
VERSIONS = Versions(index="i", student="s", calibration="c", scorer="o", labels="l")


def flow(
    parts: Nodes | None = None,
    *,
    standing: Standing = GAIN,
    limits: ServeConfig | None = None,
    meter: Counted | None = None,
    log: Lines | None = None,
    clock: Callable[[], float] | None = None,
) -> Flow:
    facts = Facts(TAU, 0.7, standing, "outcomes", VERSIONS)
    return Flow(
        parts or nodes(),
        facts,
        limits or ServeConfig(),
        meter=meter or Counted(),
        log=log or Lines(),
        new_id=lambda: "r1",
        **({"clock": clock} if clock else {}),
    )


def _plain(texts: Sequence[str]) -> list[str]:
    return [text.replace(",", " ") for text in texts]


def _said(item_id: str, *, positive: bool = True) -> Interaction:
    return Interaction(item_id, positive, 0.0)


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
