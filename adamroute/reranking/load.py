"""The scorer that a config names, from its stage folder."""

from __future__ import annotations

from pydantic import JsonValue

from adamroute.config import Config
from adamroute.errors import ArtifactError
from adamroute.reranking.llm_grades import LlmReranker, grade_prompt
from adamroute.reranking.reranker import OrdinalReranker, Reranker
from adamroute.stages import read_manifest

STAGE = "scorer"


def reranker_settings(config: Config) -> dict[str, JsonValue]:
    """What the scorer's answers depend on, beside index and labels."""
    scorer = config.scorer
    if scorer.kind == "ordinal":
        return {"kind": "ordinal", "negatives": scorer.negatives, "seed": config.seed}
    return {
        "kind": "llm",
        "model": scorer.llm.model,
        "dtype": scorer.llm.vllm.dtype,
        "prompt": grade_prompt().stamp,
    }


def load_reranker(config: Config) -> Reranker:
    """Read it, or load its engine; ArtifactError where the folder was made for another scorer."""
    folder, settings = config.stage(STAGE), reranker_settings(config)
    if config.scorer.kind == "ordinal":
        return OrdinalReranker.load(folder)
    made_for = read_manifest(folder, STAGE).config
    if made_for != settings:
        raise ArtifactError(
            f"{folder}: made for {made_for}, wanted {settings}. Run again: adamroute train CONFIG"
        )
    from adamroute.llm.vllm_engine import load_engine
    from adamroute.reranking.vllm_grades import VllmGrades

    llm = config.scorer.llm
    return LlmReranker(VllmGrades(load_engine(llm.model, llm.vllm), llm.model), cache=llm.cache)
