"""The LLM re-ranker's reader on vLLM: exact log-probabilities of five tokens, one list a call.

One token is asked for, greedily, so a candidate costs one prefill of its own last line; the lines
before it come from the prefix cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adamroute.errors import EngineError
from adamroute.llm.vllm_engine import CALLS
from adamroute.reranking.llm_grades import ITEM_MARK, PREFIX, GradePrompts, LogProbs
from adamroute.reranking.reranker import GRADES

if TYPE_CHECKING:
    from vllm import LLM


class VllmGrades:
    """GradeReader over a loaded engine; see vllm_engine.load_engine."""

    def __init__(self, llm: LLM, model: str) -> None:
        self._llm = llm
        self._tokenizer: Any = llm.get_tokenizer()
        self._levels = grade_tokens(self._tokenizer, model)
        self._name = f"vllm:{model}/{llm.model_config.dtype}"

    @property
    def name(self) -> str:
        return self._name

    def log_probs(self, asked: GradePrompts) -> LogProbs:
        """[K, 5]. EngineError where vLLM refuses the list, as for a prompt that is too long."""
        from vllm import SamplingParams

        sampling = SamplingParams(
            max_tokens=1, temperature=0.0, logprob_token_ids=list(self._levels)
        )
        prompts = [{"prompt_token_ids": ids} for ids in prompt_tokens(self._tokenizer, asked)]
        try:
            with CALLS:
                outputs: Any = self._llm.generate(prompts, sampling, use_tqdm=False)
        except Exception as error:  # vLLM and torch each raise their own
            raise EngineError(
                f"re-ranker {self._name}: {error}. Is reranker.llm.vllm.max_model_len too small?"
            ) from error
        if len(outputs) != len(prompts):
            raise EngineError(f"re-ranker {self._name}: {len(outputs)} replies of {len(prompts)}")
        rows = [output.outputs[0].logprobs[0] for output in outputs]
        return np.array([[row[token].logprob for token in self._levels] for row in rows])


def grade_tokens(tokenizer: Any, model: str) -> tuple[int, ...]:
    """Ids of the tokens "1" to "5" as they come after PREFIX.

    EngineError where a tokenizer writes one of them as several tokens, or merges it with PREFIX.
    """
    before = tokenizer.encode(PREFIX, add_special_tokens=False)
    found = []
    for level in GRADES:
        ids = tokenizer.encode(f"{PREFIX}{level}", add_special_tokens=False)
        if ids[:-1] != before:
            raise EngineError(
                f"re-ranker {model}: its tokenizer reads '{PREFIX}{level}' as {ids}, wanted "
                f"{before} and one token more. Use a model that keeps digits apart, as Qwen3 does"
            )
        found.append(ids[-1])
    return tuple(found)


def prompt_tokens(tokenizer: Any, asked: GradePrompts) -> list[list[int]]:
    """Token ids of every conversation, up to where the level's digit comes; thinking is off."""
    text: str = tokenizer.apply_chat_template(
        [
            {"role": "system", "content": asked.system},
            {"role": "user", "content": f"{asked.head}{ITEM_MARK}{asked.tail}"},
        ],
        tokenize=False,
        add_generation_prompt=True,
        enable_thinking=False,
    )
    before, _, after = text.rpartition(ITEM_MARK)
    # What is shared is read once, up to its last line break: no token of Qwen3 or SmolLM2
    # reaches over that. 200 prompts of 300 tokens: 440 ms whole, 45 ms so.
    shared, line_break, begun = before.rpartition("\n")
    lines = [f"{begun}{item}{after}{PREFIX}" for item in asked.items]
    head: list[int] = tokenizer.encode(f"{shared}{line_break}", add_special_tokens=False)
    ends: list[list[int]] = (
        tokenizer(lines, add_special_tokens=False)["input_ids"] if lines else []
    )
    return [head + end for end in ends]
