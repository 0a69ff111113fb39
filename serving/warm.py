"""Parts of replicas as they are when they are ready: loaded, and asked once.

A language model's first call costs its set-up, so replicas that hold an engine have answered
before Serve sends them anything.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from adamroute.assembly import load_index, load_reranker, load_served_teacher
from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.config import Config
from adamroute.encoders.remembered import RememberedTexts
from adamroute.reranking.features import FEATURES, Case
from adamroute.reranking.reranker import Reranker
from adamroute.retrieval.dual import Candidates
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.constants import read_teacher_file
from adamroute.teacher.loop import Teacher

ENGINE_LOCK = "serve/engine.lock"  # below config.out
WARM_UP = "warm up"


def warm_index(config: Config) -> SearchIndex:
    """ConfigError where FAISS wants a GPU it lacks."""
    index = load_index(config.stage("index"), device=config.serve.retrieval_device)
    index.encode([WARM_UP])
    index.retriever.warm_up(read_teacher_file(config.stage("labels")).combine)
    _ = index.facts, index.traits, index.words  # or the first request would wait for them
    index.text_encoder = RememberedTexts(index.text_encoder)
    return index


def warm_reranker(config: Config) -> Reranker:
    """The run's; a language model has read one item."""
    if "reranker" not in config.served_engines:
        return load_reranker(config)
    with engine_alone(config):
        loaded = load_reranker(config)
        loaded.score(_one_item())
    return loaded


def warm_teacher(config: Config) -> Teacher:
    """The full loop over an index of its own; a language model has answered each prompt once."""
    index = warm_index(config)
    if "teacher" not in config.served_engines:
        return load_served_teacher(config, index)
    history = tuple(Interaction(item_id, True, 0.0) for item_id in index.ids[:1])
    with engine_alone(config):
        loaded = load_served_teacher(config, index)
        loaded.decide(Request(WARM_UP, None, WARM_UP, history))
    return loaded


@contextmanager
def engine_alone(config: Config) -> Iterator[None]:
    """One engine of a run starts at a time, in whatever process.

    vLLM takes what it does not find free for its own use: engines that start on one GPU together
    would each count the other's weights.
    """
    path = config.out / ENGINE_LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:  # closing it lets go
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _one_item() -> Case:
    first, score = np.ones(1, np.int64), np.ones(1, np.float32)
    found = Candidates(np.zeros(1, np.int64), first, first, score, score, ("both",))
    return Case(
        WARM_UP, PreferenceProfile(), found, np.zeros((1, len(FEATURES))), (WARM_UP,), None
    )
