"""The stages of a run, as a graph: what each reads, and which keys of the config decide it.

What a stage reads is in its row, and nothing else makes it stale: other stages by their content,
the shop by its bytes, prompt templates and weights by their hashes. A key that switches another
off, and keys that decide only when or where something runs, are known to `Config.deciding`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adamroute.catalogue.folder import ShopBytes
from adamroute.catalogue.folds import queries_hash
from adamroute.checkpoints import fingerprint
from adamroute.config import Config, LlmConfig
from adamroute.errors import ArtifactError, ConfigError
from adamroute.llm.prompts import prompts
from adamroute.progress import Progress
from adamroute.stages import Counts, Input, Manifest, Source, Stage, content_hash, digest

LACKS = "lacks"  # in a manifest's counts: what the stage had too little for
_HERE = Path(__file__).parent


def _alignment(config: Config) -> str | None:
    path = config.encoders.align.artefact
    if path is None or config.encoders.multimodal != "aligned-photo":
        return None
    if not path.is_file():
        raise ConfigError(
            f"encoders.align.artefact: no file {path}. Give index/alignment.npz of a finished "
            "build, or drop the key to fit an alignment here"
        )
    return content_hash(path)


def _encoders(config: Config) -> str:
    """Names of the weights that both branches are encoded with."""
    from adamroute.encoders import minilm, photo_features

    encoders = config.encoders
    text, photo = encoders.text == "minilm", encoders.multimodal == "aligned-photo"
    return digest(
        [
            minilm.SHA256_PREFIX if text else _weights(encoders.text_model),
            photo_features.NAME if photo else _weights(encoders.multimodal_model),
        ]
    )


def _backbone(config: Config) -> str | None:
    from adamroute.routing import backbone, smollm

    if config.student.kind != "lora":
        return None

    name = config.student.backbone
    return smollm.SHA256 if name == backbone.PACKAGED else _weights(name)


def _weights(model: str) -> str:
    """What lies in a folder of weights; a hub id is its own name, whether fetched or not yet."""
    return fingerprint(model) if Path(model).is_dir() else model


def _engine(llm: LlmConfig | None, folder: str) -> str | None:
    """Templates and weights of a language model; a server's weights are known by name alone."""
    if llm is None:
        return None
    return digest([_templates(folder), _weights(llm.model) if llm.engine == "vllm" else llm.model])


def _teacher(config: Config) -> str | None:
    teacher = config.teacher
    return _engine(teacher.llm, "teacher") if teacher.policy == "llm" else None


def _grader(config: Config) -> str | None:
    if config.reranker.kind != "llm":
        return None
    return digest([_templates("reranking"), _weights(config.reranker.llm.model)])


def _templates(room: str) -> list[str]:
    return sorted(prompt.stamp for prompt in prompts(_HERE / room / "prompts").values())


def _if_finished(stage: Stage) -> Source:
    """A stage that another takes in where it is there."""

    def find(config: Config) -> str | None:
        try:
            return stage.hash(config)
        except ArtifactError:
            return None

    return Source(stage.folder, find)


CATALOGUE = Source("catalogue", lambda c: ShopBytes.of(c.shop).catalogue)
HISTORIES = Source("histories", lambda c: ShopBytes.of(c.shop).histories)
QUERIES = Source("queries", queries_hash)
SHOP_NAME = Source("shop", lambda c: ShopBytes.of(c.shop).spec.name)
ALIGNMENT = Source("alignment", _alignment)
ENCODERS = Source("encoders", _encoders)
BACKBONE = Source("backbone", _backbone)
PROFILER = Source("profiler", lambda c: _engine(c.profiler.llm, "indexing"))
TEACHER = Source("teacher", _teacher)
GRADER = Source("grader", _grader)

_SHOP: tuple[Input, ...] = (HISTORIES, QUERIES)
_TAU = ("routing.tau", "routing.mean_budget")
_DRAWN = ("seed", "fold")  # chance, and how users are split

PROFILE = Stage("profile", "profiles", "build", (CATALOGUE, PROFILER), ("profiler",))
PROFILES = Source("profiles", lambda c: PROFILE.hash(c) if c.profiler.kind == "llm" else None)
BUILD = Stage(
    "build", "index", "build",
    (CATALOGUE, PROFILES, ALIGNMENT, ENCODERS), ("encoders", "seed"), recipe=3,
)  # fmt: skip
RANKS = Stage(  # of all splits, so that the folds of a report share them
    "ranks", "ranks", "label", (BUILD, QUERIES),
    (*_TAU, "labels.synthetic_requests", "labels.out_of_sample", "seed"), recipe=3,
)  # fmt: skip
LABEL = Stage(
    "label", "labels", "label",
    (BUILD, RANKS, *_SHOP, TEACHER),
    (*_TAU, "labels", "teacher", "retrieval.combine", "fold"), recipe=5,
)  # fmt: skip
TRAIN = Stage(
    "train", "student", "train",
    (BUILD, RANKS, LABEL, *_SHOP, BACKBONE),
    ("student", "threads", "routing.tau", "routing.epsilon", *_DRAWN), recipe=3,
)  # fmt: skip
RERANKER = Stage(
    "reranker", "reranker", "train",
    (BUILD, RANKS, LABEL, *_SHOP, GRADER),
    (*(f"reranker.{key}" for key in ("kind", "negatives", "llm")), "teacher", "routing.tau",
     *_DRAWN), recipe=3,
)  # fmt: skip
CALIBRATE = Stage(
    "calibrate", "calibration", "calibrate",
    (BUILD, RANKS, LABEL, TRAIN, *_SHOP, TEACHER),
    ("calibration.fallback_rate", "routing.epsilon", "teacher", *_DRAWN), recipe=3,
)  # fmt: skip
REPORT = Stage(
    "report", "report", "report",
    (BUILD, RANKS, LABEL, TRAIN, RERANKER, CALIBRATE, SHOP_NAME, *_SHOP, TEACHER, GRADER),
    ("routing", "calibration.on_uncertified", "teacher", "retrieval", "reranker",
     "labels.out_of_sample", *_DRAWN), recipe=4,
)  # fmt: skip
TEACHER_REPORT = Stage(
    "teacher-report", "report-teacher", "report --teacher",
    (BUILD, RANKS, LABEL, SHOP_NAME, *_SHOP, TEACHER), ("routing", "teacher", *_DRAWN), recipe=2,
)  # fmt: skip
ABLATION = Stage(
    "ablation", "ablation", "ablate",
    (BUILD, RANKS, LABEL, RERANKER, SHOP_NAME, *_SHOP, TEACHER, GRADER),
    ("routing", "teacher", "retrieval", "reranker", "ablation", *_DRAWN), recipe=4,
)  # fmt: skip
PROTOCOL = Stage(
    "protocol", "protocol", "protocol",
    (BUILD, *map(_if_finished, (LABEL, RERANKER, TRAIN)), SHOP_NAME, *_SHOP, TEACHER, GRADER),
    ("routing.tau", "teacher", "retrieval", "reranker", *_DRAWN), recipe=4,
)  # fmt: skip

STAGES = {
    stage.name: stage
    for stage in (
        PROFILE, BUILD, RANKS, LABEL, TRAIN, RERANKER, CALIBRATE, REPORT, TEACHER_REPORT, ABLATION,
        PROTOCOL,
    )
}  # fmt: skip
SERVED = (BUILD, LABEL, TRAIN, RERANKER, CALIBRATE)


def lacking(stage: Stage, reason: str | None, progress: Progress) -> Counts:
    """For a stage's counts: what it could not make as it should, told to the person who waits."""
    if reason is None:
        return {}
    progress.note(f"{stage.name}: {reason}")
    return {LACKS: reason}


def lacks(manifests: Iterable[Manifest]) -> tuple[str, ...]:
    """What these stages have to do without, and why; none where all is as it should be."""
    return tuple(f"{m.stage}: {m.counts[LACKS]}" for m in manifests if LACKS in m.counts)


def decided_by(stage: Stage) -> set[str]:
    """Keys of the config that decide it or a stage that it is made from, to the first one."""
    before = [decided_by(source) for source in stage.inputs if isinstance(source, Stage)]
    return set(stage.settings).union(*before)


def borrow(config: Config, lender: Config, *stages: Stage) -> None:
    """Let a run read another run's folders of stages that no split of the users enters."""
    for stage in stages:
        link = stage.path(config)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(stage.path(lender).resolve(), target_is_directory=True)
