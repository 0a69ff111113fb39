"""What a model's name stands for just now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adamroute import stages
from adamroute.checkpoints import find_checkpoint, fingerprint


def checkpoint(folder: Path, weights: bytes = b"one") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_a_folder_is_its_name_and_its_content(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "model")
    first = fingerprint(str(folder))
    assert first == find_checkpoint(str(folder), allow_download=False, setting="x").name
    assert first.startswith("model@")
    checkpoint(folder, b"two")
    os.utime(folder / "model.safetensors", ns=(1, 1))  # whatever the clock's step
    assert fingerprint(str(folder)) != first


def test_files_that_did_not_change_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoint(tmp_path / "model")
    read: list[str] = []

    def noted(path: Path) -> str:
        read.append(path.name)
        return "hash"

    monkeypatch.setattr(stages, "file_hash", noted)
    assert fingerprint(str(folder)) == fingerprint(str(folder))
    assert read == ["config.json", "model.safetensors"]


def test_a_hub_id_is_the_commit_in_the_local_cache_or_the_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert fingerprint("acme/emb") == "acme/emb"
    commit = "0123456789abcdef" * 2 + "01234567"
    repository = tmp_path / "models--acme--emb"
    checkpoint(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    assert fingerprint("acme/emb") == "acme/emb@0123456789abcdef"


def test_a_folder_without_weights_and_a_name_of_no_form_are_names(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path)) == str(tmp_path)
    assert fingerprint("smollm2") == "smollm2"
    assert fingerprint("a/b/c") == "a/b/c"
