"""Runs the parts of a GPU config for real on this machine, one timed line each.

    python scripts/gpu_check.py [configs/qwen3-gpu.yaml] [--keep DIR]
    python scripts/gpu_check.py --tiny   # configs/qwen3-tiny.yaml, tiny checkpoints; a CPU will do

Searches on the GPU against the CPU's exact answers, runs every stage on a small generated shop
with the config's models (each stage in a process of its own, so that it gives its memory back),
serves the result, and asks it as student, through a real fallback and as teacher. Prints command,
hardware and commit. Exit code 0: all ran; 1: a step failed; 2: config or models are wrong; 3: no
GPU here.

Its authors had no GPU, so it has not been run on one; `--tiny` was, on a CPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpx
import numpy as np
import yaml
from pydantic import TypeAdapter

from adamroute.catalogue.folder import read_shop
from adamroute.config import Config, DemoConfig, WandbConfig, load_config
from adamroute.errors import AdamrouteError
from adamroute.hardware import machine
from adamroute.recommender import Recommendation
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.serving.app import served
from adamroute.stages import commit

GPU, TINY = Path("configs/qwen3-gpu.yaml"), Path("configs/qwen3-tiny.yaml")
TINY_MODELS = "runs/tiny-models"  # as TINY names them
SHOP = DemoConfig(items=120, users=24, queries=120, seed=3)
VERBS = ("build", "label", "train", "calibrate")
POLICIES = ("student", "auto@1", "teacher")
NO_GPU = 3
ADAMROUTE = "from adamroute.cli import main; main()"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path, nargs="?", help=f"default: {GPU}")
    parser.add_argument("--tiny", action="store_true", help="tiny checkpoints, made here")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work here and leave it")
    parser.add_argument("--requests", type=int, default=3, help="a policy (default: 3)")
    options = parser.parse_args()
    names = gpus()
    print("command:  " + " ".join(["python", *sys.argv]))
    print(f"hardware: {machine()}; {', '.join(names) or 'no GPU'}\ncommit:   {commit()}\n")
    if not names and not options.tiny:
        print(
            "no GPU: torch sees none here, so nothing was run. Run this on a machine with a GPU "
            "and a CUDA build of torch, or try the same graph on this one: --tiny",
            file=sys.stderr,
        )
        return NO_GPU
    keep = options.keep
    with nullcontext(keep) if keep else tempfile.TemporaryDirectory() as folder:
        try:
            path = written(options.config, Path(folder).resolve(), tiny=options.tiny)
            check(path, with_gpu=bool(names), requests=options.requests)
        except AdamrouteError as error:
            print(f"\ngpu_check: {error}", file=sys.stderr)
            return 2
        except subprocess.CalledProcessError as error:
            print(f"\ngpu_check: {error}", file=sys.stderr)
            return 2 if error.returncode == 2 else 1  # 2: what a stage wants mended
        except (AssertionError, httpx.HTTPError) as error:
            print(f"\ngpu_check: {error}", file=sys.stderr)
            return 1
    print("\nall ran")
    return 0


def gpus() -> list[str]:
    """Names of the GPUs that torch sees."""
    import torch

    return [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]


def written(path: Path | None, folder: Path, *, tiny: bool) -> Path:
    """The config with a small generated shop, below `folder`."""
    source = path or (TINY if tiny else GPU)
    load_config(source)
    folder.mkdir(parents=True, exist_ok=True)
    plain = source.read_text(encoding="utf-8")
    if tiny:
        models = folder / "tiny-models"
        plain = plain.replace(TINY_MODELS, str(models))
        with step("write tiny checkpoints"):
            script = Path(__file__).with_name("make_tiny_checkpoints.py")
            ran([str(script), "--out", str(models)], folder)
    target = folder / "check.yaml"
    target.write_text(plain, encoding="utf-8")
    config = load_config(target, shop=folder / "shop", out=folder / "run")
    small = config.model_copy(update={
        "demo": (load_config(TINY).demo if tiny else SHOP),
        "wandb": WandbConfig(mode="disabled"),
        # So small a shop certifies nothing; let the teacher answer where the student is unsure.
        "calibration": config.calibration.model_copy(update={"on_uncertified": "teacher"}),
        "serve": config.serve.model_copy(update={"port": 0, "timeout_s": 300.0}),
    })  # fmt: skip
    target.write_text(yaml.safe_dump(small.model_dump(mode="json")), encoding="utf-8")
    return target


def check(path: Path, *, with_gpu: bool, requests: int) -> None:
    """Every part in turn; the first that fails ends it."""
    config = load_config(path)
    if with_gpu:
        with step("search: GPU equals CPU"):
            search_alike()
    for verb in VERBS:
        with step(f"adamroute {verb}"):
            ran(["-c", ADAMROUTE, verb, str(path)], path.parent)
    start = time.monotonic()
    print(f"{'serve':<26}", end="", flush=True)
    with served(config) as url:
        print(f"{time.monotonic() - start:8.1f} s until all replicas are warm")
        for policy in POLICIES:
            asked(url, config, policy, requests)


def search_alike(items: int = 20_000, dimensions: int = 1024, tau: int = 1000) -> None:
    """Rows and ranks of both, with many ties; AssertionError where they differ."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((items, dimensions)).astype(np.float32)
    vectors[items // 2 :] = vectors[: items - items // 2]  # each listing twice
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = vectors[:20] + 0.02 * rng.standard_normal((20, dimensions)).astype(np.float32)
    here, there = BranchIndex(vectors), BranchIndex(vectors, device="gpu")
    for query in queries:
        one, other = here.search(query, tau), there.search(query, tau)
        assert np.array_equal(one.rows, other.rows), "search: rows differ between GPU and CPU"
        assert np.array_equal(one.ranks, other.ranks), "search: ranks differ between GPU and CPU"


def asked(url: str, config: Config, policy: str, count: int) -> None:
    """Requests of users with a history, one after the other; one line."""
    shop = read_shop(config.shop)
    queries = [q for q in shop.split("test") if any(x.positive for x in shop.request(q).history)]
    answers, times = [], []
    with httpx.Client(timeout=600.0) as client:
        for query in queries[:count]:
            body = {"user_id": query.user_id, "query": query.text, "policy": policy}
            sent = time.perf_counter()
            reply = client.post(f"{url}/v1/recommend", json=body).raise_for_status()
            times.append(1000.0 * (time.perf_counter() - sent))
            answers.append(TypeAdapter(Recommendation).validate_json(reply.content))
    last = answers[-1]
    sources = ", ".join(sorted({str(a.fallback or a.source) for a in answers}))
    print(
        f"{'recommend ' + policy:<26}{np.median(times):8.0f} ms p50 of {len(times)}; {sources}; "
        f"{last.llm_calls} calls, {last.llm_tokens:,} tokens; "
        f"level mass {last.reranker.get('level_mass_mean', 1.0):.2f}; {last.timings_ms}"
    )


@contextmanager
def step(name: str) -> Iterator[None]:
    """One line: what, and seconds."""
    print(f"{name:<26}", end="", flush=True)
    start = time.monotonic()
    yield
    print(f"{time.monotonic() - start:8.1f} s")


def ran(arguments: list[str], folder: Path) -> None:
    """A Python process whose output goes to a log; CalledProcessError after showing its end."""
    log = folder / "check.log"
    with log.open("a", encoding="utf-8") as out:
        done = subprocess.run([sys.executable, *arguments], stdout=out, stderr=out, check=False)
    if done.returncode:
        print("failed\n" + "\n".join(log.read_text(encoding="utf-8").splitlines()[-15:]))
        done.check_returncode()


if __name__ == "__main__":
    sys.exit(main())
