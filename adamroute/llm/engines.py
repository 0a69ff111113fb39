"""The chat engine that a config names, made when it is first asked and checked before that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from adamroute.config import LlmConfig
from adamroute.llm.cached_chat import CachedChat
from adamroute.llm.chat import Ask, ChatEngine, Form, Reply


class LazyChat:
    """An engine that loads and is checked at the first ask, so that an unused one costs nothing.

    A check that failed is made again at the next ask: the server may be up by then.
    """

    def __init__(self, name: str, build: Callable[[], ChatEngine]) -> None:
        self._name = name
        self._build = build
        self._ready: ChatEngine | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        return self._name

    def check(self) -> None:
        """EngineError where the engine can't be used."""
        with self._lock:
            if self._ready is None:
                engine = self._build()
                engine.check()
                self._ready = engine

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        """EngineError where the engine can't be used at all."""
        if not asks:
            return []
        self.check()
        assert self._ready is not None
        return self._ready.chat(asks)


def chat_engine(config: LlmConfig, replies: Path | None = None) -> ChatEngine:
    """The engine of a config; with `replies`, a file where its good replies are kept."""
    engine = LazyChat(config.name, lambda: _built(config))
    if replies is None:
        return engine
    decoding = f"greedy, thinking {config.thinking}, dtype {config.vllm.dtype}"
    return CachedChat(engine, replies, decoding)


def _built(config: LlmConfig) -> ChatEngine:
    if config.engine == "openai":
        from adamroute.llm.openai_chat import OpenAIChat

        return OpenAIChat(config)
    from adamroute.llm.vllm_chat import VllmChat
    from adamroute.llm.vllm_engine import load_engine

    return VllmChat(load_engine(config.model, config.vllm), config.model)
