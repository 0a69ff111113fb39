"""The headline system in miniature: configs/qwen3-tiny.yaml from shop to HTTP, on real engines.

Every stage runs on the project's tiny checkpoints, then `adamroute serve` starts a real Ray Serve
cluster, in which the re-ranker's and the teacher's replicas hold a vLLM engine each. What the
models say is noise; the tests look at how it is used.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.config import Config, load_config
from adamroute.progress import SILENT
from adamroute.reranking.reranker import GRADES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*torch.jit.*is deprecated.*:DeprecationWarning"),
]
ROOT = Path(__file__).resolve().parents[2]
SERVE = "from adamroute.cli import main; main()"
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def config_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """configs/qwen3-tiny.yaml with its folders put into temporary ones, and its checkpoints."""
    from adamroute.datasets.tiny_models.writers import SERVED_SEED, WRITERS

    folder = tmp_path_factory.mktemp("headline")
    models = folder / "models"
    for name, write in WRITERS.items():
        write(models / name, seed=SERVED_SEED)
    text = (ROOT / "configs" / "qwen3-tiny.yaml").read_text(encoding="utf-8")
    assert text.count("runs/tiny-models/") >= len(WRITERS)
    text = text.replace("runs/tiny-models", str(models)).replace("runs/qwen3-tiny", str(folder))
    path = folder / "qwen3-tiny.yaml"
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(config_path: Path) -> Config:
    """The config of a run whose every stage is finished."""
    from adamroute.datasets.demo import generate_demo_shop
    from adamroute.distill.labels.label import run_label
    from adamroute.indexing.build import run_build
    from adamroute.indexing.profiling import run_profile
    from adamroute.training.calibrate import run_calibrate
    from adamroute.training.reranker_fit import run_reranker
    from adamroute.training.train import run_train

    config = load_config(config_path)
    assert config.demo is not None
    generate_demo_shop(config.shop, **config.demo.model_dump())
    for stage in (run_profile, run_build, run_label, run_train, run_reranker, run_calibrate):
        stage(config, SILENT)
    return config


@pytest.fixture(scope="module")
def client(run: Config, config_path: Path) -> Iterator[httpx.Client]:
    """`adamroute serve` in a process of its own, until the last test."""
    text = config_path.read_text(encoding="utf-8").replace("serve:\n", "serve:\n  port: 0\n")
    config_path.write_text(text, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", str(config_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        line = server.stdout.readline()
        if "http://" not in line:
            pytest.fail(f"adamroute serve: {line}{server.stderr.read()[-4000:]}")
        try:
            with httpx.Client(base_url=line.split()[-1], timeout=PATIENCE_S) as client:
                yield client
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=60) == 0
            assert run.out.is_dir()


def body(run: Config, policy: str) -> dict[str, object]:
    """A test query of a user with a history."""
    shop = read_shop(run.shop)
    query = next(q for q in shop.split("test") if any(x.positive for x in shop.request(q).history))
    return {"user_id": query.user_id, "query": query.text, "n": 5, "policy": policy}


def recommend(client: httpx.Client, asked: dict[str, object]) -> dict[str, object]:
    reply = client.post("/v1/recommend", json=asked)
    assert reply.status_code == 200, reply.text
    found: dict[str, object] = reply.json()
    return found


def test_the_stages_say_what_the_models_did(run: Config) -> None:
    from adamroute.stages import read_manifest

    profiles = read_manifest(run.stage("profiles"), "profile").counts
    assert profiles["items"] == 50
    assert profiles["by_the_model"]
    labels = read_manifest(run.stage("labels"), "label").counts
    assert labels["llm_calls"]
    assert labels["tokens"]
    student = json.loads((run.stage("student") / "student.json").read_text(encoding="utf-8"))
    assert student["weights"].startswith("qwen3@")
    made_for = read_manifest(run.stage("reranker"), "reranker").config["reranker"]
    assert isinstance(made_for, dict)
    assert made_for["llm"] == {"model": run.reranker.llm.model, "vllm": {"dtype": "float32"}}


def test_an_unsure_student_falls_back_to_the_full_loop_and_the_answer_says_so(
    run: Config, client: httpx.Client
) -> None:
    answer = recommend(client, body(run, "auto@1"))
    assert (answer["source"], answer["fallback"]) == ("teacher", "low_confidence")
    assert answer["certified"] is False  # too few rows to certify: the operator's choice decides
    confidence = answer["confidence"]
    assert isinstance(confidence, float)
    assert confidence < 1.0
    assert answer["threshold"] == 1.0
    calls, tokens = answer["llm_calls"], answer["llm_tokens"]
    assert isinstance(calls, int)
    assert isinstance(tokens, int)
    assert calls >= 4  # preferences, start, pseudo-queries and one update an evidence item
    assert tokens > 100 * calls
    timings = answer["timings_ms"]
    assert isinstance(timings, dict)
    assert timings["teacher"] > timings["route"]
    line = logged(run, answer["request_id"])
    for name in ("source", "fallback", "teacher_fallbacks", "llm_calls", "llm_tokens", "reranker"):
        assert line[name] == answer[name]


def test_every_candidate_is_read_by_the_rerankers_model(run: Config, client: httpx.Client) -> None:
    answer = recommend(client, body(run, "static@0.5,20"))
    items, counts = answer["items"], answer["reranker"]
    assert isinstance(items, list)
    assert isinstance(counts, dict)
    assert len(items) == 5
    for item in items:
        assert sum(item["levels"]) == pytest.approx(1.0)
        expected = sum(level * p for level, p in zip(GRADES, item["levels"], strict=True))
        assert item["score"] == pytest.approx(expected)
    scores = [item["score"] for item in items]
    assert scores == sorted(scores, reverse=True)
    assert counts["read"] >= 10
    assert 0.0 < counts["level_mass_min"] <= counts["level_mass_mean"] <= 1.0
    again = recommend(client, body(run, "static@0.5,20"))
    assert again["items"] == items
    assert again["reranker"]["read"] == counts["read"]  # type: ignore[index]  # all remembered


def test_a_request_above_the_threshold_costs_no_call(run: Config, client: httpx.Client) -> None:
    answer = recommend(client, body(run, "auto@0"))
    assert (answer["source"], answer["fallback"]) == ("student", None)
    assert (answer["llm_calls"], answer["llm_tokens"], answer["teacher_fallbacks"]) == (0, 0, [])


def test_a_teacher_at_work_is_still_ready(run: Config, client: httpx.Client) -> None:
    asked = body(run, "teacher")
    answers: list[dict[str, object]] = []
    thread = threading.Thread(target=lambda: answers.append(recommend(client, asked)))
    thread.start()
    seen = [client.get("/readyz").json()["replicas"]]
    while thread.is_alive():
        seen.append(client.get("/readyz").json()["replicas"])
        thread.join(0.2)
    assert all(set(replicas.values()) == {"ready"} for replicas in seen)
    assert answers[0]["source"] == "teacher"


def logged(run: Config, request_id: object) -> dict[str, object]:
    from adamroute.serving.telemetry import LOG_FILE

    lines = (run.out / LOG_FILE).read_text(encoding="utf-8").splitlines()
    (mine,) = (x for x in map(json.loads, lines) if x["request_id"] == request_id)
    assert isinstance(mine, dict)
    return mine
