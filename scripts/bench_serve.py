"""Measures a served run: latency of both endpoints at one client, start, memory of all processes.

    python scripts/bench_serve.py configs/demo.yaml [--requests 200]

Serves a finished run (adamroute run CONFIG) on a free port, asks the test split's queries one by
one, and prints command, hardware, commit and each bar with what was measured. Every text is new
to the server the first time round, so --requests up to the number of test queries measures cold
query vectors. Run it on an otherwise idle machine: two torch processes share two cores badly.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import numpy as np
import psutil

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.shop import Query
from adamroute.config import load_config
from adamroute.hardware import GIB, machine
from adamroute.serving.app import served
from adamroute.stages import commit

WARM_UP = 5  # requests an endpoint that are not counted
BARS = {"/v1/route": 120.0, "/v1/recommend": 250.0}  # p50, ms
PSS_GIB = 6.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("--requests", type=int, default=200, help="an endpoint (default: 200)")
    parser.add_argument("--policy", default="student", help="policy string (default: student)")
    options = parser.parse_args()
    config = load_config(options.config)
    queries = known_queries(read_shop(config.shop), config.stage("ranks"), "test")
    describe()
    config = config.model_copy(update={"serve": config.serve.model_copy(update={"port": 0})})
    start = time.monotonic()
    with served(config) as url:
        print(f"start until all replicas answer: {time.monotonic() - start:.1f} s\n")
        print(
            f"{'':<16}{'p50':>8}{'p95':>8}{'p99':>8}{'bar':>8}   ms, {options.requests} requests"
        )
        for path, bar in BARS.items():
            times = timed(url + path, queries, options.requests, options.policy)
            cut = np.percentile(times, [50, 95, 99])
            verdict = "ok" if cut[0] <= bar else "MISSED"
            print(f"{path:<16}" + "".join(f"{ms:8.1f}" for ms in (*cut, bar)) + f"   {verdict}")
        memory()


def describe() -> None:
    """Command, hardware and commit."""
    print("command:  " + " ".join(["python", *sys.argv]))
    print(f"hardware: {machine()}")
    print(f"commit:   {commit()}")


def timed(url: str, queries: Sequence[Query], count: int, policy: str) -> list[float]:
    """Milliseconds of `count` requests, one after the other."""
    times = []
    with httpx.Client(timeout=60.0) as client:
        for place in range(WARM_UP + count):
            query = queries[place % len(queries)]
            body = {"user_id": query.user_id, "query": query.text, "policy": policy}
            sent = time.perf_counter()
            client.post(url, json=body).raise_for_status()
            times.append(1000.0 * (time.perf_counter() - sent))
    return times[WARM_UP:]


def memory() -> None:
    """PSS of every process of the server, and their sum."""
    me = psutil.Process()
    sizes = []
    for process in (me, *me.children(recursive=True)):
        try:
            sizes.append((process.memory_full_info().pss / GIB, process.name()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    print("\nPSS, GiB")
    for size, name in sorted(sizes, reverse=True):
        print(f"{size:8.2f}  {name}")
    total = sum(size for size, _ in sizes)
    print(f"{total:8.2f}  all, at most {PSS_GIB:.1f}: {'ok' if total <= PSS_GIB else 'MISSED'}")


if __name__ == "__main__":
    main()
