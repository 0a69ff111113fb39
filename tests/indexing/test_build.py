"""Build on a small drawn shop with the real encoders: what is written, redone and refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from adamroute.assembly import load_index, load_text_encoder
from adamroute.catalogue.item_words import without_claim
from adamroute.config import Config
from adamroute.encoders.photo_features import photo_features
from adamroute.encoders.projection_head import Alignment
from adamroute.encoders.query_adapter import fuse_items
from adamroute.errors import ArtifactError, ConfigError, ShopError
from adamroute.indexing.build import run_build
from adamroute.progress import SILENT, Advance
from adamroute.retrieval.cross_fit import load_folds
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Manifest
from adamroute.theta import Theta
from tests.catalogue.pictures import WHITE, cut_out, red_above_blue, saved, turned

COLOURS = ("red", "green", "blue", "black")
TYPES = ("mug", "rug", "lamp")
YAML = """\
name: drawn
items:
  file: items.jsonl
  id: item_id
  title: "{name}"
  text: [name, description]
  visual: [color]
  category: type
  image: image
"""


def draw_shop(folder: Path) -> Path:
    """Twelve items, one in each colour and type; the last one's photo is missing."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for number, (kind, colour) in enumerate((k, c) for k in TYPES for c in COLOURS):
        photo = Image.new("RGB", (32, 32), "white")
        pen = ImageDraw.Draw(photo)
        (pen.ellipse if kind == "mug" else pen.rectangle)((6, 6, 26, 26), fill=colour)
        photo.save(folder / "images" / f"{number}.png")
        rows.append(
            {
                "item_id": f"i{number}",
                "name": f"{kind} number {number}",
                "description": f"A {kind} for every day. Easy to clean.",
                "color": colour,
                "type": kind,
                "image": f"images/{number}.png",
            }
        )
    (folder / "images" / "11.png").unlink()
    write_items(folder, rows)
    (folder / "shop.yaml").write_text(YAML, encoding="utf-8")
    return folder


def read_items(folder: Path) -> list[dict[str, str]]:
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_items(folder: Path, rows: list[dict[str, str]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")


def config_for(shop: Path, out: Path, artefact: Path | None = None) -> Config:
    align = {"seeds": 2, "epochs": 3, "hidden": 16, "dimensions": 8, "artefact": artefact}
    return Config.model_validate(
        {"name": "drawn", "shop": shop, "out": out, "encoders": {"align": align}}
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Manifest]:
    folder = tmp_path_factory.mktemp("built")
    config = config_for(draw_shop(folder / "shop"), folder / "out")
    return config, run_build(config, SILENT)


@pytest.fixture(scope="module")
def index(built: tuple[Config, Manifest]) -> SearchIndex:
    return load_index(built[0].stage("index"))


def array(config: Config, name: str) -> NDArray[np.float32]:
    loaded: NDArray[np.float32] = np.load(config.stage("index") / name, allow_pickle=False)
    return loaded


def test_the_index_holds_one_row_an_item_and_counts_what_is_missing(
    built: tuple[Config, Manifest],
) -> None:
    config, manifest = built
    assert array(config, "text.npy").shape == (12, 384)
    assert array(config, "mm.npy").shape == (12, 384)
    assert array(config, "text.npy").dtype == array(config, "mm.npy").dtype == np.float32
    assert manifest.counts["items"] == 12
    assert manifest.counts["photos"] == 11
    assert manifest.counts["items_without_photo"] == 1
    assert manifest.counts["problems"] == {"missing_photos": 1}
    assert manifest.counts["reading"] == {"encoding": "utf-8"}
    # Every listing whole, and without the claim that is kept from it.
    assert manifest.counts["text_vectors_computed"] == 24
    assert manifest.counts["text_adapter"] == {"plain": 1.0, "adapted": 1.0, "kept": False}
    # Three an item; one item's query view is its looks and no more, as its first view.
    assert manifest.counts["text_views_computed"] == 35
    assert manifest.counts["multimodal_encoder"] == "aligned-photo"
    # The rectangles of rugs and lamps are the same picture, so content is computed once: 4 + 4.
    assert manifest.counts["photo_features_computed"] == 8
    assert not list(config.out.glob("*.partial"))


def test_an_item_without_photo_is_placed_by_its_words_alone(
    built: tuple[Config, Manifest], index: SearchIndex
) -> None:
    place = Alignment.load(built[0].stage("index") / "alignment.npz").space.place
    looks = index.text_encoder.encode(["black lamp"])
    words = place(array(built[0], "text.npy")[11:]) + place(looks)  # .2 of each, then unit length
    np.testing.assert_allclose(
        array(built[0], "mm.npy")[11], words[0] / np.linalg.norm(words), atol=1e-5
    )


def test_a_new_photo_is_embedded_by_the_stored_alignment(
    built: tuple[Config, Manifest],
) -> None:
    """What the build wrote is enough: no fit, and the same vector as in the index."""
    config, _ = built
    alignment = Alignment.load(config.stage("index") / "alignment.npz")
    photo = config.shop / "images" / "4.png"
    features = next(photo_features([photo], SILENT))
    text = array(config, "text.npy")[4:5]
    looks = load_text_encoder(config.encoders).encode(["red rug"])
    place = alignment.space.place
    item = fuse_items(place(text), place(looks), alignment.head.place(features), 0.2, 0.2)
    np.testing.assert_allclose(item, array(config, "mm.npy")[4:5], atol=1e-5)


def test_another_builds_alignment_can_be_used_instead_of_a_fit(
    built: tuple[Config, Manifest], tmp_path: Path
) -> None:
    stored = tmp_path / "learned.npz"
    stored.write_bytes((built[0].stage("index") / "alignment.npz").read_bytes())
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out", artefact=stored)
    manifest = run_build(config, Interrupted())  # which a fit would end
    assert _without_folds(manifest) == _without_folds(built[1])
    assert manifest.hash != built[1].hash  # it says that it was not fitted here
    rows = read_items(shop)
    rows[0]["color"] = "purple"
    write_items(shop, rows)
    run_build(config, Interrupted())
    same = (array(config, "mm.npy") == array(built[0], "mm.npy")).all(axis=1)
    assert np.flatnonzero(~same).tolist() == [0]  # no other item moved
    alignment = Alignment.load(stored)
    replace(alignment, text_encoder="other").save(stored)
    with pytest.raises(ArtifactError, match=r"learned\.npz: fitted on 'other'"):
        run_build(config, SILENT)
    stored.unlink()
    with pytest.raises(ConfigError, match=r"no file .*learned\.npz"):
        run_build(config, SILENT)


def _without_folds(manifest: Manifest) -> dict[str, str]:
    """Files of the index itself: the folds of another's alignment are all of that one."""
    return {n: h for n, h in manifest.outputs.items() if not n.startswith("folds/")}


def test_loading_gives_every_item_as_the_shop_has_it(index: SearchIndex) -> None:
    assert index.ids == tuple(f"i{n}" for n in range(12))
    assert index.titles[5] == "rug number 5"
    assert index.texts[5] == "rug number 5. A rug for every day. Easy to clean."
    assert index.categories[5] == "rug"
    assert index.visual[5] == {"color": "green"}
    assert index.images[5] == "images/5.png"
    assert index.images[11] is None
    assert index.row("i7") == 7
    assert len(index) == len(index.retriever.text) == len(index.retriever.mm) == 12
    with pytest.raises(ShopError, match="'i99'"):
        index.row("i99")


def test_an_items_own_listing_finds_it_first_by_text(index: SearchIndex) -> None:
    queries = index.encode(index.texts)
    ranks = index.retriever.ranks(queries.text, queries.mm, np.arange(12))
    assert ranks.text.tolist() == [1] * 12
    assert ranks.mm.min() >= 1
    assert ranks.mm.max() <= 12
    assert index.target_ranks(index.texts, np.arange(12)).each() == ranks.each()
    found = index.retriever.search(queries.text[4], queries.mm[4], Theta(1.0, 1))
    assert found.rows.tolist() == [4]
    assert len(queries) == 12


def test_beside_each_item_stands_what_it_is_without_one_of_its_claims(
    built: tuple[Config, Manifest], index: SearchIndex
) -> None:
    proof = load_folds(built[0].stage("index"), index.branches, index.text_encoder)
    assert [w.claims.count(c) for w, c in zip(index.words, proof.claims, strict=True) if c] == (
        [1] * 12
    )
    left = [without_claim(t, c or ()) for t, c in zip(index.texts, proof.claims, strict=True)]
    text, mm = proof.unstated
    np.testing.assert_allclose(text, index.text_encoder.encode_items(left), atol=1e-5)
    assert mm.shape == (12, 384)
    np.testing.assert_allclose(np.linalg.norm(mm, axis=1), 1.0, atol=1e-5)
    assert (abs(mm - array(built[0], "mm.npy")).max(axis=1) > 1e-3).all()


def test_nothing_of_a_folds_parts_was_fitted_on_its_own_items(tmp_path: Path) -> None:
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out")
    first = run_build(config, SILENT).outputs
    own = int(np.load(config.stage("index") / "folds" / "fold.npy")[2])
    rows = read_items(shop)
    rows[2]["description"], rows[2]["color"] = "A mug that keeps tea hot.", "purple"
    write_items(shop, rows)
    Image.new("RGB", (32, 32), "orange").save(shop / "images" / "2.png")
    second = run_build(config, SILENT).outputs
    assert first["folds/fold.npy"] == second["folds/fold.npy"]
    sides = [f"folds/mm_side-{number}.npz" for number in range(3)]
    assert [first[s] == second[s] for s in sides] == [number == own for number in range(3)]
    assert first["query_side.npz"] != second["query_side.npz"]  # the index's own saw it


def test_a_text_adapter_that_helps_places_the_branch_and_its_queries_and_every_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gain = {"plain": 0.0, "adapted": 1.0, "kept": True}
    monkeypatch.setattr("adamroute.indexing.build.adapter_gain", lambda *_: gain)
    config = config_for(draw_shop(tmp_path / "shop"), tmp_path / "out")
    assert run_build(config, SILENT).counts["text_adapter"] == gain
    index = load_index(config.stage("index"))
    side = index.branches.text_side
    assert side is not None
    assert index.text_vectors.tolist() == array(config, "text.npy").tolist()
    assert index.retriever.text.vectors.tolist() == array(config, "text_branch.npy").tolist()
    assert abs(index.text_vectors - index.retriever.text.vectors).max() > 0.01
    asked = index.encode(["easy to clean rug"])
    assert asked.text.tolist() == side.place(asked.e_txt).tolist()
    assert asked.e_txt.tolist() == index.text_encoder.encode(["easy to clean rug"]).tolist()
    assert index.target_ranks(index.texts, np.arange(12)).text.tolist() == [1] * 12
    proof = load_folds(config.stage("index"), index.branches, index.text_encoder)
    sides = [part.text_side for part in proof.parts]
    weights = {one.weights.tobytes() for one in (*sides, side) if one is not None}
    assert len(weights) == 4  # three folds' own, and the index's
    (config.stage("index") / "text_side.npz").write_bytes(b"cut short")
    with pytest.raises(ArtifactError, match=r"text_side\.npz.*adamroute build"):
        load_index(config.stage("index"), text_encoder=index.text_encoder)


def test_a_second_run_recomputes_nothing(built: tuple[Config, Manifest]) -> None:
    config, manifest = built
    before = {p: p.stat().st_mtime_ns for p in config.out.rglob("*") if p.is_file()}
    assert run_build(config, SILENT) == manifest
    assert {p: p.stat().st_mtime_ns for p in config.out.rglob("*") if p.is_file()} == before


def test_the_same_shop_elsewhere_gives_the_same_index(
    built: tuple[Config, Manifest], tmp_path: Path
) -> None:
    again = run_build(config_for(draw_shop(tmp_path / "shop"), tmp_path / "out"), SILENT)
    assert again.hash == built[1].hash
    assert again.outputs == built[1].outputs


def test_only_changed_content_is_encoded_again(tmp_path: Path) -> None:
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out")
    first = run_build(config, SILENT)
    old = array(config, "text.npy")
    rows = read_items(shop)
    rows[2]["description"] = "A mug that keeps tea hot."
    write_items(shop, rows)
    Image.new("RGB", (32, 32), "orange").save(shop / "images" / "3.png")
    second = run_build(config, SILENT)
    assert second.counts["text_vectors_computed"] == 2  # whole, and without its new claim
    assert second.counts["photo_features_computed"] == 1
    assert second.hash != first.hash
    new = array(config, "text.npy")
    assert np.flatnonzero((new != old).any(axis=1)).tolist() == [2]


def test_only_changed_views_are_encoded_again(tmp_path: Path) -> None:
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out")
    run_build(config, SILENT)
    rows = read_items(shop)
    rows[2]["description"] = "A mug that keeps tea hot."
    write_items(shop, rows)
    assert run_build(config, SILENT).counts["text_views_computed"] == 1  # the view with its clause


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out")
    first = run_build(config, SILENT)
    for path in (config.out / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    (config.stage("index") / "manifest.json").unlink()
    second = run_build(config, SILENT)
    assert second.outputs == first.outputs
    assert second.counts["text_vectors_computed"] == 24


class Interrupted:
    """Progress of somebody who presses Ctrl-C while the heads are fitted."""

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Advance]:  # noqa: ARG002
        if title == "alignment heads":
            raise KeyboardInterrupt
        yield lambda _: None

    def note(self, line: str) -> None: ...


def test_an_interrupted_build_leaves_the_old_index_and_keeps_what_was_encoded(
    tmp_path: Path,
) -> None:
    shop = draw_shop(tmp_path / "shop")
    config = config_for(shop, tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        run_build(config, Interrupted())
    assert not config.stage("index").exists()
    manifest = run_build(config, SILENT)
    assert manifest.counts["text_vectors_computed"] == 0
    assert manifest.counts["photo_features_computed"] == 0


@dataclass
class Impatient:
    """Progress of somebody who presses Ctrl-C after some steps of one task."""

    title: str
    steps: int
    totals: dict[str, list[int]] = field(default_factory=dict)  # of every task of a title

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Advance]:
        self.totals.setdefault(title, []).append(total)
        yield self._advance if title == self.title else lambda _: None

    def _advance(self, _done: int) -> None:
        self.steps -= 1
        if not self.steps:
            raise KeyboardInterrupt

    def note(self, line: str) -> None: ...


def test_a_build_goes_on_in_the_middle_of_what_it_was_encoding(
    tmp_path: Path, built: tuple[Config, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adamroute.indexing.branches.CHUNK", 4)
    config = config_for(draw_shop(tmp_path / "shop"), tmp_path / "out")
    views, photos = (
        built[1].counts[name] for name in ("text_views_computed", "photo_features_computed")
    )
    assert isinstance(views, int)
    assert isinstance(photos, int)
    titles = ("text vectors", "requests vectors", "views vectors", "photo features")
    runs = [Impatient(title, 2) for title in titles]
    for run in runs:
        with pytest.raises(KeyboardInterrupt):
            run_build(config, run)
    manifest = run_build(config, SILENT)
    (requests,) = runs[1].totals["requests vectors"]
    for title, wanted in {
        "text vectors": [[24], [24 - 8], None, None],
        "requests vectors": [None, [requests], [requests - 8], None],
        "views vectors": [None, None, [views], [views - 8]],
        "photo features": [None, None, None, [photos]],
    }.items():
        assert [run.totals.get(title) for run in runs] == wanted, title
    assert manifest.counts["photo_features_computed"] == photos - 2
    assert {path.name.count(".") for path in (config.out / "cache").iterdir()} == {1}  # no pieces
    for name in ("text.npy", "mm.npy"):
        np.testing.assert_allclose(array(config, name), array(built[0], name), atol=1e-5)


def test_what_was_done_to_photos_stands_in_the_manifest(tmp_path: Path) -> None:
    shop = draw_shop(tmp_path / "shop")
    saved(shop / "images" / "2.png", red_above_blue(), **turned(6))
    saved(shop / "images" / "3.png", cut_out(WHITE))
    rows = read_items(shop)
    rows[4]["image"] = "IMAGES/4.PNG?v=2"
    write_items(shop, rows)
    manifest = run_build(config_for(shop, tmp_path / "out"), SILENT)
    assert manifest.counts["problems"] == {
        "missing_photos": 1, "photos_found_by_other_name": 1, "photos_on_dark_ground": 1,
        "photos_rotated": 1,
    }  # fmt: skip
    assert manifest.counts["photos"] == 11


def test_a_shop_without_photos_works_by_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = "adamroute.encoders.photo_features.load_network"
    monkeypatch.setattr(network, lambda: pytest.fail("loaded"))
    shop = draw_shop(tmp_path / "shop")
    text = (shop / "shop.yaml").read_text(encoding="utf-8")
    (shop / "shop.yaml").write_text(text.replace("  image: image\n", ""), encoding="utf-8")
    config = config_for(shop, tmp_path / "out")
    assert run_build(config, SILENT).counts["photos"] == 0
    index = load_index(config.stage("index"))
    queries = index.encode(["a blue rug", "lamp number 8"])
    blue_rug, lamp = (index.retriever.mm.search(query, 12).rows for query in queries.mm)
    assert blue_rug[0] == 6  # rugs are 4 to 7, red, green, blue, black
    assert index.categories[lamp[0]] == "lamp"


class OtherEncoder:
    """A text encoder that did not build this index."""

    name = "other"
    dimensions = 384

    def encode_items(self, texts: object) -> NDArray[np.float32]:
        return self.encode(texts)

    def encode(self, texts: object) -> NDArray[np.float32]:
        raise AssertionError(texts)


def test_an_index_of_another_text_encoder_is_refused(built: tuple[Config, Manifest]) -> None:
    with pytest.raises(ArtifactError, match=r"built with text encoder 'all-MiniLM.*got 'other'"):
        load_index(built[0].stage("index"), text_encoder=OtherEncoder())


@pytest.mark.parametrize("name", ["text.npy", "mm.npy", "items.parquet", "query_side.npz"])
def test_a_damaged_file_is_named(
    built: tuple[Config, Manifest], index: SearchIndex, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "index"
    shutil.copytree(built[0].stage("index"), folder)
    (folder / name).write_bytes(b"cut short")
    with pytest.raises(ArtifactError, match=f"{name}.*adamroute build"):
        load_index(folder, text_encoder=index.text_encoder)


def test_an_index_that_was_never_built_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="adamroute build"):
        load_index(tmp_path / "index")
