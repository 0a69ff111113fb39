"""What the tiny checkpoints promise to the tests that use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adamroute.datasets.tiny_models import writers
from adamroute.datasets.tiny_models.tokenizer import tiny_tokenizer
from tests.engines.pictures import plain_picture, with_picture

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "A rug?"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "This?"}]},
]
SAID = (
    "<|im_start|>system\nBe brief.<|im_end|>\n"
    "<|im_start|>user\nA rug?<|im_end|>\n"
    "<|im_start|>assistant\nYes.<|im_end|>\n"  # earlier thoughts are dropped
    "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>This?<|im_end|>\n"
    "<|im_start|>assistant\n"
)


def test_the_chat_template_speaks_chatml_and_honours_enable_thinking() -> None:
    tokenizer = tiny_tokenizer()

    def said(**options: Any) -> str:
        text: str = tokenizer.apply_chat_template(
            CHAT, tokenize=False, add_generation_prompt=True, **options
        )
        return text

    assert said() == said(enable_thinking=True) == SAID
    assert said(enable_thinking=False) == SAID + "<think>\n\n</think>\n\n"


def test_any_text_survives_the_tokenizer_and_markers_are_single_tokens() -> None:
    tokenizer = tiny_tokenizer()
    text = "naïve 漢字 🛋 <think>a</think> 160 cm\n\n"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    for marker in ("<|im_start|>", "<|im_end|>", "<|image_pad|>", "<think>", "</think>"):
        assert len(tokenizer.encode(marker)) == 1


def test_the_tokenizer_has_no_control_character_but_the_newline() -> None:
    tokenizer = tiny_tokenizer()
    texts = {tokenizer.decode(place) for place in range(len(tokenizer))}
    assert {text for text in texts if any(letter < " " for letter in text)} == {"\n"}


def test_the_same_seed_writes_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    first = writers.write_qwen3(tmp_path / "first", seed=5)
    again = writers.write_qwen3(tmp_path / "again", seed=5)
    other = writers.write_qwen3(tmp_path / "other", seed=6)
    for file in sorted(first.iterdir()):
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name
    weights = "model.safetensors"
    assert (first / weights).read_bytes() != (other / weights).read_bytes()


def test_the_embedding_folder_pools_the_last_token_and_normalises(
    qwen3_embedding_folder: Path,
) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel, AutoTokenizer

    encoder = SentenceTransformer(str(qwen3_embedding_folder), device="cpu")
    prompt = encoder.prompts["query"]
    found = encoder.encode(["oak table", "a much longer query"], prompt_name="query")
    tokenizer = AutoTokenizer.from_pretrained(qwen3_embedding_folder)
    model = AutoModel.from_pretrained(qwen3_embedding_folder, dtype=torch.float32)
    ids = tokenizer.encode(prompt + "oak table")
    assert ids[-1] == tokenizer.convert_tokens_to_ids("<|endoftext|>")
    with torch.inference_mode():
        last = model(torch.tensor([ids])).last_hidden_state[0, -1].numpy()
    np.testing.assert_allclose(found[0], last / np.linalg.norm(last), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)


def test_the_vl_embedding_folder_takes_text_pictures_and_both(
    qwen3_vl_embedding_folder: Path,
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(qwen3_vl_embedding_folder), device="cpu")
    red, blue = (plain_picture(colour) for colour in ("red", "blue"))
    rows = [encoder.encode(x) for x in ("rug", red, blue, {"text": "rug", "image": red})]
    assert {row.shape for row in rows} == {(writers.HIDDEN,)}
    nearness = np.array(rows) @ np.array(rows).T
    np.testing.assert_allclose(np.diag(nearness), 1.0, atol=1e-5)
    assert nearness[np.triu_indices(4, 1)].max() < 0.9999  # no two alike


@pytest.mark.slow
def test_smollm2_as_a_folder_answers_as_the_packaged_file_does(smollm2_folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from adamroute.routing.backbone import load_backbone

    backbone = load_backbone("smollm2", 30)
    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    model = AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32)
    ids = tokenizer.encode("The capital of France is")
    assert ids == backbone.tokenizer.encode("The capital of France is").ids
    with torch.inference_mode():
        expected = backbone.model(torch.tensor([ids])).logits[0, -1]
        found = model(torch.tensor([ids])).logits[0, -1]
    assert torch.equal(found, expected)
    assert tokenizer.decode(int(found.argmax())) == " Paris"


def test_a_picture_goes_through_the_engine_into_schema_valid_json(qwen3_vl_engine: Any) -> None:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}, "visual": {"type": "boolean"}},
        "required": ["colour", "visual"],
        "additionalProperties": False,
    }
    sampling = SamplingParams(
        max_tokens=60, temperature=0, structured_outputs=StructuredOutputsParams(json=schema)
    )
    chat = with_picture("Colour?", "red")
    (answer,) = qwen3_vl_engine.chat([chat], sampling, use_tqdm=False)
    reply = json.loads(answer.outputs[0].text)
    assert reply.keys() == {"colour", "visual"}
    assert reply["colour"] in ("red", "blue")
