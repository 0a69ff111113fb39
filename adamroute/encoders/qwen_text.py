"""Qwen3-Embedding, the text encoder of the production column, through sentence-transformers.

Queries carry the instruction that the checkpoint stores under the prompt name "query", listings
carry none; the last token's state, brought to unit length, is the vector. In float32 a text's
vector moves by about 1e-6 with its batch; in bfloat16 by about 1e-2, hence the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adamroute.checkpoints import Checkpoint, device
from adamroute.encoders.seams import Vectors
from adamroute.errors import ModelError

QUERY_PROMPT = "query"
POOLING = "lasttoken"
MAX_CHARS = 8_000  # about 2,000 tokens of prose; the model itself would read 32,000


class Qwen3TextEncoder:
    """TextEncoder over a sentence-transformers folder of the Qwen3-Embedding kind."""

    def __init__(self, checkpoint: Checkpoint, *, dtype: str, batch: int) -> None:
        self._name = f"{checkpoint.name}/{dtype}"
        self._batch = batch
        self._model = _load(checkpoint, dtype)
        self._dimensions = int(self._model.get_embedding_dimension())

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[B, D] float32 of unit length, each text after the query instruction."""
        return self._encode(texts, QUERY_PROMPT)

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """[B, D] float32 of unit length, the texts as they are."""
        return self._encode(texts, None)

    def _encode(self, texts: Sequence[str], prompt_name: str | None) -> Vectors:
        vectors = self._model.encode(
            [text[:MAX_CHARS] for text in texts],
            prompt_name=prompt_name,
            batch_size=self._batch,
            show_progress_bar=False,
            convert_to_tensor=True,
            normalize_embeddings=True,
        )
        unit: Vectors = vectors.float().cpu().numpy().reshape(len(texts), self._dimensions)
        return np.ascontiguousarray(unit)


def _load(checkpoint: Checkpoint, dtype: str) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(
            str(checkpoint.folder),
            device=device(),
            local_files_only=True,
            model_kwargs={"dtype": dtype},
            # A listing that says "<|im_end|>" means its letters.
            processor_kwargs={"split_special_tokens": True},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"text encoder {checkpoint.name}: {error}. "
            "Give encoders.text_model a sentence-transformers checkpoint of Qwen3-Embedding"
        ) from error
    _check(model, checkpoint.name)
    return model


def _check(model: Any, name: str) -> None:
    """ModelError where the folder's modules or prompts are of another kind of model."""
    # Without modules.json sentence-transformers takes the mean, and the vectors are worthless.
    found = [part.pooling_mode for part in model if "pooling_mode" in vars(part)]
    if found != [POOLING]:
        raise ModelError(
            f"text encoder {name}: pooling {found}, wanted ['{POOLING}']. "
            "Is modules.json missing, or is it not a Qwen3-Embedding checkpoint?"
        )
    if not model.prompts.get(QUERY_PROMPT):
        raise ModelError(
            f"text encoder {name}: no prompt named '{QUERY_PROMPT}' in "
            "config_sentence_transformers.json, so queries would be read as listings"
        )
