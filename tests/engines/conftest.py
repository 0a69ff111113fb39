"""Real vLLM on the CPU: in this process, and as `vllm serve` over loopback HTTP.

Every test in this folder is marked `vllm`. Where vLLM is not installed they are skipped, except
under ADAMROUTE_ENGINES=required (`make test-engines`), where they fail. An engine starts when a
test first asks for it and serves the whole session: measured start times are with each fixture.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from adamroute.datasets.tiny_models import writers
from tests.engines.server import Server, serving

HERE = Path(__file__).parent
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCH_COMPILE_DISABLE": "1",  # else the first log-probabilities compile C++ for 20 s
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB an engine
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else every engine pins itself to the same core
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
IN_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}  # start in seconds instead of a minute
# A random model would fill the room that JSON leaves for blanks, without end.
COMPACT_JSON = {"backend": "xgrammar", "disable_any_whitespace": True}
# vLLM and what it loads warn by the dozen; warnings from our own code stay errors.
WARNINGS = ("ignore", "error:::(adamroute|distill|serving|training|tests)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = find_spec("vllm") is None and os.environ.get("ADAMROUTE_ENGINES") != "required"
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.vllm)
            item.add_marker(pytest.mark.filterwarnings(*WARNINGS))
            if missing:
                item.add_marker(pytest.mark.skip(reason="vLLM is absent: make test-engines"))


@pytest.fixture(scope="session", autouse=True)
def engine_environment() -> Iterator[None]:
    """The variables that every engine here needs, children included."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, **IN_PROCESS}.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """`checkpoint("qwen3")` is the folder that writers.write_qwen3 fills, written once."""
    root = tmp_path_factory.mktemp("checkpoints")

    def folder(name: str) -> Path:
        path = root / name
        if not path.exists():
            getattr(writers, f"write_{name}")(path)
        return path

    yield folder
    rmtree(root, ignore_errors=True)  # pytest would keep three sessions' SmolLM2, 540 MB each


@pytest.fixture(scope="session")
def qwen3_folder(checkpoint: Callable[[str], Path]) -> Path:
    """The tiny Qwen3ForCausalLM."""
    return checkpoint("qwen3")


@pytest.fixture(scope="session")
def qwen3_vl_folder(checkpoint: Callable[[str], Path]) -> Path:
    """The tiny Qwen3VLForConditionalGeneration."""
    return checkpoint("qwen3_vl")


@pytest.fixture(scope="session")
def qwen3_embedding_folder(checkpoint: Callable[[str], Path]) -> Path:
    """The tiny Qwen3-Embedding, a sentence-transformers folder."""
    return checkpoint("qwen3_embedding")


@pytest.fixture(scope="session")
def qwen3_vl_embedding_folder(checkpoint: Callable[[str], Path]) -> Path:
    """The tiny Qwen3-VL-Embedding, a sentence-transformers folder."""
    return checkpoint("qwen3_vl_embedding")


@pytest.fixture(scope="session")
def smollm2_folder(checkpoint: Callable[[str], Path]) -> Path:
    """SmolLM2-135M-Instruct in float32, a model that understands a little."""
    return checkpoint("smollm2")


@pytest.fixture(scope="session")
def qwen3_engine(qwen3_folder: Path) -> Any:
    """vllm.LLM over the tiny Qwen3."""
    return in_process(qwen3_folder)


@pytest.fixture(scope="session")
def qwen3_vl_engine(qwen3_vl_folder: Path) -> Any:
    """vllm.LLM over the tiny Qwen3-VL: one image a prompt, no video."""
    return in_process(qwen3_vl_folder, limit_mm_per_prompt={"image": 1, "video": 0})


@pytest.fixture(scope="session")
def qwen3_server(qwen3_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`vllm serve` over the tiny Qwen3."""
    with serving(qwen3_folder, "tiny-qwen3", tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture(scope="session")
def smollm2_server(
    smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """`vllm serve` over SmolLM2."""
    with serving(smollm2_folder, "smollm2", tmp_path_factory.mktemp("serve")) as server:
        yield server


def in_process(folder: Path, **options: Any) -> Any:
    """A vllm.LLM in float32 with the sizes that suit a tiny model on two cores."""
    from vllm import LLM

    return LLM(
        str(folder),
        dtype="float32",
        enforce_eager=True,
        max_model_len=8192,
        max_num_seqs=16,
        seed=0,
        structured_outputs_config=COMPACT_JSON,
        **options,
    )
