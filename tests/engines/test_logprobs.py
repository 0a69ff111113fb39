"""The engine's log-probabilities of the five level tokens, beside those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.engines.pictures import plain_picture, with_picture

GRADES = "12345"
PROMPTS = (
    "Query: round lime green rug. Item: rug, wool, green. Level:",
    "Query: round lime green rug. Item: steel desk lamp, blue. Level:",
    "5",
)


def of_the_engine(answers: Any, level_ids: list[int]) -> NDArray[np.float64]:
    """[prompts, 5] log-probabilities out of vLLM's answers."""
    places = [answer.outputs[0].logprobs[0] for answer in answers]
    return np.array([[place[level].logprob for level in level_ids] for place in places])


def level_sampling(level_ids: list[int]) -> Any:
    """One token, and the exact log-probabilities of the levels whatever is sampled."""
    from vllm import SamplingParams

    return SamplingParams(max_tokens=1, temperature=0, logprob_token_ids=level_ids)


def test_level_log_probabilities_equal_those_of_transformers(
    qwen3_engine: Any, qwen3_folder: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(qwen3_folder)
    model = AutoModelForCausalLM.from_pretrained(qwen3_folder, dtype=torch.float32).eval()
    levels = [tokenizer.convert_tokens_to_ids(level) for level in GRADES]
    expected = []
    with torch.inference_mode():
        for prompt in PROMPTS:
            logits = model(torch.tensor([tokenizer.encode(prompt)])).logits[0, -1]
            expected.append(logits.log_softmax(-1)[levels].tolist())
    answers = qwen3_engine.generate(PROMPTS, level_sampling(levels), use_tqdm=False)
    found = of_the_engine(answers, levels)
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)
    assert abs(found[0] - found[1]).max() > 0.01  # the item was read


def test_log_probabilities_after_a_picture_equal_those_of_transformers(
    qwen3_vl_engine: Any, qwen3_vl_folder: Path
) -> None:
    import torch
    from transformers import AutoProcessor, Qwen3VLForConditionalGeneration

    processor = AutoProcessor.from_pretrained(qwen3_vl_folder)
    model = Qwen3VLForConditionalGeneration.from_pretrained(qwen3_vl_folder, dtype=torch.float32)
    levels = [processor.tokenizer.convert_tokens_to_ids(level) for level in GRADES]
    expected, chats = [], []
    for colour in ("red", "blue"):
        picture = {"type": "image", "image": plain_picture(colour)}
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": [picture, {"type": "text", "text": "Level?"}]}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            logits = model(**inputs).logits[0, -1]
        expected.append(logits.log_softmax(-1)[levels].tolist())
        chats.append(with_picture("Level?", colour))
    answers = qwen3_vl_engine.chat(chats, level_sampling(levels), use_tqdm=False)
    found = of_the_engine(answers, levels)
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)
    assert abs(found[0] - found[1]).max() > 0.01  # the picture was seen


@pytest.mark.parametrize("level", GRADES)
def test_each_level_is_one_token_of_the_tiny_tokenizer(level: str, qwen3_folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(qwen3_folder)
    assert len(tokenizer.encode(level)) == 1
    assert len(tokenizer.encode(f"Level: {level}{level}")) == len(tokenizer.encode("Level: ")) + 2
