"""Tiny checkpoints of the headline system's models, made here: random weights from a seed.

Each writer fills one folder that vLLM and transformers both read, in the file layout of the hub's
own. The weights are wide (std .15), so that the output depends on the whole prompt.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adamroute.datasets.tiny_models.tokenizer import EOS, PAD, closing_with_pad, tiny_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

HIDDEN, LAYERS, HEAD = 64, 2, 32
CONTEXT = 16384
SPREAD = 0.15  # std of every weight; at the usual .02 the last token alone decides the next
PATCH = 16
QUERY_PROMPT = "Instruct: Find the item that the shopper is looking for\nQuery:"


def write_qwen3(folder: Path, *, seed: int = 0) -> Path:
    """A Qwen3ForCausalLM of two layers, 0.2 million weights."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = tiny_tokenizer()
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(Qwen3Config(**_text_shape(tokenizer), tie_word_embeddings=False))
    return _save(folder, model, tokenizer)


def write_qwen3_embedding(folder: Path, *, seed: int = 0) -> Path:
    """A sentence-transformers folder: last token, normalised, with the prompt named "query"."""
    import torch
    from transformers import Qwen3Config, Qwen3Model

    tokenizer = closing_with_pad(tiny_tokenizer())
    torch.manual_seed(seed)
    _save(folder, Qwen3Model(Qwen3Config(**_text_shape(tokenizer))), tokenizer)
    # Else sentence-transformers wraps every text into a chat, which the real model never sees.
    reads = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    return _as_embedder(folder, modality_config=reads, module_output_name="token_embeddings")


def write_qwen3_vl(folder: Path, *, seed: int = 0) -> Path:
    """A Qwen3VLForConditionalGeneration with a vision tower of two blocks, and its processor."""
    import torch
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    tokenizer = tiny_tokenizer()
    torch.manual_seed(seed)
    model = Qwen3VLForConditionalGeneration(
        Qwen3VLConfig(
            text_config=_vl_text_shape(tokenizer),
            vision_config=_vision_shape(),
            image_token_id=_id(tokenizer, "<|image_pad|>"),
            video_token_id=_id(tokenizer, "<|video_pad|>"),
            vision_start_token_id=_id(tokenizer, "<|vision_start|>"),
            vision_end_token_id=_id(tokenizer, "<|vision_end|>"),
            tie_word_embeddings=False,
        )
    )
    pixels = {"shortest_edge": 32 * 32, "longest_edge": 128 * 128}
    patches: dict[str, Any] = {"patch_size": PATCH, "merge_size": 2, "temporal_patch_size": 2}
    half = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(size=pixels, **patches, **half),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(size=pixels, **patches, **half),
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
    return _save(folder, model, tokenizer)


def write_qwen3_vl_embedding(folder: Path, *, seed: int = 0) -> Path:
    """The VL checkpoint as a sentence-transformers folder that takes text, images or both."""
    chat = {"chat_template": {"add_generation_prompt": True}}
    return _as_embedder(write_qwen3_vl(folder, seed=seed), processing_kwargs=chat)


def write_smollm2(folder: Path) -> Path:
    """The packaged SmolLM2-135M-Instruct, dequantised to float32: 540 MB, all 30 layers."""
    from adamroute.routing.smollm import LAYERS, convert, weights_file

    convert(weights_file(), folder, LAYERS)
    return folder


# Of the seeds 0 to 7 the one whose Qwen3 calls most of a shopper's history relevant, so that the
# teacher's loop goes on to its end.
SERVED_SEED = 5
WRITERS = {  # by folder name, as configs/qwen3-tiny.yaml has them
    "qwen3": write_qwen3,
    "qwen3_vl": write_qwen3_vl,
    "qwen3_embedding": write_qwen3_embedding,
    "qwen3_vl_embedding": write_qwen3_vl_embedding,
}


def _save(folder: Path, model: Any, tokenizer: PreTrainedTokenizerFast) -> Path:
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _as_embedder(folder: Path, **reading: Any) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    body = Transformer(str(folder), **reading)
    pooling = Pooling(HIDDEN, pooling_mode="lasttoken")
    prompts = {"query": QUERY_PROMPT, "document": ""}
    SentenceTransformer(
        modules=[body, pooling, Normalize()], prompts=prompts, device="cpu"
    ).save_pretrained(str(folder), create_model_card=False)
    return folder


def _id(tokenizer: PreTrainedTokenizerFast, token: str) -> int:
    return int(tokenizer.convert_tokens_to_ids(token))


def _text_shape(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": HEAD,
        "max_position_embeddings": CONTEXT,
        "initializer_range": SPREAD,
        "bos_token_id": _id(tokenizer, PAD),
        "eos_token_id": _id(tokenizer, EOS),
        "pad_token_id": _id(tokenizer, PAD),
    }


def _vl_text_shape(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    sections = {"mrope_section": [8, 4, 4], "mrope_interleaved": True}  # halves of HEAD
    rope = {"rope_type": "default", "rope_theta": 500_000.0, **sections}
    return {**_text_shape(tokenizer), "rope_parameters": rope}


def _vision_shape() -> dict[str, Any]:
    return {
        "depth": 2,
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_heads": 2,
        "patch_size": PATCH,
        "out_hidden_size": HIDDEN,
        "num_position_embeddings": 64,  # a grid of 8 x 8, interpolated
        "deepstack_visual_indexes": [0],
        "initializer_range": SPREAD,
    }
