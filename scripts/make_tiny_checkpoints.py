"""Writes tiny random checkpoints of every model that configs/qwen3-tiny.yaml names (20 s, 10 MB).

    python scripts/make_tiny_checkpoints.py [--out runs/tiny-models]

They have the layout of Qwen3, Qwen3-VL and their embedding models, so that the real engines run on
any machine; what they say is noise. Qwen3-VL's processor needs torchvision, which an environment
with vLLM has (.venv-engines, made by make test-engines).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from adamroute.datasets.tiny_models.writers import SERVED_SEED, WRITERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/tiny-models"))
    parser.add_argument("--seed", type=int, default=SERVED_SEED, help="of all weights")
    options = parser.parse_args()
    for name, write in WRITERS.items():
        print(write(options.out / name, seed=options.seed), flush=True)


if __name__ == "__main__":
    main()
