"""Indexes by encoders of the production column, over tiny checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from adamroute.assembly import load_index
from adamroute.catalogue.shop import Item
from adamroute.config import Config
from adamroute.encoders.qwen_vl import Qwen3VLEncoder
from adamroute.errors import ArtifactError, ModelError
from adamroute.indexing.branches import vl_branch
from adamroute.indexing.build import run_build
from adamroute.progress import SILENT
from adamroute.theta import Theta
from tests.encoders.tiny_qwen import WIDTH, text_checkpoint, vl_checkpoint
from tests.indexing.test_build import Impatient, draw_shop, read_items, write_items

ALIGN = {"seeds": 1, "epochs": 3, "hidden": 8, "dimensions": 4}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    text_checkpoint(folder / "text")
    vl_checkpoint(folder / "vl")
    return folder


def config_of(folder: Path, models: Path, **encoders: object) -> Config:
    shop = folder / "shop"
    if not shop.exists():
        draw_shop(shop)
    named = {"text_model": str(models / "text"), "multimodal_model": str(models / "vl")}
    return Config.model_validate(
        {
            "name": "drawn",
            "shop": shop,
            "out": folder / "out",
            "encoders": {"batch": 5, "align": ALIGN, **named, **encoders},
        }
    )


def test_both_production_encoders_make_an_index_that_answers(tmp_path: Path, models: Path) -> None:
    config = config_of(tmp_path, models, text="qwen3", multimodal="qwen3-vl")
    manifest = run_build(config, SILENT)
    assert str(manifest.counts["text_encoder"]).startswith("text@")
    assert str(manifest.counts["multimodal_encoder"]).startswith("vl@")
    assert manifest.counts["items_without_photo"] == 1
    assert manifest.counts["item_vectors_computed"] == 12
    index = load_index(config.stage("index"))
    assert index.text_vectors.shape == index.retriever.mm.vectors.shape == (12, WIDTH)
    assert isinstance(index.branches.mm_encoder, Qwen3VLEncoder)
    queries = index.encode(["a red mug"])
    found = index.retriever.search(queries.text[0], queries.mm[0], Theta(0.5, 4), ())
    best = np.argsort(-(index.retriever.mm.vectors @ queries.mm[0]))[:2]
    assert set(best.tolist()) <= set(found.rows.tolist())
    assert run_build(config, SILENT) == manifest


def test_a_listing_is_not_indexed_as_a_query(tmp_path: Path, models: Path) -> None:
    config = config_of(tmp_path, models, text="qwen3")
    run_build(config, SILENT)
    index = load_index(config.stage("index"))
    listings = index.text_encoder.encode_items(list(index.texts))
    np.testing.assert_allclose(index.text_vectors, listings, atol=1e-5)
    assert abs(index.text_encoder.encode(list(index.texts)) - listings).max() > 0.01


def test_the_alignment_takes_text_vectors_of_any_width(tmp_path: Path, models: Path) -> None:
    config = config_of(tmp_path, models, text="qwen3")
    manifest = run_build(config, SILENT)
    assert manifest.counts["multimodal_encoder"] == "aligned-photo"
    index = load_index(config.stage("index"))
    queries = index.encode(["a red mug"])
    assert queries.text.shape == (1, WIDTH)
    assert queries.mm.shape[1] == index.branches.mm_encoder.dimensions
    assert queries.mm.shape[1] == index.retriever.mm.dimensions


def test_only_items_with_new_words_or_photos_are_encoded_again(
    tmp_path: Path, models: Path
) -> None:
    config = config_of(tmp_path, models, multimodal="qwen3-vl")
    run_build(config, SILENT)
    old = np.load(config.stage("index") / "mm.npy")
    rows = read_items(config.shop)
    rows[2]["description"] = "A mug that keeps tea hot."
    write_items(config.shop, rows)
    Image.new("RGB", (32, 32), "orange").save(config.shop / "images" / "3.png")
    assert run_build(config, SILENT).counts["item_vectors_computed"] == 2
    new = np.load(config.stage("index") / "mm.npy")
    assert np.flatnonzero((new != old).any(axis=1)).tolist() == [2, 3]


def test_a_photo_the_encoder_cannot_read_is_counted_by_every_build(
    tmp_path: Path, models: Path
) -> None:
    encoders = config_of(tmp_path, models, multimodal="qwen3-vl").encoders
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    items = [Item(i, "a mug", "a mug", {}, "mug", broken if i != "c" else None) for i in "abc"]
    for computed in (2, 1):  # a and b are the same photo and words; c alone is kept
        branch = vl_branch(encoders, items, tmp_path / "cache", SILENT)
        assert branch.counts == {
            "photos": 2,
            "items_without_photo": 1,
            "photos_unreadable_by_encoder": 2,
            "item_vectors_computed": computed,
        }
        np.testing.assert_allclose(branch.item_vectors[0], branch.item_vectors[2], atol=1e-6)


def test_item_vectors_of_a_cut_run_are_kept(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adamroute.indexing.branches.CHUNK", 2)
    encoders = config_of(tmp_path, models, multimodal="qwen3-vl").encoders
    items = [Item(i, f"mug {i}", f"mug {i}", {}, "mug", None) for i in "abcde"]
    whole = vl_branch(encoders, items, tmp_path / "whole", SILENT)
    with pytest.raises(KeyboardInterrupt):
        vl_branch(encoders, items, tmp_path / "cut", Impatient("item vectors", 2))
    rest = vl_branch(encoders, items, tmp_path / "cut", SILENT)
    assert rest.counts["item_vectors_computed"] == 1
    assert rest.item_vectors.tobytes() == whole.item_vectors.tobytes()


def test_an_index_of_other_weights_is_refused(tmp_path: Path, models: Path) -> None:
    mine = tmp_path / "models"
    shutil.copytree(models, mine)
    config = config_of(tmp_path, mine, text="qwen3", multimodal="qwen3-vl")
    run_build(config, SILENT)
    vl_checkpoint(mine / "vl", seed=1)
    with pytest.raises(ArtifactError, match="built with multimodal encoder 'vl@"):
        load_index(config.stage("index"))
    text_checkpoint(mine / "text", seed=1)
    with pytest.raises(ArtifactError, match="built with text encoder 'text@"):
        load_index(config.stage("index"))


def test_a_model_that_is_not_here_stops_the_build_with_the_next_step(
    tmp_path: Path, models: Path
) -> None:
    config = config_of(tmp_path, models, text="qwen3", text_model="nobody/nothing")
    with pytest.raises(ModelError, match=r"encoders\.text_model.*hf download nobody/nothing"):
        run_build(config, SILENT)


def test_only_what_decides_a_vector_decides_whether_the_index_is_fresh() -> None:
    def decides(**encoders: object) -> dict[str, object]:
        made = {"name": "c", "shop": "s", "out": "o", "encoders": encoders}
        found = Config.model_validate(made).deciding(["encoders"])["encoders"]
        assert isinstance(found, dict)
        return dict(found)

    assert set(decides()) == {"text", "multimodal", "align"}
    same = decides(batch=3, allow_download=True, text_model="x", dtype="bfloat16")
    assert same == decides()
    qwen = decides(text="qwen3", multimodal="qwen3-vl")
    assert qwen != decides(text="qwen3", multimodal="qwen3-vl", dtype="bfloat16")
    assert "align" not in qwen


def test_a_manifest_of_encoders_that_are_unknown_is_refused(tmp_path: Path, models: Path) -> None:
    config = config_of(tmp_path, models)
    run_build(config, SILENT)
    path = config.stage("index") / "manifest.json"
    text = path.read_text(encoding="utf-8").replace('"aligned-photo",', '"clip",')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match="names no encoders that this version knows"):
        load_index(config.stage("index"))
