"""Which scorer a config names, and what its stage leaves behind where nothing is fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.assembly import load_reranker, reranker_settings
from adamroute.config import Config
from adamroute.errors import ArtifactError, EngineError
from adamroute.progress import SILENT
from adamroute.reranking.llm_grades import grade_prompt
from adamroute.stages import MANIFEST, write_manifest
from adamroute.training.reranker_fit import run_reranker


def config_of(out: Path, **scorer: object) -> Config:
    return Config.model_validate({"name": "c", "shop": out, "out": out, "reranker": scorer})


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A run whose index and labels are finished, with a scorer that reads."""
    for folder, stage in (("index", "build"), ("labels", "label")):
        (tmp_path / folder).mkdir()
        write_manifest(tmp_path / folder, stage=stage, config={}, inputs={}, counts={})
    return config_of(tmp_path, kind="llm", llm={"model": "no-such-folder"})


def test_a_language_model_needs_no_fit_and_its_manifest_names_prompt_and_model(
    config: Config,
) -> None:
    manifest = run_reranker(config, SILENT)
    assert manifest.config["prompt"] == grade_prompt().stamp
    assert manifest.config["model"] == "no-such-folder"
    assert set(manifest.inputs) == {"index", "labels"}
    assert [path.name for path in config.stage("scorer").iterdir()] == [MANIFEST]
    assert run_reranker(config, SILENT) == manifest


def test_a_stage_that_was_made_for_another_model_is_refused(config: Config) -> None:
    run_reranker(config, SILENT)
    other = config_of(config.out, kind="llm", llm={"model": "other"})
    with pytest.raises(ArtifactError, match="adamroute train CONFIG"):
        load_reranker(other)


def test_an_engine_that_cannot_be_loaded_says_what_to_do(config: Config) -> None:
    run_reranker(config, SILENT)
    with pytest.raises(EngineError, match=r"\.\[gpu\]|no-such-folder"):
        load_reranker(config)


def test_memory_sizes_and_the_other_kinds_settings_do_not_change_a_scorer(
    tmp_path: Path,
) -> None:
    plain = reranker_settings(config_of(tmp_path))
    assert plain == {"kind": "ordinal", "negatives": 40, "seed": 0}
    assert reranker_settings(config_of(tmp_path, llm={"model": "other"})) == plain
    small = config_of(tmp_path, kind="llm", llm={"cache": 5})
    assert reranker_settings(small) == reranker_settings(config_of(tmp_path, kind="llm"))
