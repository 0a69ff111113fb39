"""Qwen3-VL-Embedding: items by photo and listing, queries by text alone, in one space.

Prompt, pooling and sizes are the published model's: an instruction as system message, photo then
text as the user's, the opening of the assistant's turn, and the state of the last token, brought
to unit length. Tokenizer and image processor are used apart, since the joint processor insists on
a video reader. Each photo costs about (side / 32)^2 tokens. The model is loaded at the first call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adamroute.catalogue.photo_decoding import open_photo
from adamroute.checkpoints import Checkpoint, device
from adamroute.encoders.seams import Vectors
from adamroute.errors import ModelError, PhotoDefectError

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

ITEM_INSTRUCTION = "Represent the user's input."  # both as published with the model
QUERY_INSTRUCTION = "Retrieve images or text relevant to the user's query."
NOTHING = "NULL"  # what the published model was given for an empty input
PHOTO = "<|image_pad|>"
MAX_CHARS = 8_000


@dataclass(frozen=True)
class Photographed:
    """What the model sees of one item."""

    text: str
    photo: Path | None


@dataclass(frozen=True)
class ItemVectors:
    """Vectors of items, and whose photo could not be read."""

    vectors: Vectors  # [B, D]
    unreadable: tuple[int, ...]  # places whose vector is of the text alone, against the shop


class Qwen3VLEncoder:
    """MultimodalEncoder whose item side is the same model."""

    def __init__(self, checkpoint: Checkpoint, *, dtype: str, batch: int) -> None:
        self._checkpoint = checkpoint
        self._dtype, self._batch = dtype, batch

    @property
    def name(self) -> str:
        return f"{self._checkpoint.name}/{self._dtype}"

    @cached_property
    def dimensions(self) -> int:
        """Width of the language part, read from config.json."""
        path = self._checkpoint.folder / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            return int(config["text_config"]["hidden_size"])
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"{path}: {error!r}; not the config of a Qwen3-VL model") from error

    def encode_queries(
        self,
        texts: Sequence[str],
        text_vectors: Vectors,  # noqa: ARG002 - the seam's; this model reads the words itself
    ) -> Vectors:
        """[B, D] float32 of unit length, from the words alone."""
        return self._encode([_prompt(QUERY_INSTRUCTION, text) for text in texts], {})

    def encode_items(self, items: Sequence[Photographed]) -> ItemVectors:
        """Photo and listing; the listing alone where there is no photo or none readable."""
        photos = _shown(items)
        prompts = [
            _prompt(ITEM_INSTRUCTION, item.text, photo=row in photos)
            for row, item in enumerate(items)
        ]
        unreadable = [r for r, item in enumerate(items) if item.photo and r not in photos]
        return ItemVectors(self._encode(prompts, photos), tuple(unreadable))

    def _encode(self, prompts: Sequence[str], photos: dict[int, Image]) -> Vectors:
        vectors = np.zeros((len(prompts), self.dimensions), np.float32)
        # Alike lengths together: little padding, and photos beside photos.
        order = sorted(range(len(prompts)), key=lambda row: (row in photos, len(prompts[row])))
        for start in range(0, len(order), self._batch):
            rows = order[start : start + self._batch]
            shown = [photos[row] for row in rows if row in photos]
            vectors[rows] = self._model.forward([prompts[row] for row in rows], shown)
        return vectors

    @cached_property
    def _model(self) -> _Model:
        return _Model(self._checkpoint, self._dtype)


class _Model:
    """Weights, tokenizer and image processor."""

    def __init__(self, checkpoint: Checkpoint, dtype: str) -> None:
        from transformers import AutoImageProcessor, AutoTokenizer, Qwen3VLModel

        folder = checkpoint.folder
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._images = AutoImageProcessor.from_pretrained(
                folder, local_files_only=True, backend="pil"
            )
            model, report = Qwen3VLModel.from_pretrained(
                folder, dtype=dtype, local_files_only=True, output_loading_info=True
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"multimodal encoder {checkpoint.name}: {error}. "
                "Give encoders.multimodal_model a Qwen3-VL-Embedding checkpoint"
            ) from error
        if report["missing_keys"]:  # transformers would fill them with random numbers
            raise ModelError(
                f"multimodal encoder {checkpoint.name}: {len(report['missing_keys'])} weights are "
                f"missing, {sorted(report['missing_keys'])[0]} the first. Download it again"
            )
        self._model = model.to(device()).eval()

    def forward(self, prompts: Sequence[str], photos: Sequence[Image]) -> Vectors:
        """[B, D] of unit length. `photos` are those of the prompts with a marker, in order."""
        import torch

        seen: dict[str, Tensor] = {}
        if photos:
            seen = dict(self._images(images=list(photos), return_tensors="pt"))
            prompts = self._with_room(prompts, seen["image_grid_thw"])
        tokens = self._tokenizer(
            list(prompts), padding=True, padding_side="right", return_tensors="pt"
        )
        ids, mask = tokens["input_ids"], tokens["attention_mask"]
        kinds = (ids == self._tokenizer.convert_tokens_to_ids(PHOTO)).int()  # 1 where a photo is
        inputs = {"input_ids": ids, "attention_mask": mask, "mm_token_type_ids": kinds, **seen}
        with torch.inference_mode():
            inputs = {name: value.to(self._model.device) for name, value in inputs.items()}
            states = self._model(**inputs).last_hidden_state
            last = states[torch.arange(len(ids)), mask.sum(dim=1) - 1].float()
            unit: Vectors = torch.nn.functional.normalize(last).cpu().numpy()
        return unit

    def _with_room(self, prompts: Sequence[str], grids: Tensor) -> list[str]:
        """Each marker as often as its photo has tokens: patches after the 2 x 2 merge."""
        counts = (grids.prod(dim=1) // self._images.merge_size**2).tolist()
        places = iter(counts)
        return [
            prompt.replace(PHOTO, PHOTO * next(places)) if PHOTO in prompt else prompt
            for prompt in prompts
        ]


def _prompt(instruction: str, text: str, *, photo: bool = False) -> str:
    """One ChatML conversation; the text is data, so it can hold no marker."""
    shown = f"<|vision_start|>{PHOTO}<|vision_end|>" if photo else ""
    said = text.strip()[:MAX_CHARS].replace("<|", "< |")
    return (
        f"<|im_start|>system\n{instruction}<|im_end|>\n"
        f"<|im_start|>user\n{shown}{said or ('' if photo else NOTHING)}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def _shown(items: Sequence[Photographed]) -> dict[int, Image]:
    """Photos by place; the caller counts those that cannot be used."""
    photos = {}
    for row, item in enumerate(items):
        with suppress(PhotoDefectError):
            if item.photo is not None:
                photos[row] = open_photo(item.photo).image
    return photos
