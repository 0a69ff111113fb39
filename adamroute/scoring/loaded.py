"""The scorer that a config names, from its stage folder."""

from __future__ import annotations

from pydantic import JsonValue

from adamroute.artifacts import read_manifest
from adamroute.config import Config
from adamroute.errors import ArtifactError
from adamroute.scoring.reading import LevelScorer, level_prompt
from adamroute.scoring.scorer import OrdinalScorer, Scorer

STAGE = "scorer"


def scorer_settings(config: Config) -> dict[str, JsonValue]:
    """What the scorer's answers depend on, beside index and labels."""
    scorer = config.scorer
    if scorer.kind == "ordinal":
        return {"kind": "ordinal", "negatives": scorer.negatives, "seed": config.seed}
    return {
        "kind": "llm",
        "model": scorer.llm.model,
        "dtype": scorer.llm.vllm.dtype,
        "prompt": level_prompt().stamp,
    }


def load_scorer(config: Config) -> Scorer:
    """Read it, or load its engine; ArtifactError where the folder was made for another scorer."""
    folder, settings = config.stage(STAGE), scorer_settings(config)
    if config.scorer.kind == "ordinal":
        return OrdinalScorer.load(folder)
    made_for = read_manifest(folder, STAGE).config
    if made_for != settings:
        raise ArtifactError(
            f"{folder}: made for {made_for}, wanted {settings}. Run again: adamroute train CONFIG"
        )
    from adamroute.models.level_scorer import VllmLevels
    from adamroute.models.vllm_engine import load_engine

    llm = config.scorer.llm
    return LevelScorer(VllmLevels(load_engine(llm.model, llm.vllm), llm.model), cache=llm.cache)
