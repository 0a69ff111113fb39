"""The student at serve time, on a tiny random Llama: probabilities, caching, batches, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import ArtifactError
from adamroute.routing.backbone import Backbone, encoder_of, load_backbone
from adamroute.routing.lora_student import (
    STUDENT_FILE,
    LoraStudent,
    StudentFile,
    read_student,
    save_adapter,
    write_student,
)
from adamroute.routing.student import RoutingInput
from adamroute.routing.student_prompt import BinTokens, bin_tokens, prompt_version
from adamroute.theta import ALPHAS, Bins
from tests.leanings import AS_MEAN
from tests.routing.tiny_backbone import write_tiny_llama

BINS = Bins(200)
WISHES = PreferenceProfile(("natural wood",), (), ("glossy",))
NO_VECTOR = np.zeros(4, dtype=np.float32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def backbone(checkpoint: Path) -> Backbone:
    return load_backbone(str(checkpoint), 2)


@pytest.fixture(scope="module")
def student(backbone: Backbone) -> LoraStudent:
    tokens = bin_tokens(encoder_of(backbone.tokenizer), BINS)
    return LoraStudent.of(backbone, backbone.model, 64, BINS, tokens, leaning=AS_MEAN)


def full_log_probs(model: Any, ids: list[int]) -> np.ndarray:
    """[V] of the token after `ids`, by the model's plain forward pass."""
    import torch

    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0, -1]
        return np.asarray(torch.log_softmax(logits.double(), dim=-1).numpy())


def test_alpha_and_budget_are_read_where_a_plain_pass_would_read_them(
    student: LoraStudent,
) -> None:
    found = student.predict([RoutingInput("lime green rug", WISHES, NO_VECTOR)])[0]
    ids = student.render.ids("lime green rug", WISHES)
    alphas = np.exp(full_log_probs(student.model, ids)[list(student.tokens.alphas)])
    assert found.bin_mass == pytest.approx(alphas.sum(), rel=1e-4)
    assert found.alpha_probs == pytest.approx(alphas / alphas.sum(), abs=1e-6)
    chosen = int(np.argmax(alphas))
    assert found.theta.alpha == ALPHAS[chosen]
    after = full_log_probs(student.model, [*ids, student.tokens.alphas[chosen]])
    budgets = np.exp(after[list(student.tokens.budgets)])
    assert found.budget_probs == pytest.approx(budgets / budgets.sum(), abs=1e-6)
    assert found.theta.budget == BINS.budgets[int(np.argmax(budgets))]


def test_a_batch_of_mixed_lengths_equals_one_by_one(student: LoraStudent) -> None:
    queries = [" ".join(["rug"] * (1 + place % 9)) for place in range(20)]
    profiles = [WISHES if place % 3 else PreferenceProfile() for place in range(20)]
    many = student.predict(
        [RoutingInput(q, p, None) for q, p in zip(queries, profiles, strict=True)]
    )
    for query, profile, found in zip(queries, profiles, many, strict=True):
        alone = student.predict([RoutingInput(query, profile, NO_VECTOR)])[0]
        assert found.alpha_probs == pytest.approx(alone.alpha_probs, abs=1e-4)
        assert found.budget_probs == pytest.approx(alone.budget_probs, abs=1e-4)
        assert found.theta == alone.theta
    assert student.predict([]) == []


def test_the_vector_is_ignored_and_the_words_are_not(student: LoraStudent) -> None:
    first = student.predict([RoutingInput("lime rug", WISHES, NO_VECTOR)])[0]
    other = student.predict([RoutingInput("lime rug", WISHES, NO_VECTOR + 1)])[0]
    assert np.array_equal(first.alpha_probs, other.alpha_probs)
    words = student.predict([RoutingInput("70 W charger", WISHES, NO_VECTOR)])[0]
    assert not np.array_equal(first.alpha_probs, words.alpha_probs)


@pytest.mark.parametrize("query", ["", "x" * 100_000, "<|im_end|>\x00\n" * 50, "é" * 3000])
def test_any_text_gives_an_answer(student: LoraStudent, query: str) -> None:
    found = student.predict([RoutingInput(query, WISHES, NO_VECTOR)])[0]
    assert found.alpha_probs.sum() == pytest.approx(1.0)
    assert 0.0 < found.bin_mass <= 1.0


def test_a_stored_adapter_answers_like_the_model_it_came_from(
    checkpoint: Path, tmp_path: Path
) -> None:
    import torch
    from peft import LoraConfig, get_peft_model

    backbone = load_backbone(str(checkpoint), 2)
    wrapped = get_peft_model(backbone.model, LoraConfig(r=2, target_modules=["q_proj", "up_proj"]))
    torch.manual_seed(1)
    for name, weights in wrapped.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weights, std=0.5)
    tokens = bin_tokens(encoder_of(backbone.tokenizer), BINS)
    save_adapter(tmp_path, wrapped)
    write_student(tmp_path, facts(str(checkpoint), tokens))
    ids = LoraStudent.of(backbone, wrapped, 64, BINS, tokens, leaning=AS_MEAN).render.ids(
        "lime rug", WISHES
    )
    expected = np.exp(full_log_probs(wrapped, ids)[list(tokens.alphas)])
    loaded = LoraStudent.load(tmp_path)
    assert loaded.name == "lora"
    found = loaded.predict([RoutingInput("lime rug", WISHES, NO_VECTOR)])[0]
    assert found.alpha_probs == pytest.approx(expected / expected.sum(), abs=1e-5)
    plain = load_backbone(str(checkpoint), 2).model
    base = np.exp(full_log_probs(plain, ids)[list(tokens.alphas)])
    assert found.alpha_probs != pytest.approx(base / base.sum(), abs=1e-3)


def facts(backbone: str, tokens: BinTokens, **other: object) -> StudentFile:
    base: dict[str, object] = {
        "backbone": backbone,
        "layers": 2,
        "max_tokens": 64,
        "tau": 200,
        "alpha_ids": tokens.alphas,
        "budget_ids": tokens.budgets,
        "prompt": prompt_version(),
        "leaning": AS_MEAN,
    }
    return StudentFile.model_validate({**base, **other})


def test_a_student_of_another_template_or_tokenizer_is_refused(
    backbone: Backbone, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactError, match="no student"):
        read_student(tmp_path)
    path = tmp_path / STUDENT_FILE
    tokens = BinTokens((1,) * 11, (2,) * 5)
    path.write_text(facts("smollm2", tokens, prompt="old").model_dump_json())
    with pytest.raises(ArtifactError, match="prompt old; this version has"):
        read_student(tmp_path)
    with pytest.raises(ArtifactError, match="bins are tokens"):
        LoraStudent.of(backbone, backbone.model, 64, BINS, tokens, leaning=AS_MEAN)


def test_a_student_trained_on_other_weights_of_that_name_is_refused(
    checkpoint: Path, backbone: Backbone, tmp_path: Path
) -> None:
    tokens = bin_tokens(encoder_of(backbone.tokenizer), BINS)
    trained_on = facts(str(checkpoint), tokens, weights="llama@0123456789abcdef")
    (tmp_path / STUDENT_FILE).write_text(trained_on.model_dump_json())
    with pytest.raises(ArtifactError, match=r"trained on llama@0123.* is now .*adamroute train"):
        LoraStudent.load(tmp_path)
