"""The demo shop: same seed, same bytes; tables that say what photos and listings really hold."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import numpy as np
import pytest
import yaml
from PIL import Image

from adamroute.datasets.demo import generate_demo_shop
from adamroute.datasets.demo.drawn import DRAW
from adamroute.datasets.demo.listings import make_products
from adamroute.datasets.demo.looks import Look, take_photo
from adamroute.datasets.demo.patterns import PATTERNS
from adamroute.datasets.demo.shopper_queries import ask_for
from adamroute.datasets.demo.shoppers import make_history, make_people
from adamroute.datasets.demo.vocabulary import vocabulary
from adamroute.errors import ShopError

TYPES = vocabulary().types
COLOURS = vocabulary().colours


class Size(TypedDict):
    """The parameters of a demo shop."""

    items: int
    users: int
    queries: int
    seed: int


SMALL: Size = {"items": 60, "users": 20, "queries": 50, "seed": 3}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "shop"
    generate_demo_shop(folder, **SMALL)
    return folder


def _items(folder: Path) -> list[dict[str, str]]:
    with (folder / "items.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _events(folder: Path) -> list[dict[str, str]]:
    with (folder / "interactions.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _queries(folder: Path) -> list[dict[str, str]]:
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_same_seed_gives_the_same_bytes_photos_included(shop: Path, tmp_path: Path) -> None:
    generate_demo_shop(tmp_path / "again", **SMALL)
    assert _hashes(tmp_path / "again") == _hashes(shop)


def test_another_seed_gives_other_items_and_queries(shop: Path, tmp_path: Path) -> None:
    generate_demo_shop(tmp_path / "other", items=18, users=4, queries=4, seed=4)
    assert _items(tmp_path / "other")[0]["description"] != _items(shop)[0]["description"]


def test_a_finished_folder_is_kept_untouched(shop: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in shop.rglob("*")}
    generate_demo_shop(shop, **SMALL)
    assert {p: p.stat().st_mtime_ns for p in shop.rglob("*")} == before


def test_other_parameters_are_refused_and_the_message_names_both(shop: Path) -> None:
    with pytest.raises(ShopError, match=r"'items': 60.*'items': 61.*Remove the folder"):
        generate_demo_shop(shop, items=61, users=20, queries=50, seed=3)


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ShopError, match="not a demo shop"):
        generate_demo_shop(tmp_path, **SMALL)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("size", "named"),
    [
        (Size(items=5, users=20, queries=50, seed=3), "items is 5, need at least 18"),
        (Size(items=60, users=3, queries=50, seed=3), "users is 3, need at least 4"),
        (Size(items=60, users=20, queries=0, seed=3), "queries is 0, need at least 1"),
        (Size(items=60, users=20, queries=50, seed=-1), "seed is -1, need at least 0"),
    ],
)
def test_numbers_too_small_for_a_shop_are_refused(size: Size, named: str, tmp_path: Path) -> None:
    with pytest.raises(ShopError, match=named):
        generate_demo_shop(tmp_path / "shop", **size)
    assert not (tmp_path / "shop").exists()


def test_a_generation_cut_short_leaves_no_folder(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_demo_shop(tmp_path / "shop", **SMALL, advance=stop)
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_every_photo(tmp_path: Path) -> None:
    calls: list[int] = []
    generate_demo_shop(tmp_path / "shop", items=18, users=4, queries=4, advance=calls.append)
    assert calls == [1] * 18


def test_every_photo_exists_is_square_and_none_equals_another(shop: Path) -> None:
    photos = [shop / row["image"] for row in _items(shop)]
    assert len({hashlib.sha256(p.read_bytes()).hexdigest() for p in photos}) == SMALL["items"]
    for path in photos:
        with Image.open(path) as photo:
            assert (photo.size, photo.mode) == ((224, 224), "RGB")


def test_shop_yaml_names_columns_that_exist(shop: Path) -> None:
    config = yaml.safe_load((shop / "shop.yaml").read_text(encoding="utf-8"))
    columns = set(_items(shop)[0])
    part = config["items"]
    assert set(part["text"] + part["visual"]) | {part["id"], part["category"]} <= columns
    assert config["interactions"] == {"file": "interactions.csv", "time": "global"}
    assert not set(part["text"]) & set(part["visual"])


def test_items_cover_every_type_in_equal_shares_under_distinct_names(shop: Path) -> None:
    rows = _items(shop)
    counts = Counter(row["type"] for row in rows)
    assert set(counts) == set(TYPES)
    assert set(counts.values()) == {3, 4}  # 60 items over 18 types
    assert len({row["name"] for row in rows}) == 60


def test_visual_columns_hold_drawn_words_only(shop: Path) -> None:
    for row in _items(shop):
        kind = TYPES[row["type"]]
        assert row["shape"] in kind.shapes
        assert row["detail"] in kind.details
        assert row["pattern"] in kind.patterns
        assert set(row["colour"].split(" and ")) <= set(COLOURS)
        assert (" and " in row["colour"]) == (row["pattern"] != "plain")


def test_half_of_the_listings_mention_the_look_and_half_do_not(shop: Path) -> None:
    mentioned = 0
    for row in _items(shop):
        kind = TYPES[row["type"]]
        told = kind.shapes[row["shape"]].said in row["description"]
        assert told == (kind.details[row["detail"]].said in row["description"])
        mentioned += told
    assert mentioned == 30


def test_a_silent_listing_names_neither_colour_nor_pattern() -> None:
    products = make_products(90, np.random.default_rng(0))
    for product in (p for p in products if not p.mentions_look):
        words = product.description.lower().replace(".", "").split()
        assert product.look.colour not in words
        assert not any(mark in product.description for mark in ("stripe", "zigzag", "speckle"))


def test_every_fact_of_an_item_is_in_its_listing_once() -> None:
    for product in make_products(90, np.random.default_rng(1)):
        assert 3 <= len(product.facts) <= 6
        for said, fact in zip(product.said, product.facts, strict=True):
            assert said in fact.said
            assert product.description.count(said) == 1


def test_queries_have_known_targets_kinds_and_one_split_per_user(shop: Path) -> None:
    rows = _queries(shop)
    known = {row["item_id"] for row in _items(shop)}
    assert {row["target_id"] for row in rows} <= known
    assert Counter(row["kind"] for row in rows) == {"visual": 20, "functional": 20, "mixed": 10}
    splits = defaultdict(set)
    for row in rows:
        splits[row["user_id"]].add(row["split"])
    assert all(len(found) == 1 for found in splits.values())
    assert len({row["query_id"] for row in rows}) == len(rows)


def test_users_are_dealt_55_20_25_over_the_splits() -> None:
    people = make_people(200, np.random.default_rng(0))
    counts = Counter(p.split for p in people)
    assert counts == {"train": 110, "calibration": 40, "test": 50}
    assert sum(p.cold for p in people) == 10


def test_no_query_names_its_target_or_copies_a_sentence_of_the_listing() -> None:
    rng = np.random.default_rng(5)
    for product in make_products(180, rng):
        for kind in ("visual", "functional", "mixed"):
            query = ask_for(product, kind, rng).lower()
            assert product.name.lower() not in query
            assert not any(said.rstrip(".").lower() in query for said in product.said)
            assert 2 <= len(query.split()) <= 25


def test_a_visual_query_asks_for_no_fact_and_a_functional_one_for_no_look() -> None:
    rng = np.random.default_rng(6)
    looks = {word for c in COLOURS.values() for word in c.words if word != "red"}
    for product in make_products(120, rng):
        facts = [w for f in product.facts for w in (*f.asked, *f.tag) if len(w.split()) > 2]
        assert not any(w in ask_for(product, "visual", rng) for w in facts)
        functional = set(ask_for(product, "functional", rng).lower().replace(",", "").split())
        assert not functional & looks


def test_histories_run_forward_in_time_and_hold_no_item_twice(shop: Path) -> None:
    by_user = defaultdict(list)
    times = []
    for row in _events(shop):
        by_user[row["user_id"]].append(row)
        times.append(int(row["timestamp"]))
    assert times == sorted(times)
    for rows in by_user.values():
        assert len({r["item_id"] for r in rows}) == len(rows)
        assert {r["label"] for r in rows} <= {"pos", "neg"}
        stamps = [int(r["timestamp"]) for r in rows]
        assert all(a < b for a, b in pairwise(stamps))


def test_positives_please_their_user_more_than_negatives() -> None:
    rng = np.random.default_rng(7)
    products = {p.item_id: p for p in make_products(360, rng)}
    scores = defaultdict(list)
    for person in make_people(40, rng):
        for event in make_history(person, list(products.values()), rng):
            scores[event.label].append(person.affinity(products[event.item_id]))
    assert np.mean(scores["pos"]) > 2.0
    assert np.mean(scores["neg"]) < 0.0


def test_every_look_has_words_for_sellers_and_shoppers() -> None:
    assert set(TYPES) == set(DRAW)
    assert set(vocabulary().patterns) == set(PATTERNS)
    for kind in TYPES.values():
        forms = [*kind.shapes.values(), *kind.details.values()]
        assert all(w.count("_") == 1 for form in forms for w in form.asked)
        assert all(form.said and form.asked for form in forms)
        assert set(kind.patterns) <= set(PATTERNS)
        assert len(kind.facts) >= 8


def test_no_placeholder_is_left_in_a_fact() -> None:
    """A fact with values is one fact per value; a common one agrees with its noun."""
    sneakers, watch = TYPES["sneakers"], TYPES["watch"]
    assert [fact.tag for fact in sneakers.facts[2]] == [
        ("next to nothing",),
        ("about a quarter of a kilo each",),
        ("something solid, around four hundred grams",),
    ]
    warranty = vocabulary().common[0][0]
    assert warranty.agreeing(sneakers.plural).asked[0] == "come with cover for a couple of years"
    assert warranty.agreeing(watch.plural).asked[0] == "comes with cover for a couple of years"
    for kind in TYPES.values():
        for fact in (f for family in (*kind.facts, *vocabulary().common) for f in family):
            told = fact.agreeing(kind.plural)
            assert not any("{" in text for text in (*told.said, *told.asked, *told.tag))


@pytest.mark.parametrize("type_", TYPES)
def test_every_shape_and_detail_changes_the_photo(type_: str) -> None:
    kind = TYPES[type_]
    photos = set()
    for shape in kind.shapes:
        for detail in kind.details:
            look = Look(type_, "teal", "white", "plain", shape, detail)
            photos.add(take_photo(look, np.random.default_rng(2)).tobytes())
    assert len(photos) == len(kind.shapes) * len(kind.details)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_shows_its_colour_and_its_accent(pattern: str) -> None:
    look = Look("cushion", "red", "white", pattern, "square", "piped edge")
    centre = np.asarray(take_photo(look, np.random.default_rng(0)), np.int64)[62:162, 62:162]
    red = (centre[..., 0] - centre[..., 2] > 90).mean()
    white = (centre.min(axis=-1) > 150).mean()
    assert red > 0.2
    assert (white > 0.05) == (pattern != "plain")
