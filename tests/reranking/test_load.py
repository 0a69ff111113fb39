"""Which re-ranker a config names, and what its stage leaves behind where nothing is fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adamroute import pipeline
from adamroute.assembly import load_reranker
from adamroute.config import Config
from adamroute.errors import ArtifactError, EngineError
from adamroute.pipeline import RERANKER
from adamroute.progress import SILENT
from adamroute.stages import MANIFEST
from adamroute.training.reranker_fit import run_reranker
from tests.distill.market import market_shop, write_shop


def config_of(out: Path, **reranker: object) -> Config:
    return Config.model_validate(
        {"name": "c", "shop": out / "shop", "out": out, "reranker": reranker}
    )


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A run whose index, ranks and labels are finished, with a re-ranker that reads."""
    config = config_of(tmp_path, kind="llm", llm={"model": "no-such-folder"})
    write_shop(market_shop(), config.shop)
    for stage in (pipeline.BUILD, pipeline.RANKS, pipeline.LABEL):
        stage.run(config, lambda _: {})
    return config


def test_a_language_model_needs_no_fit_and_its_manifest_names_the_model_and_its_prompt(
    config: Config,
) -> None:
    manifest = run_reranker(config, SILENT)
    made_for = manifest.config["reranker"]
    assert isinstance(made_for, dict)
    assert made_for["kind"] == "llm"
    assert made_for["llm"] == {"model": "no-such-folder", "vllm": {"dtype": "auto"}}
    assert {"index", "ranks", "labels", "grader"} <= set(manifest.inputs)
    assert [path.name for path in config.stage("reranker").iterdir()] == [MANIFEST]
    assert run_reranker(config, SILENT) == manifest


def test_a_stage_that_was_made_for_another_model_is_refused(config: Config) -> None:
    run_reranker(config, SILENT)
    other = config_of(config.out, kind="llm", llm={"model": "other"})
    with pytest.raises(ArtifactError, match="adamroute train CONFIG"):
        load_reranker(other)


def test_a_stage_that_was_made_for_another_prompt_is_refused(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_reranker(config, SILENT)
    grader = replace(pipeline.GRADER, find=lambda _: "another")
    inputs = tuple(grader if i is pipeline.GRADER else i for i in RERANKER.inputs)
    monkeypatch.setattr("adamroute.assembly.RERANKER", replace(RERANKER, inputs=inputs))
    with pytest.raises(ArtifactError, match=r"another `grader`.*adamroute train CONFIG"):
        load_reranker(config)


def test_an_engine_that_cannot_be_loaded_says_what_to_do(config: Config) -> None:
    run_reranker(config, SILENT)
    with pytest.raises(EngineError, match=r"\.\[gpu\]|no-such-folder"):
        load_reranker(config)


def test_memory_sizes_and_the_other_kinds_settings_do_not_change_a_reranker(
    tmp_path: Path,
) -> None:
    def settings(**reranker: object) -> object:
        return config_of(tmp_path, **reranker).deciding(RERANKER.settings)["reranker"]

    assert settings() == {"kind": "ordinal", "negatives": 40}
    assert settings(llm={"model": "other"}) == settings()
    assert settings(kind="llm", llm={"cache": 5}) == settings(kind="llm")
