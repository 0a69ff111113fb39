"""What every text encoder promises, over MiniLM and a tiny Qwen3-Embedding."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adamroute.checkpoints import Checkpoint, find_checkpoint
from adamroute.datasets.tiny_models.writers import QUERY_PROMPT
from adamroute.encoders.minilm import MiniLM
from adamroute.encoders.qwen_text import Qwen3TextEncoder
from adamroute.encoders.seams import TextEncoder
from adamroute.errors import ModelError
from tests.encoders.tiny_qwen import text_checkpoint

TEXTS = [
    "red rug",
    "a",
    "An oak table that seats six people. " * 20,
    "?",
    "café <|im_end|> 70 W",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_checkpoint(tmp_path_factory.mktemp("qwen") / "tiny-embedding")


def qwen(folder: Path) -> Qwen3TextEncoder:
    return Qwen3TextEncoder(found(folder), dtype="float32", batch=3)


def found(folder: Path) -> Checkpoint:
    return find_checkpoint(str(folder), allow_download=False, setting="encoders.text_model")


@pytest.fixture(scope="module")
def encoders(folder: Path) -> dict[str, TextEncoder]:
    return {"minilm": MiniLM(), "qwen3": qwen(folder)}


@pytest.fixture(params=["minilm", "qwen3"])
def encoder(request: pytest.FixtureRequest, encoders: dict[str, TextEncoder]) -> TextEncoder:
    return encoders[str(request.param)]


def test_vectors_are_float32_of_unit_length(encoder: TextEncoder) -> None:
    for vectors in (encoder.encode(TEXTS), encoder.encode_items(TEXTS)):
        assert vectors.shape == (5, encoder.dimensions)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_text_has_one_vector_whatever_its_batch(encoder: TextEncoder) -> None:
    for encode in (encoder.encode, encoder.encode_items):
        alone = np.concatenate([encode([text]) for text in TEXTS])
        np.testing.assert_allclose(encode(TEXTS), alone, atol=1e-5)


def test_no_texts_give_no_vectors(encoder: TextEncoder) -> None:
    assert encoder.encode([]).shape == encoder.encode_items([]).shape == (0, encoder.dimensions)


def test_a_long_text_is_cut_and_not_refused(encoder: TextEncoder) -> None:
    assert np.isfinite(encoder.encode(["rug " * 25_000])).all()


def test_qwen_reads_a_query_after_its_instruction_and_a_listing_without(folder: Path) -> None:
    encoder = qwen(folder)
    queries, listings = encoder.encode(["red rug"]), encoder.encode_items(["red rug"])
    assert float((queries * listings).sum()) < 0.99
    np.testing.assert_allclose(
        queries, encoder.encode_items([f"{QUERY_PROMPT}red rug"]), atol=1e-6
    )


def test_qwen_equals_a_plain_forward_pass_of_transformers(folder: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    encoder = qwen(folder)
    for prompt, encode in ((QUERY_PROMPT, encoder.encode), ("", encoder.encode_items)):
        with torch.inference_mode():
            tokens = tokenizer(f"{prompt}a blue desk lamp", return_tensors="pt")
            last = model(**tokens).last_hidden_state[0, -1]
        wanted = (last / last.norm()).numpy()
        np.testing.assert_allclose(encode(["a blue desk lamp"])[0], wanted, atol=1e-5)


def test_markers_inside_a_listing_are_letters(folder: Path) -> None:
    encoder = qwen(folder)
    # As a marker the text would be another one than its letters typed with a space.
    tokens = encoder._model.tokenizer("x<|im_end|>y")["input_ids"]
    marker = encoder._model.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert marker not in tokens


def test_the_name_tells_the_weights_apart_and_holds_no_path(folder: Path, tmp_path: Path) -> None:
    other = text_checkpoint(tmp_path / "tiny-embedding", seed=1)
    names = {qwen(folder).name, qwen(other).name}
    assert len(names) == 2
    assert all(name.startswith("tiny-embedding@") for name in names)


def test_a_checkpoint_that_pools_otherwise_is_refused(tmp_path: Path) -> None:
    folder = text_checkpoint(tmp_path / "mean")
    pooling = {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    with pytest.raises(ModelError, match=r"pooling \['mean'\], wanted \['lasttoken'\]"):
        qwen(folder)


def test_a_checkpoint_without_a_query_prompt_is_refused(tmp_path: Path) -> None:
    folder = text_checkpoint(tmp_path / "mute")
    path = folder / "config_sentence_transformers.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "prompts": {}}), encoding="utf-8")
    with pytest.raises(ModelError, match="no prompt named 'query'"):
        qwen(folder)


def test_a_hub_id_that_is_not_here_is_never_downloaded_by_surprise() -> None:
    with pytest.raises(ModelError, match=r"hf download nobody/nothing.*allow_download: true"):
        find_checkpoint("nobody/nothing", allow_download=False, setting="encoders.text_model")


def test_a_folder_without_weights_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="holds no"):
        found(tmp_path)


def test_a_hub_id_in_the_local_cache_is_named_by_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    repository = tmp_path / "models--acme--emb"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    (repository / "snapshots" / commit).mkdir(parents=True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    known = find_checkpoint("acme/emb", allow_download=False, setting="encoders.text_model")
    assert known == Checkpoint(repository / "snapshots" / commit, "acme/emb@0123456789abcdef")
