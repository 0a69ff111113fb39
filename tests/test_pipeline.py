"""What makes which stage stale: every key of the config, and everything outside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from adamroute import pipeline
from adamroute.catalogue.folds import open_shop
from adamroute.config import OPERATION, Config, StudentConfig
from adamroute.errors import ConfigError
from adamroute.llm.prompts import prompts
from adamroute.pipeline import STAGES, borrow, decided_by
from adamroute.stages import MANIFEST

YAML = """\
name: small
items: {file: items.csv, id: id, title: title, text: [title], image: photo}
interactions: {file: interactions.csv}
queries: {file: queries.jsonl}
"""
LLM = {"engine": "vllm", "model": "nobody/nothing", "vllm": {"images": 1, "kv_cache_gib": 2.0}}
READING = {  # every part is a model that reads
    "profiler": {"kind": "llm", "llm": LLM},
    "encoders": {"text": "qwen3", "multimodal": "qwen3-vl"},
    "teacher": {"policy": "llm", "llm": LLM},
    "reranker": {"kind": "llm"},
    "student": {"kind": "lora"},
}
LORA = tuple(
    f"student.{key}" for key in StudentConfig.model_fields if key not in ("kind", "shuffle_labels")
)
# Keys that another key switches off, in a run without and in a run with models that read.
UNREAD = {
    "embedded": ("encoders.text_model", "encoders.multimodal_model", "encoders.dtype",
                 "reranker.llm", *LORA),
    "reading": ("encoders.align", "reranker.negatives"),
}  # fmt: skip
# What sources read of the config: label to keys.
SOURCES = {
    "profiles": ("profiler.kind",),
    "profiler": ("profiler.llm.model",),
    "encoders": ("encoders",),
    "backbone": ("student.backbone",),
    "teacher": ("teacher.policy", "teacher.llm.model", "teacher.llm.engine"),
    "grader": ("reranker.kind", "reranker.llm.model"),
}
OTHER: dict[str, Any] = {  # values that are no number or switch
    "profiler.kind": "llm", "encoders.text": "qwen3", "encoders.multimodal": "qwen3-vl",
    "encoders.dtype": "bfloat16", "teacher.policy": "evidence", "student.loss": "best_bin",
    "calibration.on_uncertified": "teacher", "reranker.kind": "none", "wandb.mode": "disabled",
    "serve.retrieval_device": "gpu", "store.url": "env:X", "ablation.encoders": ["a.yaml"],
    "ablation.policies": ["a.yaml"], "fold": {"of": 3, "number": 1},
    "demo": {"seed": 1},
}  # fmt: skip
Finished = tuple[Config, tuple[str, ...]]
SKIPPED = {"name", "shop", "out", "encoders.align.artefact", "serve.retrieval_device"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.yaml").write_text(YAML)
    (folder / "items.csv").write_text("id,title,photo\na,cup,a.png\nb,mug,b.png\n")
    (folder / "interactions.csv").write_text("user_id,item_id,label\nann,a,pos\n")
    row = {"query_id": "q", "user_id": "ann", "query": "a cup", "target_id": "b"}
    users = ({**row, "query_id": f"q{n}", "user_id": f"u{n}"} for n in range(4))
    (folder / "queries.jsonl").write_text("".join(json.dumps(user) + "\n" for user in users))
    Image.new("RGB", (8, 8)).save(folder / "a.png")
    (folder / "b.png").write_bytes(b"no image")
    return folder


@pytest.fixture(scope="module", params=["embedded", "reading"])
def run(
    request: pytest.FixtureRequest, shop: Path, tmp_path_factory: pytest.TempPathFactory
) -> Finished:
    """A config all of whose stages are finished, though empty, and what it leaves unread."""
    made = {"name": "c", "shop": shop, "out": tmp_path_factory.mktemp("out")}
    config = Config.model_validate({**made, **(READING if request.param == "reading" else {})})
    finish(config)
    return config, UNREAD[request.param]


def finish(config: Config) -> None:
    for stage in STAGES.values():
        stage.run(config, lambda _: {})


@pytest.fixture
def embedded(shop: Path, tmp_path: Path) -> Config:
    config = Config.model_validate({"name": "c", "shop": shop, "out": tmp_path / "out"})
    finish(config)
    return config


def changed(config: Config, **keys: Any) -> Config:
    """The config with other values of dotted keys, `__` for the dot."""
    dump = config.model_dump(mode="json")
    for key, value in keys.items():
        *sections, last = key.split("__")
        place = dump
        for section in sections:
            place = place[section]
        place[last] = value
    return Config.model_validate(dump)


def stale(config: Config, of: Config) -> set[str]:
    """Stages that the change itself makes stale; those after them follow when they are made."""
    return {name for name, stage in STAGES.items() if stage.key(config) != stage.key(of)}


def leaves(dump: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in dump.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def another(key: str, value: Any) -> Any:
    if key in OTHER and OTHER[key] != value:
        return OTHER[key]
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 0.9 or 0.05
    return {"vllm": "openai", "auto": "float32", "embedded": "llm"}.get(value, f"{value}x")


def under(key: str, *sections: str) -> bool:
    return any(key == section or key.startswith(section + ".") for section in sections)


def test_each_key_of_the_config_makes_stale_what_the_table_says(
    run: tuple[Config, tuple[str, ...]],
) -> None:
    config, unread = run
    seen = 0
    for key, value in leaves(config.model_dump(mode="json")):
        if key in SKIPPED:
            continue
        try:
            other = changed(config, **{key.replace(".", "__"): another(key, value)})
        except ConfigError:
            raise
        except ValueError:  # a value that goes with no other: named below
            continue
        seen += 1
        silent = key in OPERATION or under(key, *unread)
        told = {
            name
            for name, stage in STAGES.items()
            if (under(key, *stage.settings) and not silent)
            or any(under(key, *SOURCES.get(i.label, ())) and not silent for i in stage.inputs)
        }
        assert stale(other, config) == told, key
    assert seen > 75  # of some 100: the rest go with no other value of one key alone


def test_every_key_of_the_table_is_one_of_the_config(run: Finished) -> None:
    dump = dict(leaves(run[0].model_dump(mode="json")))
    for stage in STAGES.values():
        for key in stage.settings:
            assert any(under(leaf, key) for leaf in dump), (stage.name, key)


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [
        ("serve__port", 9, ()),
        ("wandb__mode", "disabled", ()),
        ("store__url", "env:X", ()),
        ("threads", 7, ("train",)),
        ("encoders__batch", 3, ()),
        ("encoders__text_model", "x", ()),
        ("student__allow_download", True, ()),
        ("ablation__policies", ["x.yaml"], ("ablation",)),
        ("routing__epsilon", 0.2, ("train", "calibrate", "report", "teacher-report", "ablation")),
        ("calibration__fallback_rate", 0.3, ("calibrate",)),
        ("calibration__on_uncertified", "teacher", ("report",)),
        ("labels__shrink", 0.5, ("label",)),
        ("labels__synthetic_requests", 5, ("ranks", "label")),
        ("student__kind", "intent", ("train",)),
        ("encoders__align__seeds", 1, ("build",)),
        ("reranker__attribute_filter", False, ("report", "ablation", "protocol")),
    ],
)
def test_named_keys(embedded: Config, key: str, value: object, names: tuple[str, ...]) -> None:
    assert stale(changed(embedded, **{key: value}), embedded) == set(names)


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("interactions.csv", "user_id,item_id,label\nann,a,neg\n", "histories"),
        ("queries.jsonl", None, "queries"),
        ("a.png", None, "catalogue"),
        ("items.csv", "id,title,photo\na,cup,a.png\nb,pot,b.png\n", "catalogue"),
    ],
)
def test_a_file_of_the_shop_makes_stale_who_reads_it(
    embedded: Config, tmp_path: Path, name: str, text: str | None, names: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in embedded.shop.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert stale(changed(embedded, shop=other), embedded) == set()  # the place decides nothing
    before = (other / name).read_bytes()
    (other / name).write_bytes(text.encode() if text else before + b"\n")
    readers = {n for n, s in STAGES.items() if names in [i.label for i in s.inputs]}
    assert stale(changed(embedded, shop=other), embedded) == readers
    assert readers == {
        "catalogue": {"profile", "build"},
        "histories": set(STAGES) - {"profile", "build", "ranks"},
        "queries": set(STAGES) - {"profile", "build"},
    }[names]  # fmt: skip


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("teacher", {"label", "calibrate", "report", "teacher-report", "ablation", "protocol"}),
        ("reranking", {"reranker", "report", "ablation", "protocol"}),
        ("indexing", {"profile"}),
    ],
)
def test_a_changed_prompt_template_makes_stale_who_asks_with_it(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str, names: set[str]
) -> None:
    config = Config.model_validate({"name": "c", "shop": shop, "out": tmp_path / "out", **READING})
    finish(config)
    before = {name: stage.key(config) for name, stage in STAGES.items()}
    home = Path(pipeline.__file__).parent
    for one in ("teacher", "reranking", "indexing"):
        (tmp_path / "house" / one / "prompts").mkdir(parents=True)
        for path in (home / one / "prompts").iterdir():
            text = path.read_bytes() + (b"{# changed #}" if one == room else b"")
            (tmp_path / "house" / one / "prompts" / path.name).write_bytes(text)
    prompts.cache_clear()
    monkeypatch.setattr(pipeline, "_HERE", tmp_path / "house")
    after = {name: stage.key(config) for name, stage in STAGES.items()}
    assert {name for name in STAGES if before[name] != after[name]} == names


def test_other_weights_under_the_same_path_make_stale_who_loads_them(
    embedded: Config, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"first")
    config = changed(
        embedded, student__kind="lora", student__backbone=str(model), encoders__text="qwen3",
        encoders__text_model=str(model),
    )  # fmt: skip
    before = {name: stage.key(config) for name, stage in STAGES.items()}
    (model / "model.safetensors").write_bytes(b"second")
    after = {name: stage.key(config) for name, stage in STAGES.items()}
    assert {name for name in STAGES if before[name] != after[name]} == {"build", "train"}


def test_an_alignment_is_known_by_its_content_not_by_its_path(
    embedded: Config, tmp_path: Path
) -> None:
    for name, data in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / name).write_bytes(data)
    keys = [
        pipeline.BUILD.key(changed(embedded, encoders__align__artefact=str(tmp_path / name)))
        for name in "abc"
    ]
    assert keys[0] == keys[1] != keys[2]
    with pytest.raises(ConfigError, match="no file"):
        pipeline.BUILD.key(changed(embedded, encoders__align__artefact="none"))


def test_asking_what_is_fresh_and_opening_the_shop_decode_no_photo(
    embedded: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PIL.Image.open", lambda *_: pytest.fail("decoded"))
    assert {name for name, stage in STAGES.items() if stage.is_fresh(embedded)} == set(STAGES)
    assert [item.image is not None for item in open_shop(embedded).catalogue.items] == [True] * 2


def test_folds_share_index_and_ranks_and_make_the_rest_anew(
    embedded: Config, tmp_path: Path
) -> None:
    fold = changed(embedded, fold={"of": 3, "number": 0}, out=str(tmp_path / "fold"))
    borrow(fold, embedded, pipeline.BUILD, pipeline.RANKS)
    fresh = {name for name, stage in STAGES.items() if stage.is_fresh(fold)}
    assert fresh == {"build", "ranks"}
    assert pipeline.RANKS.path(fold).is_symlink()


def test_a_report_that_refits_is_decided_by_every_stage_before_it() -> None:
    keys = decided_by(pipeline.REPORT)
    assert {"encoders", "labels", "student", "calibration.on_uncertified", "routing"} <= keys
    assert not any(key.startswith(("serve", "wandb", "ablation")) for key in keys)


def test_each_stage_has_a_folder_of_its_own_that_its_manifest_lies_in(embedded: Config) -> None:
    assert len({stage.folder for stage in STAGES.values()}) == len(STAGES)
    for stage in STAGES.values():
        assert (embedded.stage(stage.folder) / MANIFEST).is_file()
