"""Measures `make demo` from a clean clone: time, LoRA seconds, peak memory, request latencies.

    python scripts/bench_demo.py [--source .] [--keep DIR]

Clones what is committed into an empty folder, runs `make demo` there with a venv of its own, and
adds up the PSS of the process tree once a second. Then it runs bench_teacher inside the clone.
Prints command, hardware, commit and each bar with what was measured.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from adamroute.hardware import GIB, machine

MINUTES, LORA_S, PSS_GIB, ROUTE_MS, RECOMMEND_MS = 12.0, 150.0, 6.0, 120.0, 250.0
EVERY_S = 1.0


class PeakMemory(threading.Thread):
    """Largest sum of PSS over a process and all that descend from it."""

    def __init__(self, root: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._stopped = threading.Event()
        self.peak = 0

    def run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            self.peak = max(self.peak, tree_pss(self._root))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def tree_pss(root: psutil.Process) -> int:
    """Bytes; a process that ends while it is looked at counts for nothing."""
    total = 0
    try:
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default=".", help="repository to clone (default: here)")
    parser.add_argument("--keep", type=Path, help="clone into this empty folder and keep it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        clone = options.keep or Path(scratch) / "adamroute"
        run(["git", "clone", "--quiet", options.source, str(clone)])
        commit = run(["git", "-C", str(clone), "rev-parse", "--short", "HEAD"]).strip()
        print(f"command: make demo, in a clean clone of {commit}")
        print(f"hardware: {machine()}")
        log, seconds, peak = timed_demo(clone)
        report(log, seconds, peak)
        python = str(clone / ".venv" / "bin" / "python")
        print(run([python, "scripts/bench_teacher.py", "--config", "configs/demo.yaml"], clone))


def timed_demo(clone: Path) -> tuple[str, float, int]:
    """Output of `make demo`, its seconds and its peak PSS in bytes."""
    start = time.monotonic()
    with subprocess.Popen(
        ["make", "demo"], cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        memory = PeakMemory(psutil.Process(demo.pid))
        memory.start()
        assert demo.stdout is not None
        lines = []
        for line in demo.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
        code = demo.wait()
        memory.stop()
    if code:
        sys.exit(f"make demo ended with {code}")
    return "".join(lines), time.monotonic() - start, memory.peak


def report(log: str, seconds: float, peak: int) -> None:
    """Each bar beside what was measured."""
    lora = float(found(r"LoRA training: \d+/\d+ in ([\d.]+) s", log))
    route = float(found(r"/v1/route +p50 +([\d.]+) ms", log))
    recommend = float(found(r"/v1/recommend +p50 +([\d.]+) ms", log))
    bars = [
        ("make demo, minutes", seconds / 60.0, MINUTES),
        ("LoRA training, s", lora, LORA_S),
        ("peak PSS of the process tree, GiB", peak / GIB, PSS_GIB),
        ("/v1/route p50, ms", route, ROUTE_MS),
        ("/v1/recommend p50, ms", recommend, RECOMMEND_MS),
    ]
    print("\nbar                                   measured   at most")
    for name, value, limit in bars:
        print(f"{name:<36} {value:9.2f} {limit:9.2f}  {'ok' if value <= limit else 'MISSED'}")


def found(pattern: str, log: str) -> str:
    match = re.search(pattern, log)
    if match is None:
        sys.exit(f"make demo printed no line like {pattern!r}")
    return match[1]


def run(command: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
