"""Chat with vLLM in this process: all asks of a call run as one batch.

`ms` of a reply is the batch's time divided by its asks: what one ask cost, not how long it took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from adamroute.errors import ModelError
from adamroute.llm.chat import Ask, Form, Reply
from adamroute.llm.exchange import KEPT_ERROR, Cost, Message, failed, messages_of, reply_of
from adamroute.llm.vllm_engine import CALLS

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput, SamplingParams


class VllmChat:
    """Greedy replies constrained by JSON schema. One batch at a time."""

    def __init__(self, llm: LLM, model: str) -> None:
        self._llm = llm
        self._model = model

    @property
    def name(self) -> str:
        return f"vllm:{self._model}"

    def check(self) -> None:
        """Nothing to look at: an engine that loaded can chat."""

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        """One reply an ask; an ask that the engine refuses fails alone."""
        start = time.perf_counter()
        written: dict[int, list[Message]] = {}
        replies: dict[int, Reply[Form]] = {}
        for place, ask in enumerate(asks):
            try:
                written[place] = messages_of(ask)
            except ModelError as error:
                replies[place] = failed("engine_error", str(error), Cost())
        with CALLS:
            outputs = self._run([asks[p] for p in written], list(written.values()))
        ms = 1e3 * (time.perf_counter() - start) / max(len(written), 1)
        for place, output in zip(written, outputs, strict=True):
            replies[place] = _reply(output, asks[place], ms)
        return [replies[place] for place in range(len(asks))]

    def _run(
        self, asks: Sequence[Ask[Form]], messages: Sequence[list[Message]]
    ) -> list[RequestOutput | str]:
        """Outputs of a batch, or what went wrong; a batch that is refused is tried one by one."""
        if not asks:
            return []
        try:
            outputs = self._llm.chat(
                list(messages),
                [_sampling(ask) for ask in asks],
                use_tqdm=False,
                chat_template_kwargs={"enable_thinking": False},
            )
            if len(outputs) != len(asks):  # leftovers of a batch that broke: whose are they?
                raise RuntimeError(f"{len(outputs)} outputs of {len(asks)} asks")
            return cast("list[RequestOutput | str]", outputs)
        except Exception as error:  # too long a prompt, a schema or image the engine can't take
            if len(asks) == 1:
                return [f"{type(error).__name__}: {error}"[:KEPT_ERROR]]
        return [self._run([a], [m])[0] for a, m in zip(asks, messages, strict=True)]


def _sampling(ask: Ask[Form]) -> SamplingParams:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    shape = StructuredOutputsParams(json=ask.form.schema_sent())
    return SamplingParams(temperature=0.0, max_tokens=ask.max_tokens, structured_outputs=shape)


def _reply(output: RequestOutput | str, ask: Ask[Form], ms: float) -> Reply[Form]:
    if isinstance(output, str):
        return failed("engine_error", output, Cost(ms=ms))
    told = output.outputs[0]
    cost = Cost(len(output.prompt_token_ids or ()), len(told.token_ids), ms)
    return reply_of(told.text, ask.form, cost, truncated=told.finish_reason == "length")
