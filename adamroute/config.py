"""One YAML per shop-and-hardware, read once at the edge into frozen values.

Each default lives here and nowhere else; configs/*.yaml spell out those a person may want to turn.
Paths are relative to the working directory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adamroute.errors import ConfigError

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
    """Contrastive heads between photo features and catalogue text (DESIGN, section 4)."""

    seeds: Positive = 3
    epochs: Positive = 60
    hidden: Positive = 512
    dimensions: Positive = 256
    dropout: Share = 0.3
    text_weight: Share = 0.3  # share of e_txt in the fused score; the photo heads get the rest


class EncoderConfig(Section):
    text: Literal["minilm"] = "minilm"
    multimodal: Literal["aligned-photo"] = "aligned-photo"
    align: AlignConfig = AlignConfig()
    threads: Positive = 2


class TeacherConfig(Section):
    """The offline loop (DESIGN, section 1)."""

    policy: Literal["evidence"] = "evidence"
    evidence: Annotated[int, Field(ge=0)] = 5  # T_f, pseudo-queries a request, and m of CONTRACTS
    neighbours: Annotated[int, Field(ge=0)] = 5  # K_c
    rounds: Positive = 2
    collaborative_start: bool = True  # off: begins at .5/.5, K = 800, and has no neighbours
    memory: bool = True  # off: each update sees its own observation alone
    prior_strength: Annotated[float, Field(ge=0.0)] = 20.0  # evidence rows the prior is worth
    collaborative_share: Share = 0.1  # of the prior, the part the neighbours' thetas hold


class LabelConfig(Section):
    """Which rows become labels and how much each weighs (measured in EXPERIMENTS.md)."""

    teacher: Annotated[float, Field(ge=0.0)] = 0.3  # weight of a teacher row; 0 leaves them out
    outcome: Annotated[float, Field(ge=0.0)] = 1.0
    synthetic: Annotated[float, Field(ge=0.0)] = 0.2
    synthetic_requests: Annotated[int, Field(ge=0)] = 3000
    shrink: Share = 0.5  # part of each surface taken from the mean of the query's likely kind
    temperature: Annotated[float, Field(gt=0.0)] = 0.05


class StudentConfig(Section):
    backbone: str = "smollm2"  # the packaged SmolLM2-135M-Instruct, or a hub id / folder
    layers: Positive = 10  # first layers kept
    rank: Positive = 8
    lora_alpha: Positive = 16
    lora_dropout: Share = 0.0
    learning_rate: Annotated[float, Field(gt=0.0)] = 3e-3
    batch: Positive = 8
    steps: Positive = 300
    max_tokens: Annotated[int, Field(ge=16, le=512)] = 64
    loss: Literal["soft", "best_bin"] = "soft"
    shuffle_labels: bool = False  # the control run: labels dealt to the wrong prompts
    threads: Positive = 2


class CalibrationConfig(Section):
    fallback_rate: Share = 0.2  # wished share of requests below the threshold
    on_uncertified: Literal["student", "teacher"] = "student"


class ScorerConfig(Section):
    kind: Literal["ordinal"] = "ordinal"
    negatives: Positive = 40  # candidates kept a replayed request


class ServeConfig(Section):
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    router_cpus: Annotated[float, Field(gt=0)] = 2.0
    timeout_s: Annotated[float, Field(gt=0)] = 10.0
    max_ongoing: Positive = 32
    max_queued: Positive = 64
    object_store_mb: Annotated[int, Field(ge=80)] = 200


class WandbConfig(Section):
    mode: Literal["offline", "online", "disabled"] = "offline"
    project: str = "adamroute"


class FoldConfig(Section):
    """One of several ways to split the users; set by `report --folds`, not by a person."""

    of: Annotated[int, Field(ge=3)]  # train, calibration and test need one each
    number: Annotated[int, Field(ge=0)]


class Config(Section):
    """All of one run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    shop: Path
    out: Path
    demo: DemoConfig | None = None
    fold: FoldConfig | None = None
    seed: int = 0
    routing: RoutingConfig = RoutingConfig()
    encoders: EncoderConfig = EncoderConfig()
    teacher: TeacherConfig = TeacherConfig()
    labels: LabelConfig = LabelConfig()
    student: StudentConfig = StudentConfig()
    calibration: CalibrationConfig = CalibrationConfig()
    scorer: ScorerConfig = ScorerConfig()
    serve: ServeConfig = ServeConfig()
    wandb: WandbConfig = WandbConfig()

    def stage(self, name: str) -> Path:
        """Folder of one stage: index, labels, student, scorer, calibration, report."""
        return self.out / name


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
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(f"{path}: " + "; ".join(lines)) from error
