"""A random two-layer Llama with SmolLM2's real tokenizer: the student's shape at no cost."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adamroute.routing.backbone import PACKAGED, load_backbone

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY = 49152


@cache
def smollm2_tokenizer() -> Tokenizer:
    """The packaged tokenizer."""
    return load_backbone(PACKAGED, 2).tokenizer


def write_tiny_llama(folder: Path, *, layers: int = 2, seed: int = 0) -> Path:
    """A checkpoint folder as `backbone` may name it: model, config and tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=smollm2_tokenizer(), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():  # at .02 no logit of 32 dimensions outweighs 49,151 others
        model.model.embed_tokens.weight *= 25.0
    model.save_pretrained(folder)
    return folder
