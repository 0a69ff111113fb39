import json
from pathlib import Path

import pytest

from adamroute.config import LlmConfig, load_config
from adamroute.errors import ConfigError

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_config_of_the_project_loads(path: Path) -> None:
    assert load_config(path).name == path.stem


def test_a_shop_on_the_command_line_wins_and_turns_the_generator_off(tmp_path: Path) -> None:
    config = load_config(CONFIGS / "demo.yaml", shop=tmp_path, out=tmp_path / "out")
    assert config.shop == tmp_path
    assert config.demo is None
    assert config.stage("index") == tmp_path / "out" / "index"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nshop: s\nout: o\ntypo: 1", "typo: Extra inputs are not permitted"),
        ("name: x\nshop: s\nout: o\nrouting: {tau: 0}", "routing.tau: .*greater than or equal"),
        ("name: ../x\nshop: s\nout: o", "name: "),
        ("shop: s\nout: o", "name: Field required"),
        ("- a", "wanted a mapping"),
        ("a: [", "cannot be read as YAML"),
        ("a: \xff", "cannot be read as YAML"),
    ],
)
def test_a_wrong_config_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def test_a_missing_config_lists_those_at_hand(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Configs at hand"):
        load_config(tmp_path / "none.yaml")


LLM = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ({"policy": "llm"}, "needs the section teacher.llm"),
        ({"policy": "llm", "llm": {"model": "m"}}, "needs base_url"),
        ({"llm": {"engine": "vllm", "model": "m", "thinking": True}}, "thinking: false"),
        ({"llm": {**LLM, "key": "sk-1"}}, "Extra inputs are not permitted"),
    ],
)
def test_a_language_model_that_cannot_work_is_refused(
    tmp_path: Path, teacher: dict[str, object], message: str
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(json.dumps({"name": "x", "shop": "s", "out": "o", "teacher": teacher}))
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(path)
    assert "sk-1" not in str(caught.value)


def test_tokens_cost_their_price_a_million() -> None:
    config = LlmConfig.model_validate({**LLM, "price_in": 2.0, "price_out": 6.0})
    assert config.cost(500_000, 100_000) == pytest.approx(0.5 * 2 + 0.1 * 6)
    assert config.name == "openai:m"


ENGINE = {"engine": "vllm", "model": "m", "vllm": {"gpu_memory_utilization": 0.4}}
SCORER = {"kind": "llm", "llm": {"vllm": {"gpu_memory_utilization": 0.3}}}


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        ({"gpus": {"reranker": 0.6, "teacher": 0.5}}, "1.1 GPUs shared out, 1 to place them on"),
        # Three of .7 don't fit two GPUs, although 2.1 is little more than 2.
        ({"gpus": {"count": 2, "router": 0.7, "reranker": 0.7, "teacher": 0.7}}, "finds no room"),
        ({"gpus": {"reranker": 0.25}}, "reranker.llm.vllm.gpu_memory_utilization is 0.3, .*0.25"),
        ({"gpus": {"teacher": 0.3}}, "teacher.llm.vllm.gpu_memory_utilization is 0.4, .*0.3"),
        ({"gpus": {"reranker": 1.5}}, "less than or equal to 1"),
        ({"retrieval_device": "gpu", "gpus": {"recommender": 0.1}}, "both need a share"),
    ],
)
def test_shares_of_a_gpu_that_cannot_work_are_refused(
    tmp_path: Path, serve: dict[str, object], message: str
) -> None:
    path = tmp_path / "c.yaml"
    parts = {"teacher": {"policy": "llm", "llm": ENGINE}, "reranker": SCORER, "serve": serve}
    path.write_text(json.dumps({"name": "x", "shop": "s", "out": "o", **parts}))
    with pytest.raises(ConfigError, match=message):
        load_config(path)


def test_shares_that_fit_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    parts = {"teacher": {"policy": "llm", "llm": ENGINE}, "reranker": SCORER}
    gpus = {"count": 2, "router": 0.3, "recommender": 0.3, "reranker": 0.7, "teacher": 0.7}
    body = {"name": "x", "shop": "s", "out": "o", **parts, "serve": {"gpus": gpus}}
    path.write_text(json.dumps(body))
    assert load_config(path).served_engines["teacher"].gpu_memory_utilization == 0.4


@pytest.mark.parametrize("section", ["encoders", "student"])
def test_a_thread_count_of_old_is_told_its_new_key(tmp_path: Path, section: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(json.dumps({"name": "x", "shop": "s", "out": "o", section: {"threads": 2}}))
    with pytest.raises(ConfigError, match=rf"{section}\.threads: .*`threads` at the top level"):
        load_config(path)
