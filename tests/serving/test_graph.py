"""The application as it is bound, without a cluster: what each replica asks of the machine."""

from __future__ import annotations

import fcntl
import warnings
from pathlib import Path
from typing import Any

import pytest

from adamroute.assembly import load_index
from adamroute.config import Config, load_config
from adamroute.errors import ConfigError
from adamroute.serving.warm import ENGINE_LOCK, engine_alone

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Ray's own, when its modules load
    from adamroute.serving.graph import build_app

ROOT = Path(__file__).resolve().parents[2]


def headline(run: Config) -> Config:
    """What configs/qwen3-gpu.yaml says of serving, over the stages of a small finished run."""
    gpu = load_config(ROOT / "configs" / "qwen3-gpu.yaml")
    return run.model_copy(update={"serve": gpu.serve, "reranker": gpu.reranker})


def resources(config: Config) -> dict[str, dict[str, Any]]:
    """ray_actor_options of every deployment that the ingress is bound to, and of itself."""
    ingress = build_app(config)._bound_deployment
    path = ingress.init_args[1]._bound_deployment
    nodes = [application._bound_deployment for application in path.init_kwargs.values()]
    return {d.name: d.ray_actor_options for d in (*nodes, path, ingress)}


def test_the_headline_system_shares_one_gpu_among_its_replicas(tiny_run: Config) -> None:
    asked = resources(headline(tiny_run))
    assert {name: options["num_gpus"] for name, options in asked.items()} == {
        "router": 0.05, "teacher": 0.47, "reranker": 0.35, "recommender": 0.13, "ingress": 0.0,
    }  # fmt: skip
    assert sum(options["num_gpus"] for options in asked.values()) == pytest.approx(1.0)
    assert all(options["num_cpus"] > 0 for options in asked.values())


def test_without_shares_no_replica_asks_for_a_gpu(tiny_run: Config) -> None:
    asked = resources(tiny_run)
    assert set(asked) == {"router", "teacher", "recommender", "ingress"}  # no model re-ranks
    assert {options["num_gpus"] for options in asked.values()} == {0.0}


def test_tiny_and_gpu_config_are_one_graph() -> None:
    tiny, gpu = (load_config(ROOT / "configs" / f"qwen3-{name}.yaml") for name in ("tiny", "gpu"))
    for config in (tiny, gpu):
        assert (config.encoders.text, config.encoders.multimodal) == ("qwen3", "qwen3-vl")
        assert (config.teacher.policy, config.reranker.kind) == ("llm", "llm")
        assert config.profiler.kind == "llm"
        assert set(config.served_engines) == {"reranker", "teacher"}
        assert config.served_engines["reranker"] == config.served_engines["teacher"]
    assert gpu.student.backbone == "Qwen/Qwen3-0.6B"
    assert gpu.reranker.llm.model == "Qwen/Qwen3-8B"
    assert gpu.teacher.llm is not None
    assert gpu.teacher.llm.model == "Qwen/Qwen3-8B"
    assert gpu.profiler.llm is not None
    assert gpu.profiler.llm.model == "Qwen/Qwen3-VL-8B-Instruct"


def test_faiss_without_a_gpu_says_so_and_names_both_ways_out(tiny_run: Config) -> None:
    with pytest.raises(ConfigError, match=r"faiss-cpu.*retrieval_device: cpu"):
        load_index(tiny_run.stage("index"), device="gpu")


def test_engines_of_one_run_start_one_after_the_other(tmp_path: Path, tiny_run: Config) -> None:
    config = tiny_run.model_copy(update={"out": tmp_path})
    lock = tmp_path / ENGINE_LOCK
    with (
        engine_alone(config),
        lock.open("w") as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
