"""A small byte-level BPE with Qwen3's special tokens and a ChatML template.

Trained on the text below in 20 ms, with the same bytes each time. Any text can be encoded, except
control characters other than the newline; each digit is one token.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VOCABULARY = 640  # at most: the text below yields about 510
PAD, EOS = "<|endoftext|>", "<|im_end|>"
SPECIAL = (
    PAD,
    "<|im_start|>",
    EOS,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
THINKING = ("<think>", "</think>")  # single tokens, yet part of the text, as in Qwen3
TEMPLATE = (Path(__file__).parent / "chatml.j2").read_text(encoding="utf-8")
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
TEXT = (
    "A round lime green rug of soft wool, low pile, 160 cm wide.",
    "The oak table seats six people; its natural wood is oiled and easy to clean.",
    "Please rate how well each item fits the request, from 1 to 5, and answer in JSON.",
    "The shopper strongly prefers matte black metal and dislikes glossy plastic.",
    '{"alpha": 0.4, "budget": 80, "strong_pref": ["linen"], "nice_to_have": [], "dislike": []}',
    '{"theta": {"alpha": 0.7, "K": 120}, "queries": ["blue lamp for a desk", "warm light"]}',
    "You are a shopping assistant. The user searched for a lamp and bought a chair.",
    "Query: a blue desk lamp. Item: lamp, steel, blue, 40 cm. Level:",
    "Bins A B C D E F G H I J K L M N O P Q R S",  # each a token of its own, as the student needs
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer as transformers wraps it, with its chat template."""
    from transformers import PreTrainedTokenizerFast

    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=_trained(),
        eos_token=EOS,
        pad_token=PAD,
        additional_special_tokens=[token for token in SPECIAL if token not in (PAD, EOS)],
        model_max_length=16384,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = TEMPLATE
    return wrapped


def closing_with_pad(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The same tokenizer, which ends each text in <|endoftext|> as Qwen3-Embedding's does."""
    from tokenizers.processors import TemplateProcessing

    place = tokenizer.convert_tokens_to_ids(PAD)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"$A {PAD}", pair=f"$A $B {PAD}", special_tokens=[(PAD, place)]
    )
    return tokenizer


def _trained() -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    splitters: list[Any] = [
        pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=_alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, special=False) for token in THINKING])
    return tokenizer


def _alphabet() -> list[str]:
    """Every byte in its byte-level spelling, without the control characters but the newline.

    A random model would write them, and xgrammar lets them into strings that have a maxLength,
    where JSON forbids them. Bytes without a glyph are spelled from U+0100 on, in order.
    """
    from tokenizers import pre_tokenizers

    control = {chr(0x100 + byte) for byte in range(0x20)} - {chr(0x100 + ord("\n"))}
    return sorted(set(pre_tokenizers.ByteLevel.alphabet()) - control)
