"""Fixtures that several rooms share: the project's root, and one small run of every stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from adamroute.config import Config
from adamroute.process import prepare_process
from adamroute.progress import SILENT
from adamroute.stages import keep_config
from tests.postgres import Postgres, running_postgres

settings.register_profile("house", deadline=None)  # no test asserts on the wall clock
settings.load_profile("house")

ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = ROOT.parent / "shared" / "data"


def pytest_configure() -> None:
    """Threads as a command's, before anything brings torch."""
    prepare_process(2)


def tiny_config(folder: Path) -> Config:
    """A 120-item demo shop and every stage at the smallest size that still means something."""
    return Config.model_validate(
        {
            "name": "tiny",
            "shop": folder / "shop",
            "out": folder / "run",
            "demo": {"items": 120, "users": 30, "queries": 120, "seed": 3},
            "routing": {"tau": 80, "mean_budget": 40},
            "encoders": {"align": {"seeds": 1, "epochs": 4, "hidden": 32, "dimensions": 16}},
            "labels": {"synthetic_requests": 60},
            "student": {"kind": "lora", "layers": 2, "steps": 6},
            "serve": {"port": 0},
        }
    )


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The config of a finished run: shop generated, every stage really run (about 40 s)."""
    from adamroute.datasets.demo import generate_demo_shop
    from adamroute.distill.labels.label import run_label
    from adamroute.indexing.build import run_build
    from adamroute.training.calibrate import run_calibrate
    from adamroute.training.reranker_fit import run_reranker
    from adamroute.training.train import run_train

    config = tiny_config(tmp_path_factory.mktemp("tiny"))
    assert config.demo is not None
    generate_demo_shop(config.shop, **config.demo.model_dump())
    for stage in (run_build, run_label, run_train, run_reranker, run_calibrate):
        stage(config, SILENT)
    keep_config(config)
    return config


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real shops beside the checkout; the test is skipped where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip("no real data beside this checkout")
    return REAL_DATA


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL (2 s to make); the test is skipped where none is installed."""
    with running_postgres() as server:
        yield server
