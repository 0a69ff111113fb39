"""Measures the teacher's loop with a cold query cache, and labelling by own target.

    python scripts/bench_teacher.py --config configs/ikea.yaml [--requests 256]

Needs a finished label stage (adamroute run). No text is encoded in advance; only model and index
are loaded, and a handful of requests warm the process up. Prints command, hardware and commit.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from adamroute.assembly import load_index, load_teacher
from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.request import Request
from adamroute.catalogue.shop import Shop
from adamroute.config import Config, load_config
from adamroute.distill.labels.synthetic import Writer
from adamroute.hardware import machine
from adamroute.process import prepare_process
from adamroute.retrieval.cross_fit import load_folds
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import commit
from adamroute.teacher.loop import Teacher
from adamroute.teacher.paraphrase import load_paraphraser

WARM_UP = 8  # requests
ONE_BY_ONE = 64  # requests whose single latency is taken
BAR_PER_S = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument("--shop", type=Path, help="as of the command adamroute")
    parser.add_argument("--out", type=Path, help="as of the command adamroute")
    options = parser.parse_args()
    config = load_config(options.config, shop=options.shop, out=options.out)
    prepare_process(config.threads)
    shop = read_shop(config.shop)
    index = load_index(config.stage("index"))
    teacher = load_teacher(config.stage("labels"), index, config)
    queries = known_queries(shop, config.stage("ranks"), "train", "calibration", "test")
    wanted = WARM_UP + ONE_BY_ONE + options.requests
    requests = [shop.request(query) for query in islice(cycle(queries), wanted)]
    print(f"command: {' '.join(sys.argv)}")
    print(f"hardware: {machine()}")
    print(f"commit: {commit()}; {len(index)} items, T_f = {config.teacher.evidence}")
    teacher.decide_many(requests[:WARM_UP])
    one_by_one(teacher, requests[WARM_UP : WARM_UP + ONE_BY_ONE])
    together(teacher, requests[WARM_UP + ONE_BY_ONE :])
    own_targets(config, shop, index)


def one_by_one(teacher: Teacher, requests: list[Request]) -> None:
    """Latency of a single request, as the server asks."""
    times = [teacher.decide(request).ms for request in requests]
    p50, p95 = np.percentile(times, [50, 95])
    print(f"one request: p50 {p50:.1f} ms, p95 {p95:.1f} ms over {len(times)}")


def together(teacher: Teacher, requests: list[Request]) -> None:
    """Throughput as in labelling."""
    start = time.perf_counter()
    answers = teacher.decide_many(requests)
    took = time.perf_counter() - start
    steps = float(np.mean([len(answer.steps) - 1 for answer in answers]))
    rate = len(answers) / took
    print(
        f"teacher loop: {rate:.1f} requests/s over {len(answers)} ({steps:.1f} pseudo-queries); "
        f"bar {BAR_PER_S:.0f}: {'met' if rate >= BAR_PER_S else 'MISSED'}"
    )


def own_targets(config: Config, shop: Shop, index: SearchIndex) -> None:
    """Synthetic requests: written, encoded, ranked by parts that never saw their items."""
    proof = load_folds(config.stage("index"), index.branches, index.text_encoder)
    words = load_paraphraser(config.stage("ranks"))
    start = time.perf_counter()
    made = Writer(index.ids, index.words, proof.claims, words).write(
        count=512, seed=config.seed, split_items=not shop.queries
    )
    texts = [written.query.text for written in made]
    rows = np.array([index.row(written.query.target_id) for written in made])
    unstated = np.array([written.unstated for written in made])
    proof.ranks(texts, index.text_encoder.encode(texts), rows, unstated=unstated)
    print(f"own-target labels: {len(made) / (time.perf_counter() - start):.0f} requests/s")


if __name__ == "__main__":
    main()
