"""One YAML per shop-and-hardware, read once at the edge into frozen values.

Each default lives here and nowhere else; configs/*.yaml spell out those a person may want to turn.
Paths are relative to the working directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from adamroute.errors import ConfigError

_ONE_COUNT = "no key any more. `threads` at the top level sets the count for all"
MOVED = {"encoders.threads": _ONE_COUNT, "student.threads": _ONE_COUNT}
CONFIG_FILE = "config.yaml"  # of a run's folder: what made it
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class DemoConfig(Section):
    """The generated shop; absent where a shop folder is given."""

    items: Annotated[int, Field(ge=50)] = 1600
    users: Annotated[int, Field(ge=10)] = 200
    queries: Annotated[int, Field(ge=30)] = 600
    seed: int = 7


class RoutingConfig(Section):
    """What theta may be and what it costs."""

    tau: Positive = 200  # largest budget K; the shop's size caps it
    mean_budget: Positive = 40  # mean K the operator pays for; lambda is solved from it
    epsilon: Share = 0.1  # regret that still counts as a good answer


class AlignConfig(Section):
    """The common space of photos and catalogue text, and an item's vector there (DESIGN, 4)."""

    seeds: Positive = 3
    epochs: Positive = 60
    hidden: Positive = 512
    dimensions: Positive = 512  # principal ones that photo features are brought down to
    dropout: Share = 0.3
    text_weight: Share = 0.2  # share of the listing in an item's vector
    look_weight: Share = 0.2  # share of "colour type" from the listing; the photo gets the rest
    artefact: Path | None = None  # index/alignment.npz of another build, instead of a fit here

    @model_validator(mode="after")
    def _leaves_room_for_photos(self) -> AlignConfig:
        if self.text_weight + self.look_weight > 1.0:
            raise ValueError(
                f"text_weight {self.text_weight} + look_weight {self.look_weight}: wanted at most "
                "1 together, the photo gets the rest"
            )
        return self


class EncoderConfig(Section):
    text: Literal["minilm", "qwen3"] = "minilm"
    multimodal: Literal["aligned-photo", "qwen3-vl"] = "aligned-photo"
    text_model: str = "Qwen/Qwen3-Embedding-0.6B"  # of qwen3: hub id or folder
    multimodal_model: str = "Qwen/Qwen3-VL-Embedding-2B"  # of qwen3-vl: hub id or folder
    dtype: Literal["float32", "bfloat16"] = "float32"  # of both; bfloat16 varies with the batch
    batch: Positive = 16  # texts or items a forward pass of theirs
    allow_download: bool = False  # may `build` fetch a hub id that is not in the local cache?
    align: AlignConfig = AlignConfig()


class VllmConfig(Section):
    """vLLM in this process; parts that name the same model and settings share one engine."""

    max_model_len: Annotated[int, Field(ge=256)] = 8192  # tokens of a prompt and its reply
    gpu_memory_utilization: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    # Of the cache of prompts. None: what the utilization leaves; on a CPU, set it.
    kv_cache_gib: Annotated[float, Field(gt=0.0)] | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    enforce_eager: bool = False  # no CUDA graphs: slower, starts sooner
    images: Annotated[int, Field(ge=0)] = 0  # most images a prompt
    allow_download: bool = False  # may a hub id be fetched that is not in the local cache?


class LlmConfig(Section):
    """A language model that replies in JSON."""

    engine: Literal["openai", "vllm"] = "openai"  # any OpenAI-compatible server, or in-process
    model: str  # as the server lists it; vllm: hub id or folder
    base_url: str | None = None  # openai: up to /v1, as http://127.0.0.1:8001/v1
    key_env: str = "OPENAI_API_KEY"  # the variable that holds the key; servers without one: unset
    timeout_s: Annotated[float, Field(gt=0.0)] = 60.0  # of one attempt
    retries: Annotated[int, Field(ge=0, le=20)] = 4  # attempts after the first
    concurrency: Annotated[int, Field(ge=1, le=512)] = 16  # calls under way at a time
    max_tokens: Annotated[int, Field(ge=32)] = 768  # of one reply, thinking included
    thinking: bool | None = False  # null: say nothing, for servers that refuse the setting
    price_in: Annotated[float, Field(ge=0.0)] = 0.0  # a million prompt tokens, in your currency
    price_out: Annotated[float, Field(ge=0.0)] = 0.0  # a million reply tokens
    vllm: VllmConfig = VllmConfig()

    @field_validator("base_url")
    @classmethod
    def _holds_no_key(cls, url: str | None) -> str | None:
        if "@" in urlsplit(url or "").netloc:
            raise ValueError("a password in a file; put the key into the variable of key_env")
        return url

    @model_validator(mode="after")
    def _fits_engine(self) -> LlmConfig:
        if self.engine == "openai" and not self.base_url:
            raise ValueError("engine openai needs base_url, as http://127.0.0.1:8001/v1")
        if self.engine == "vllm" and self.thinking:
            raise ValueError(
                "engine vllm constrains a reply from its first token, so the model can't think "
                "first; set thinking: false, or serve the model and use engine openai"
            )
        return self

    @property
    def name(self) -> str:
        """Engine and model, for manifests: "openai:Qwen/Qwen3-8B"."""
        return f"{self.engine}:{self.model}"

    def cost(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Price of so many tokens; 0 where no price is set."""
        return (self.price_in * prompt_tokens + self.price_out * reply_tokens) / 1e6


class TeacherConfig(Section):
    """The offline loop (DESIGN, section 1)."""

    policy: Literal["evidence", "llm"] = "evidence"
    llm: LlmConfig | None = None  # of policy llm
    evidence: Annotated[int, Field(ge=0)] = 5  # T_f, pseudo-queries a request, and m of CONTRACTS
    neighbours: Annotated[int, Field(ge=0)] = 5  # K_c
    rounds: Positive = 2
    collaborative_start: bool = True  # off: .5/.5, K = min(800, tau), no neighbours
    memory: bool = True  # off: each update sees its own observation alone
    prior_strength: Annotated[float, Field(ge=0.0)] = 40.0  # evidence rows the prior is worth
    collaborative_share: Share = 0.1  # of the kinds' weights, the part neighbours' thetas hold

    @model_validator(mode="after")
    def _llm_where_asked(self) -> TeacherConfig:
        if self.policy == "llm" and self.llm is None:
            raise ValueError("policy llm needs the section teacher.llm (engine, model, base_url)")
        return self


class LabelConfig(Section):
    """Which rows become labels and how much each weighs (measured in EXPERIMENTS.md)."""

    teacher: Annotated[float, Field(ge=0.0)] = 0.3  # weight of a teacher row; 0 leaves them out
    outcome: Annotated[float, Field(ge=0.0)] = 1.0
    synthetic: Annotated[float, Field(ge=0.0)] = 0.2
    synthetic_requests: Annotated[int, Field(ge=0)] = 3000
    # Off: written requests are ranked by parts that were fitted on their items. Only to see what
    # that does: every report of such a run warns.
    out_of_sample: bool = True
    sharpness: Annotated[float, Field(gt=0.0)] = 3.0  # power of the votes for alpha
    shrink: Share = 0.7  # part of each belief taken from the mean of the query's likely kinds


class StudentConfig(Section):
    """Which student serves. A cheaper one is not worse where it was measured (EXPERIMENTS.md)."""

    # linear: ridge on E_txt of the query; intent: the teacher's prior; lora: a small language
    # model that also reads the profile, trained for minutes, the keys below it.
    kind: Literal["linear", "intent", "lora"] = "linear"
    backbone: str = "smollm2"  # the packaged SmolLM2-135M-Instruct, or a hub id / folder
    layers: Positive = 10  # first layers kept
    rank: Positive = 8
    lora_alpha: Positive = 16
    lora_dropout: Share = 0.0
    learning_rate: Annotated[float, Field(gt=0.0)] = 3e-3
    batch: Positive = 8
    steps: Positive = 300
    max_tokens: Annotated[int, Field(ge=16, le=512)] = 64
    allow_download: bool = False  # may `train` fetch a hub id that is not in the local cache?
    loss: Literal["soft", "best_bin"] = "soft"
    shuffle_labels: bool = False  # the control run: labels dealt to the wrong prompts


class CalibrationConfig(Section):
    fallback_rate: Share = 0.2  # wished share of requests below the threshold
    on_uncertified: Literal["student", "teacher"] = "student"


class ProfilerConfig(Section):
    """Who describes items for models that read: the shop's columns alone, or a vision LLM."""

    kind: Literal["embedded", "llm"] = "embedded"
    llm: LlmConfig | None = None  # of llm; for engine vllm with vllm.images: 1

    @model_validator(mode="after")
    def _sees_photos(self) -> ProfilerConfig:
        if self.kind == "llm" and self.llm is None:
            raise ValueError("kind llm needs the section profiler.llm (engine, model, base_url)")
        if self.llm and self.llm.engine == "vllm" and self.llm.vllm.images < 1:
            raise ValueError(
                "the profiler shows one photo a prompt: set profiler.llm.vllm.images: 1"
            )
        return self


class LlmGradesConfig(Section):
    """A language model in this process that rates every candidate by reading its profile."""

    model: str = "Qwen/Qwen3-8B"  # hub id or folder
    vllm: VllmConfig = VllmConfig()
    cache: Positive = 100_000  # scores remembered, 250 bytes each


class RetrievalConfig(Section):
    # How a budget K is spent: alpha K items from text and the rest from photos (`split`, the
    # paper's), or the first K by alpha z(text) + (1 - alpha) z(photos) (`fused`). auto: what the
    # label stage finds better, fused where it can't tell.
    combine: Literal["auto", "fused", "split"] = "auto"
    augmentation: bool = True  # off: no items that neighbours liked beside the retrieved ones


class RerankerConfig(Section):
    kind: Literal["ordinal", "llm", "none"] = "ordinal"  # none: the order of retrieval
    attribute_filter: bool = True  # off: looks count for candidates found by text alone, too
    negatives: Positive = 40  # of ordinal: candidates of a replayed request
    llm: LlmGradesConfig = LlmGradesConfig()  # of llm


class GpuShares(Section):
    """The part of one GPU that each replica may use; 0: it sees none."""

    count: Positive = 1  # GPUs to place the replicas on
    router: Share = 0.0
    recommender: Share = 0.0
    reranker: Share = 0.0
    teacher: Share = 0.0

    @model_validator(mode="after")
    def _fits(self) -> GpuShares:
        free = [1.0] * self.count
        for name, share in sorted(self.shares.items(), key=lambda part: -part[1]):
            place = next((n for n, left in enumerate(free) if share <= left + 1e-9), None)
            if place is None:
                raise ValueError(
                    f"{sum(self.shares.values()):g} GPUs shared out, {self.count} to place them "
                    f"on, and {name} ({share:g}) finds no room; lower a share or raise count"
                )
            free[place] -= share
        return self

    @property
    def shares(self) -> dict[str, float]:
        """By replica."""
        return self.model_dump(exclude={"count"})


class ServeConfig(Section):
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    router_cpus: Annotated[float, Field(gt=0)] = 2.0
    gpus: GpuShares = GpuShares()
    retrieval_device: Literal["cpu", "gpu"] = "cpu"  # where FAISS searches; gpu needs faiss-gpu
    timeout_s: Annotated[float, Field(gt=0)] = 10.0
    max_ongoing: Positive = 32
    max_queued: Positive = 64
    object_store_mb: Annotated[int, Field(ge=80)] = 200

    @model_validator(mode="after")
    def _has_gpus(self) -> ServeConfig:
        if self.retrieval_device == "gpu" and not (self.gpus.recommender and self.gpus.teacher):
            raise ValueError(
                "retrieval_device gpu: recommender and teacher search, so both need a share: set "
                "gpus.recommender and gpus.teacher"
            )
        return self


class StoreConfig(Section):
    """Where servers read users from; the labels folder keeps its own copy either way."""

    # env:NAME (the variable holds the URL, the only place for a password), postgresql+psycopg://
    # or sqlite:////ABSOLUTE/PATH. None: the SQLite file in the labels folder.
    url: str | None = None

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, url: str | None) -> str | None:
        user = (url or "").rpartition("@")[0].partition("//")[2]
        if ":" in user or "password=" in (url or ""):
            raise ValueError("a password in a file; put the URL into a variable, as env:NAME")
        return url


class WandbConfig(Section):
    mode: Literal["offline", "online", "disabled"] = "offline"
    project: str = "adamroute"


class AblationConfig(Section):
    """Configs of other finished runs that `adamroute ablate` puts beside this one."""

    encoders: tuple[Path, ...] = ()  # other encoder pairs (the paper's table 4)
    policies: tuple[Path, ...] = ()  # other teachers (the paper's table 3)


class FoldConfig(Section):
    """One of several ways to split the users; set by `report --folds`, not by a person."""

    of: Annotated[int, Field(ge=3)]  # train, calibration and test need one each
    number: Annotated[int, Field(ge=0)]


# What decides when and where something runs and what it costs, never what comes out.
_LLM_OPERATION = (
    "base_url", "key_env", "timeout_s", "retries", "concurrency", "price_in", "price_out",
    "vllm.allow_download",
)  # fmt: skip
OPERATION = (
    *(f"{part}.llm.{key}" for part in ("profiler", "teacher") for key in _LLM_OPERATION),
    "encoders.align.artefact",  # the file's content decides
    "encoders.allow_download", "encoders.batch", "student.allow_download",
    "reranker.llm.cache", *(f"reranker.llm.vllm.{key}" for key in VllmConfig.model_fields
                          if key != "dtype"),
)  # fmt: skip


class Config(Section):
    """All of one run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    shop: Path
    out: Path
    demo: DemoConfig | None = None
    fold: FoldConfig | None = None
    seed: int = 0
    threads: Positive = (
        2  # of torch, FAISS and BLAS; what is trained depends on it in its last bits
    )
    routing: RoutingConfig = RoutingConfig()
    profiler: ProfilerConfig = ProfilerConfig()
    encoders: EncoderConfig = EncoderConfig()
    teacher: TeacherConfig = TeacherConfig()
    labels: LabelConfig = LabelConfig()
    student: StudentConfig = StudentConfig()
    calibration: CalibrationConfig = CalibrationConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    reranker: RerankerConfig = RerankerConfig()
    serve: ServeConfig = ServeConfig()
    store: StoreConfig = StoreConfig()
    wandb: WandbConfig = WandbConfig()
    ablation: AblationConfig = AblationConfig()

    @model_validator(mode="after")
    def _engines_fit_their_gpus(self) -> Config:
        for part, engine in self.served_engines.items():
            share = self.serve.gpus.shares[part]
            if 0.0 < share < engine.gpu_memory_utilization:
                raise ValueError(
                    f"{part}.llm.vllm.gpu_memory_utilization is "
                    f"{engine.gpu_memory_utilization:g}, serve.gpus.{part} only {share:g}: other "
                    "replicas own the rest of that GPU's memory. Lower the one or raise the other"
                )
        return self

    @property
    def served_engines(self) -> dict[str, VllmConfig]:
        """Settings of the vLLM engines that replicas hold, by replica."""
        found = {}
        if self.reranker.kind == "llm":
            found["reranker"] = self.reranker.llm.vllm
        llm = self.teacher.llm
        if self.teacher.policy == "llm" and llm is not None and llm.engine == "vllm":
            found["teacher"] = llm.vllm
        return found

    def stage(self, folder: str) -> Path:
        """Folder of one stage: index, ranks, labels, student, reranker, calibration, report."""
        return self.out / folder

    def deciding(self, keys: Iterable[str]) -> dict[str, JsonValue]:
        """What stands under these dotted keys ("labels", "routing.tau") and can decide a result.

        What the config's own choices leave unread is not there, as `teacher.llm` of a teacher
        without a language model is not; nor is OPERATION.
        """
        silent = {*OPERATION, *(key for key, unread in self._choices().items() if unread)}
        return self.model_dump(mode="json", include=_nested(keys), exclude=_nested(silent))

    def _choices(self) -> dict[str, bool]:
        """Keys that other keys may switch off, and whether they are."""
        encoders, kind = self.encoders, self.reranker.kind
        of_lora = StudentConfig.model_fields.keys() - {"kind", "shuffle_labels"}
        qwen_text, qwen_photo = encoders.text == "qwen3", encoders.multimodal == "qwen3-vl"
        return {
            "encoders.text_model": not qwen_text,
            "encoders.multimodal_model": not qwen_photo,
            "encoders.dtype": not (qwen_text or qwen_photo),
            "encoders.align": qwen_photo,
            **{f"student.{key}": self.student.kind != "lora" for key in sorted(of_lora)},
            "profiler.llm": self.profiler.kind != "llm",
            "teacher.llm": self.teacher.policy != "llm",
            "reranker.llm": kind != "llm",
            "reranker.negatives": kind != "ordinal",
        }


def _nested(keys: Iterable[str]) -> dict[str, Any]:
    """Dotted keys as pydantic includes and excludes them; a whole section swallows its keys."""
    found: dict[str, Any] = {}
    for key in sorted(keys):
        *sections, last = key.split(".")
        place = found
        for name in sections:
            place = place.setdefault(name, {})
            if place is True:
                break
        else:
            place[last] = True
    return found


def load_config(path: Path, *, shop: Path | None = None, out: Path | None = None) -> Config:
    """Read a config; `shop` and `out` win over the file. ConfigError names file, key and want.

    `--shop` points the config at an existing folder, so the demo generator is then left out.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(sorted(str(p) for p in Path("configs").glob("*.yaml"))) or "none here"
        raise ConfigError(f"{path}: no such config. Configs at hand: {known}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: wanted a mapping of settings, got {type(raw).__name__}")
    if shop is not None:
        raw = {**raw, "shop": str(shop), "demo": None}
    if out is not None:
        raw = {**raw, "out": str(out)}
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        found = {".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}
        lines = [f"{key}: {MOVED.get(key, said)}" for key, said in found.items()]
        raise ConfigError(f"{path}: " + "; ".join(lines)) from error
