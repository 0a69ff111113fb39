"""What vLLM is given to load; the real one is tested in tests/engines."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adamroute.config import Config, LlmConfig, ProfilerConfig, VllmConfig
from adamroute.errors import EngineError
from adamroute.llm.vllm_engine import load_engine


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that a stand-in for vLLM was asked to load; the hub's cache is empty."""
    from huggingface_hub import constants

    models: list[str] = []

    class LLM:
        def __init__(self, model: str, **_: Any) -> None:
            models.append(model)

    fake = ModuleType("vllm")
    fake.LLM = LLM  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("ENABLE_V1_MULTIPROCESSING", "NO_USAGE_STATS", "CPU_OMP_THREADS_BIND"):
        monkeypatch.setenv(f"VLLM_{name}", "0")  # set here, so that they are restored
    return models


def test_a_folder_is_taken_as_it_is(tmp_path: Path, loaded: list[str]) -> None:
    (tmp_path / "model.safetensors").touch()
    load_engine(str(tmp_path), VllmConfig())
    assert loaded == [str(tmp_path)]


def test_a_hub_id_that_is_not_in_the_local_cache_is_not_fetched(loaded: list[str]) -> None:
    with pytest.raises(EngineError, match=r"acme/chat.*set vllm\.allow_download: true"):
        load_engine("acme/chat", VllmConfig())
    assert loaded == []


def test_whether_a_download_is_allowed_changes_no_profile() -> None:
    def settings(**vllm: Any) -> object:
        llm = LlmConfig(engine="vllm", model="m", vllm=VllmConfig(images=1, **vllm))
        config = Config(
            name="c",
            shop=Path("s"),
            out=Path("o"),
            profiler=ProfilerConfig(kind="llm", llm=llm),
        )
        return config.deciding(["profiler"])

    assert settings(allow_download=True) == settings()
    assert settings(max_model_len=512) != settings()
