"""Weights & Biases around a training run: on disk by default, never a question at the terminal."""

from __future__ import annotations

import netrc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from adamroute.config import WandbConfig
from adamroute.errors import ConfigError

DEFAULT_SERVER = "https://api.wandb.ai"
START_S = 60  # how long an online run may take to reach its server


class Tracker(Protocol):
    """Where a run's numbers go."""

    @property
    def report_to(self) -> tuple[str, ...]:
        """For transformers' `report_to`: () or ("wandb",)."""
        ...

    def log(self, values: Mapping[str, float]) -> None:
        """Numbers beside those that the trainer logs itself."""
        ...

    def summarise(self, values: Mapping[str, JsonValue]) -> None:
        """Numbers of the run as a whole."""
        ...


class NoTracker:
    """`mode: disabled`."""

    report_to: tuple[str, ...] = ()

    def log(self, values: Mapping[str, float]) -> None: ...

    def summarise(self, values: Mapping[str, JsonValue]) -> None: ...


class WandbTracker:
    """One W&B run; the trainer's own callback finds it and logs into it."""

    report_to: tuple[str, ...] = ("wandb",)

    def __init__(self, run: Any) -> None:
        self._run = run

    def log(self, values: Mapping[str, float]) -> None:
        self._run.log(dict(values))

    def summarise(self, values: Mapping[str, JsonValue]) -> None:
        self._run.summary.update(dict(values))


def check_wandb(config: WandbConfig) -> None:
    """ConfigError where an online run has no key; called before anything expensive starts."""
    if config.mode == "online" and not _has_key():
        raise ConfigError(
            "wandb.mode: 'online' needs a key and none was found in WANDB_API_KEY or ~/.netrc. "
            "Set one, or use mode: offline (files that `wandb sync` uploads later) or disabled"
        )


@contextmanager
def tracked(
    config: WandbConfig, folder: Path, name: str, facts: Mapping[str, JsonValue]
) -> Iterator[Tracker]:
    """A tracker for one run; the run is finished however the block ends.

    `facts` become the run's config. Files lie in `folder`/wandb.
    """
    check_wandb(config)
    if config.mode == "disabled":
        yield NoTracker()
        return
    run = _start(config, folder, name, facts)
    failed = True
    try:
        yield WandbTracker(run)
        failed = False
    finally:
        run.finish(exit_code=1 if failed else 0)


def _start(config: WandbConfig, folder: Path, name: str, facts: Mapping[str, JsonValue]) -> Any:
    import wandb

    folder.mkdir(parents=True, exist_ok=True)
    settings = wandb.Settings(
        console="off",  # the terminal belongs to our progress bars
        silent=True,
        disable_git=True,
        disable_code=True,
        x_disable_stats=True,
        x_disable_meta=True,  # host, user and paths stay here
        init_timeout=START_S,
    )
    try:
        return wandb.init(
            project=config.project,
            name=name,
            dir=str(folder),
            mode=config.mode,
            config=dict(facts),
            settings=settings,
        )
    except wandb.errors.Error as error:
        raise ConfigError(
            f"wandb: a run in mode '{config.mode}' could not start ({error}). "
            "Use wandb.mode: offline, and `wandb sync` later"
        ) from error


def _has_key() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", DEFAULT_SERVER)).hostname or ""
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
