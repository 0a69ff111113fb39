"""Any causal language model by folder or hub id: cut, checked, and named when it won't do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adamroute.datasets.tiny_models.writers import write_qwen3
from adamroute.errors import ModelError
from adamroute.routing.backbone import encoder_of, load_backbone
from adamroute.routing.student_prompt import bin_tokens
from adamroute.theta import Bins
from tests.routing.tiny_backbone import smollm2_tokenizer, write_tiny_llama


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
    with pytest.raises(ModelError, match=r"holds no .*safetensors"):
        load_backbone(str(tmp_path), 1)


def test_the_projects_tiny_qwen3_spells_every_bin_with_one_token(tmp_path: Path) -> None:
    backbone = load_backbone(str(write_qwen3(tmp_path)), 2)
    tokens = bin_tokens(encoder_of(backbone.tokenizer), Bins(1000))
    assert len({*tokens.alphas, *tokens.budgets}) == 11 + 8


def test_other_weights_under_the_same_name_are_other_weights(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    first = load_backbone(str(write_qwen3(folder, seed=1)), 1).weights
    assert first.startswith("model@")
    assert load_backbone(str(write_qwen3(folder, seed=1)), 1).weights == first
    assert load_backbone(str(write_qwen3(folder, seed=2)), 1).weights != first


def test_a_hub_id_that_is_not_in_the_local_cache_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"student\.backbone: .*student\.allow_download: true"):
        load_backbone("adamroute/no-such-model", 1)


def saved(model: Any, folder: Path) -> str:
    from transformers import PreTrainedTokenizerFast

    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=smollm2_tokenizer(), eos_token="<|im_end|>"
    ).save_pretrained(folder)
    return str(folder)


SHAPE = {
    "vocab_size": 49152, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
}  # fmt: skip


def test_a_model_without_a_list_of_layers_is_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=49152, n_embd=32, n_layer=2, n_head=4))
    with pytest.raises(ModelError, match="GPT2LMHeadModel has no list `layers`"):
        load_backbone(saved(model, tmp_path), 1)


def test_a_model_that_caps_its_logits_is_refused(tmp_path: Path) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    model = Gemma2ForCausalLM(Gemma2Config(**SHAPE, final_logit_softcapping=0.01))
    with pytest.raises(ModelError, match="changes its logits after the head"):
        load_backbone(saved(model, tmp_path), 1)
