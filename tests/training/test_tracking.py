"""W&B runs: real offline files, no questions, and a clear error where a key is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.config import WandbConfig
from adamroute.errors import ConfigError
from adamroute.training.tracking import check_wandb, tracked

OFFLINE = WandbConfig(mode="offline", project="adamroute-test")


@pytest.fixture(autouse=True)
def without_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_an_online_run_without_a_key_is_refused_before_anything_starts(tmp_path: Path) -> None:
    online = WandbConfig(mode="online")
    with pytest.raises(ConfigError, match=r"wandb\.mode: 'online' needs a key"):
        check_wandb(online)
    with pytest.raises(ConfigError), tracked(online, tmp_path, "run", {}):
        raise AssertionError("never entered")
    assert not list(tmp_path.iterdir())


def test_a_key_in_the_environment_or_in_netrc_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine api.wandb.ai login user password secret\n")
    (home / ".netrc").chmod(0o600)
    check_wandb(WandbConfig(mode="online"))
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    with pytest.raises(ConfigError):
        check_wandb(WandbConfig(mode="online"))
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    check_wandb(WandbConfig(mode="online"))


def test_disabled_writes_nothing(tmp_path: Path) -> None:
    with tracked(WandbConfig(mode="disabled"), tmp_path, "run", {}) as run:
        assert run.report_to == ()
        run.log({"loss": 1.0})
        run.summarise({"rows": 3})
    assert not list(tmp_path.iterdir())


def test_an_offline_run_keeps_its_numbers_and_its_config(tmp_path: Path) -> None:
    import wandb

    with tracked(OFFLINE, tmp_path, "lime", {"labels": "abc-manifest"}) as run:
        assert run.report_to == ("wandb",)
        run.log({"heldout/regret": 0.125})
        run.summarise({"heldout_rows": 3})
    wandb.teardown()  # its own process writes the file, and may lag until the program's end
    [stored] = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    content = stored.read_bytes()
    for word in (b"heldout/regret", b"0.125", b"abc-manifest", b"heldout_rows", b"adamroute-test"):
        assert word in content


def test_a_run_is_finished_when_training_fails(tmp_path: Path) -> None:
    import wandb

    with pytest.raises(ZeroDivisionError), tracked(OFFLINE, tmp_path, "lime", {}):
        raise ZeroDivisionError
    assert wandb.run is None
