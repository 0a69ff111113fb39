"""Tiny random checkpoints in the layout of the published Qwen3 embedding models."""

from __future__ import annotations

import json
from pathlib import Path

from adamroute.datasets.tiny_models.tokenizer import tiny_tokenizer
from adamroute.datasets.tiny_models.writers import write_qwen3_embedding

WIDTH = 64


def text_checkpoint(folder: Path, *, seed: int = 0) -> Path:
    """A Qwen3-Embedding folder, whose Transformer module is one of plain text as published.

    sentence-transformers 6 would give the tiny tokenizer's chat template to it when it saves.
    """
    write_qwen3_embedding(folder, seed=seed)
    settings = {"max_seq_length": 512, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def vl_checkpoint(folder: Path, *, seed: int = 0) -> Path:
    """A Qwen3-VL-Embedding folder: photos of up to 4 x 4 merged patches, no video reader."""
    import torch
    from transformers import (
        Qwen2VLImageProcessorPil,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
    )

    tokenizer = tiny_tokenizer()
    rope = {"rope_type": "default", "rope_theta": 5e5, "mrope_section": [8, 4, 4]}
    shared = {"hidden_size": WIDTH, "intermediate_size": 128, "initializer_range": 0.15}
    text = {
        "vocab_size": len(tokenizer), "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 4096,
        "rope_parameters": {**rope, "mrope_interleaved": True}, **shared,
    }  # fmt: skip
    vision = {
        "depth": 2, "num_heads": 2, "patch_size": 16, "out_hidden_size": WIDTH,
        "num_position_embeddings": 64, "deepstack_visual_indexes": [0], **shared,
    }  # fmt: skip
    names = {
        f"{kind}_token_id": tokenizer.convert_tokens_to_ids(token)
        for kind, token in (
            ("image", "<|image_pad|>"),
            ("video", "<|video_pad|>"),
            ("vision_start", "<|vision_start|>"),
            ("vision_end", "<|vision_end|>"),
        )
    }
    torch.manual_seed(seed)
    config = Qwen3VLConfig(text_config=text, vision_config=vision, **names)
    Qwen3VLForConditionalGeneration(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    Qwen2VLImageProcessorPil(
        size={"shortest_edge": 32 * 32, "longest_edge": 128 * 128},
        patch_size=16, merge_size=2, temporal_patch_size=2,
        image_mean=[0.5] * 3, image_std=[0.5] * 3,
    ).save_pretrained(folder)  # fmt: skip
    return folder
