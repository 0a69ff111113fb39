"""The level reader written out over transformers: one prompt a forward pass, no cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adamroute.reranking.llm_grades import GradePrompts, LogProbs
from adamroute.reranking.vllm_grades import grade_tokens, prompt_tokens


class PlainLevels:
    """GradeReader that remembers what it was asked."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self._levels = grade_tokens(self.tokenizer, folder.name)
        self.lists: list[tuple[str, ...]] = []  # items of every call

    @property
    def name(self) -> str:
        return "plain"

    def log_probs(self, asked: GradePrompts) -> LogProbs:
        import torch

        self.lists.append(asked.items)
        rows = []
        for ids in prompt_tokens(self.tokenizer, asked):
            with torch.inference_mode():
                logits = self._model(torch.tensor([ids])).logits[0, -1]
            rows.append(torch.log_softmax(logits, dim=-1)[list(self._levels)].numpy())
        return np.stack(rows).astype(np.float64)
