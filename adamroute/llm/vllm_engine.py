"""vLLM in this process, loaded once for all parts that name the same model and settings.

Loading takes from seconds (a tiny model on CPU) to minutes. One model of a GPU's memory share is
all that fits a process: policy and re-ranker share an engine by naming the same settings.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from adamroute.checkpoints import checkpoint_folder
from adamroute.config import VllmConfig
from adamroute.errors import EngineError, ModelError
from adamroute.hardware import GIB

if TYPE_CHECKING:
    from vllm import LLM

CALLS = Lock()  # an engine has one queue: held by whoever chats or grades in this process
# A weak model fills the room that JSON leaves for blanks, and its reply is cut.
COMPACT_JSON = {"backend": "xgrammar", "disable_any_whitespace": True}


@cache
def load_engine(model: str, settings: VllmConfig) -> LLM:
    """The engine of a hub id or folder. EngineError, with what to do, where it can't start.

    vLLM is given a folder, never a hub id, so it fetches nothing by itself.
    """
    _prepare(settings)
    try:
        folder = checkpoint_folder(
            model, allow_download=settings.allow_download, setting="vllm.model"
        )
        return _started(folder, settings)
    except ImportError as error:
        raise EngineError(
            "engine vllm: the package vllm is not installed here. "
            "Run: pip install '.[gpu]' in the checkout, or use engine: openai with a server"
        ) from error
    except ModelError as error:
        raise EngineError(str(error)) from error
    except Exception as error:  # vLLM, torch and the hub's client each raise their own
        raise EngineError(
            f"vLLM could not load {model!r}: {_first_line(error)}. Check the model's id or "
            "folder, max_model_len, gpu_memory_utilization (other engines on the GPU count) and, "
            "in a server, that serve.gpus gives this replica a share of a GPU"
        ) from error


def _prepare(settings: VllmConfig) -> None:
    # The engine core in this process: starts ten times sooner, and its schedule, so its
    # batches and its last bits, no longer depend on a second process's timing.
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    # On a CPU each engine would bind itself to the same first core.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    if settings.enforce_eager:  # else the first log-probabilities compile C++ for 20 s
        os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")


def _started(folder: Path, settings: VllmConfig) -> LLM:
    from vllm import LLM

    cache_gib = settings.kv_cache_gib
    return LLM(
        model=str(folder),
        max_model_len=settings.max_model_len,
        gpu_memory_utilization=settings.gpu_memory_utilization,
        kv_cache_memory_bytes=int(cache_gib * GIB) if cache_gib else None,
        dtype=settings.dtype,
        enforce_eager=settings.enforce_eager,
        limit_mm_per_prompt={"image": settings.images, "video": 0},
        enable_prefix_caching=True,
        structured_outputs_config=COMPACT_JSON,
        seed=0,
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
