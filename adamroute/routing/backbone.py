"""The student's backbone: any causal language model, cut to its first layers.

`smollm2` is the one that comes as a package (smollm.py); anything else is a checkpoint, by folder
or by hub id. Its shape must be that of Llama, Qwen, Mistral and most others: a decoder with one
list of layers, whose last state the head turns into logits with nothing in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adamroute.checkpoints import find_checkpoint
from adamroute.errors import ModelError
from adamroute.routing import smollm
from adamroute.routing.student_prompt import Encode

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGED = "smollm2"
PROBE = (1, 2, 3)  # token ids to compare both ways to the logits with


@dataclass(frozen=True)
class Backbone:
    """A causal language model cut to its first layers, and its tokenizer."""

    name: str
    weights: str  # name and hash
    model: Any  # transformers.PreTrainedModel, float32, eval mode
    tokenizer: Tokenizer
    eos_id: int
    pad_id: int  # never eos
    context: int  # longest prompt the model was made for, tokens


def load_backbone(name: str, layers: int, *, allow_download: bool = False) -> Backbone:
    """`smollm2` from the installed package; anything else is a local folder or a hub id.

    ModelError where weights are missing, damaged, of another shape, or have fewer layers.
    """
    if name == PACKAGED:
        check_layers(name, layers, smollm.LAYERS)
        weights, folder = f"{PACKAGED}@{smollm.SHA256}", smollm.smollm2_folder(layers)
    else:
        found = find_checkpoint(name, allow_download=allow_download, setting="student.backbone")
        weights, folder = found.name, found.folder
    return _pretrained(name, weights, folder, layers)


def encoder_of(tokenizer: Tokenizer) -> Encode:
    """Plain text to ids. A user who writes "<|im_end|>" gets its letters, not the marker."""
    tokenizer.encode_special_tokens = True
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def check_layers(name: str, layers: int, present: int) -> None:
    """ModelError where the model has fewer layers than are to be kept."""
    if layers > present:
        raise ModelError(
            f"backbone '{name}': student.layers is {layers}, the model has {present}. "
            f"Set student.layers to at most {present}"
        )


def _pretrained(name: str, weights: str, folder: Path, layers: int) -> Backbone:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        wrapper = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"backbone '{name}': no causal language model with a tokenizer ({error}). "
            f"Give another, or use backbone: {PACKAGED}"
        ) from error
    _cut(name, model, layers)
    _check_head(name, model)
    eos = int(wrapper.eos_token_id)
    pad = wrapper.pad_token_id
    if pad is None or pad == eos:  # any other id will do: padded positions are never read
        pad = 0 if eos != 0 else 1
    context = int(model.config.max_position_embeddings)
    return Backbone(name, weights, model, wrapper.backend_tokenizer, eos, int(pad), context)


def _cut(name: str, model: Any, layers: int) -> None:
    """Keep the first layers; final norm and head stay."""
    decoder = model.get_decoder()
    present = getattr(decoder, "layers", None)
    if present is None:
        raise ModelError(
            f"backbone '{name}': {type(model).__name__} has no list `layers` to cut. "
            f"Use a model of the Llama, Qwen or Mistral families, or backbone: {PACKAGED}"
        )
    check_layers(name, layers, len(present))
    decoder.layers = present[:layers]
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None) is not None:
        model.config.layer_types = model.config.layer_types[:layers]


def _check_head(name: str, model: Any) -> None:
    """Some models scale or cap their logits, which reading the head by itself would miss."""
    import torch

    ids = torch.tensor([PROBE])
    with torch.inference_mode():
        whole = model(ids, use_cache=False).logits
        state = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
        apart = model.get_output_embeddings()(state)
    if not torch.allclose(whole, apart, rtol=1e-3, atol=1e-3):
        raise ModelError(
            f"backbone '{name}': {type(model).__name__} changes its logits after the head, which "
            f"the student doesn't read. Use another model, or backbone: {PACKAGED}"
        )
