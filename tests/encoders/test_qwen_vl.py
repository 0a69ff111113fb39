"""Qwen3-VL-Embedding over a tiny checkpoint: prompt, pooling, photos, and what has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from adamroute.checkpoints import find_checkpoint
from adamroute.encoders.qwen_vl import ITEM_INSTRUCTION, Photographed, Qwen3VLEncoder
from adamroute.errors import ModelError
from tests.catalogue.pictures import red_above_blue, saved, turned
from tests.encoders.tiny_qwen import WIDTH, vl_checkpoint

NO_VECTORS = np.zeros((1, 4), np.float32)  # E_txt of the queries, which this model doesn't read


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vl_checkpoint(tmp_path_factory.mktemp("qwen") / "tiny-vl")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Qwen3VLEncoder:
    return load(folder)


def load(folder: Path) -> Qwen3VLEncoder:
    found = find_checkpoint(str(folder), allow_download=False, setting="encoders.multimodal_model")
    return Qwen3VLEncoder(found, dtype="float32", batch=2)


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("photos") / "red.png"
    Image.new("RGB", (100, 60), "red").save(path)
    return path


@pytest.fixture(scope="module")
def items(red: Path) -> list[Photographed]:
    blue = red.with_name("blue.png")
    Image.new("RGBA", (50, 90), (0, 0, 255, 128)).save(blue)
    return [
        Photographed("red rug", red),
        Photographed("red rug", blue),
        Photographed("red rug", None),
        Photographed("", red),
        Photographed("a rug <|image_pad|> with a marker in its listing " * 3, blue),
    ]


def test_both_sides_are_unit_vectors_of_one_width(
    encoder: Qwen3VLEncoder, items: list[Photographed]
) -> None:
    found = encoder.encode_items(items)
    queries = encoder.encode_queries(["a red rug"], NO_VECTORS)
    assert found.vectors.shape == (5, WIDTH)
    assert queries.shape == (1, encoder.dimensions) == (1, WIDTH)
    for vectors in (found.vectors, queries):
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_an_item_has_one_vector_whatever_its_batch(
    encoder: Qwen3VLEncoder, items: list[Photographed]
) -> None:
    alone = np.concatenate([encoder.encode_items([item]).vectors for item in items])
    np.testing.assert_allclose(encoder.encode_items(items).vectors, alone, atol=1e-5)


def test_the_photo_and_the_listing_both_count(
    encoder: Qwen3VLEncoder, items: list[Photographed]
) -> None:
    vectors = encoder.encode_items(items).vectors
    similar = vectors @ vectors.T
    assert similar[0, 1] < 0.999  # another photo, the same listing
    assert similar[0, 3] < 0.999  # the same photo, another listing


def test_a_photo_that_cannot_be_read_is_named_and_the_listing_counts(
    encoder: Qwen3VLEncoder, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    found = encoder.encode_items([Photographed("red rug", None), Photographed("red rug", broken)])
    assert found.unreadable == (1,)
    np.testing.assert_allclose(found.vectors[0], found.vectors[1], atol=1e-6)


def test_a_photo_that_lies_on_its_side_is_seen_upright(
    encoder: Qwen3VLEncoder, tmp_path: Path
) -> None:
    standing = saved(tmp_path / "a.png", red_above_blue())
    on_its_side = red_above_blue().transpose(Image.Transpose.ROTATE_90)
    lying = saved(tmp_path / "b.png", on_its_side, **turned(6))
    found = encoder.encode_items([Photographed("rug", photo) for photo in (standing, lying)])
    np.testing.assert_allclose(found.vectors[0], found.vectors[1], atol=1e-5)


def test_it_equals_a_plain_forward_pass_over_the_chat_template(
    encoder: Qwen3VLEncoder, folder: Path, red: Path
) -> None:
    import torch
    from transformers import AutoTokenizer, Qwen2VLImageProcessorPil, Qwen3VLModel

    tokenizer = AutoTokenizer.from_pretrained(folder)
    photo = Qwen2VLImageProcessorPil.from_pretrained(folder)(
        images=[Image.open(red)], return_tensors="pt"
    )
    system = {"role": "system", "content": [{"type": "text", "text": ITEM_INSTRUCTION}]}
    shown = [{"type": "image"}, {"type": "text", "text": "red rug"}]
    prompt = tokenizer.apply_chat_template(
        [system, {"role": "user", "content": shown}], tokenize=False, add_generation_prompt=True
    )
    # 100 x 60 px become 96 x 64, that is 6 x 4 patches of 16 px, merged in fours.
    assert photo["image_grid_thw"].tolist() == [[1, 4, 6]]
    tokens = tokenizer(prompt.replace("<|image_pad|>", "<|image_pad|>" * 6), return_tensors="pt")
    kinds = (tokens["input_ids"] == tokenizer.convert_tokens_to_ids("<|image_pad|>")).int()
    with torch.inference_mode():
        model = Qwen3VLModel.from_pretrained(folder).eval()
        states = model(**tokens, **photo, mm_token_type_ids=kinds).last_hidden_state
    wanted = (states[0, -1] / states[0, -1].norm()).numpy()
    found = encoder.encode_items([Photographed("red rug", red)]).vectors[0]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_checkpoint_with_missing_weights_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = vl_checkpoint(tmp_path / "half")
    path = folder / "model.safetensors"
    kept = {k: v for k, v in load_file(path).items() if "visual.blocks.1" not in k}
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="weights are missing"):
        load(folder).encode_queries(["a rug"], NO_VECTORS)


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 8}', encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="not the config of a Qwen3-VL model"):
        load(tmp_path).encode_queries(["a rug"], NO_VECTORS)
