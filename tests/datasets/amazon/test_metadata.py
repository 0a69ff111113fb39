"""Products from one line each of the three formats."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from adamroute.datasets.amazon.metadata import MetadataProduct, plain, read_products
from adamroute.errors import ShopError


def product(
    tmp_path: Path, record: object, problems: Counter[str] | None = None, *, literal: bool = False
) -> MetadataProduct:
    path = tmp_path / "meta.json"
    path.write_text(repr(record) if literal else json.dumps(record), encoding="utf-8")
    found = Counter[str]() if problems is None else problems
    (made,) = read_products(path, lambda _: None, found)
    return made


def test_2014_has_one_photo_and_paths_of_categories(tmp_path: Path) -> None:
    record = {
        "asin": "0007", "title": "Argan Oil &reg;", "description": "<p>Softens</p> skin",
        "price": 7.89, "imUrl": "http://x/1.jpg", "brand": "Elma",
        "categories": [["Beauty", "Skin Care", "Oils"], ["Beauty", "Hair Care"]],
    }  # fmt: skip
    assert product(tmp_path, record, literal=True) == MetadataProduct(
        item_id="0007",
        title="Argan Oil ®",
        brand="Elma",
        categories=("Beauty", "Skin Care", "Oils", "Hair Care"),
        category="Oils",
        features=(),
        description="Softens skin",
        price="7.89",
        image_url="http://x/1.jpg",
    )


def test_2018_has_lists_and_photos_of_two_sizes(tmp_path: Path) -> None:
    sentence = "A long sentence that fell into the field of the categories, as some do"
    record = {
        "asin": "B1", "title": "Pad", "description": ["One.", "", "Two."],
        "feature": ["Fits <b>all</b>", "Blue &amp; red"], "category": ["Games", "Pads", sentence],
        "price": "$12.99", "brand": "Acme", "imageURL": ["http://x/t.jpg"],
        "imageURLHighRes": ["http://x/h.jpg", "http://x/2.jpg"],
    }  # fmt: skip
    made = product(tmp_path, record)
    assert (made.description, made.price) == ("One. Two.", "$12.99")
    assert made.features == ("Fits all", "Blue & red")
    assert made.categories == ("Games", "Pads", sentence)
    assert made.category == "Pads"
    assert made.image_url == "http://x/h.jpg"


def test_2023_has_other_names_and_photos_as_objects(tmp_path: Path) -> None:
    record = {
        "parent_asin": "B1", "title": "An Other Cup", "store": "Yusuf", "features": ["CD"],
        "description": [], "categories": ["CDs & Vinyl", "Folk"], "price": None,
        "images": [{"thumb": "http://x/t.jpg", "large": "http://x/l.jpg", "hi_res": None}],
    }  # fmt: skip
    made = product(tmp_path, record)
    assert (made.item_id, made.brand, made.features) == ("B1", "Yusuf", ("CD",))
    assert (made.category, made.image_url) == ("Folk", "http://x/l.jpg")


def test_page_code_in_the_place_of_a_title_or_price_is_counted_and_left_out(
    tmp_path: Path,
) -> None:
    problems: Counter[str] = Counter()
    record = {
        "asin": "B1",
        "title": "var aPageStart = (new Date()).getTime(); x",
        "feature": ["a"],
    }
    assert product(tmp_path, record, problems).title == ""
    record = {"asin": "B1", "title": "x", "price": ".a-box-inner{color:#fff}" * 2}
    assert product(tmp_path, record, problems).price == ""
    assert problems == {"titles_of_page_code": 1, "prices_of_page_code": 1}


def test_a_field_of_unknown_form_is_counted_and_left_out(tmp_path: Path) -> None:
    problems: Counter[str] = Counter()
    record = {"asin": "B1", "title": ["A", {"b": 1}], "price": True, "images": ["x", {"large": 3}]}
    made = product(tmp_path, record, problems)
    assert (made.title, made.price, made.image_url) == ("A", "", "")
    assert problems == {"fields_of_unknown_form": 2}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"title": "x"}, r"meta\.json:1: no 'parent_asin' or 'asin', got title\. Download"),
        ({"asin": ["x"]}, r"meta\.json:1: the id \['x'\] is no text"),
    ],
)
def test_a_line_without_an_id_is_an_error(tmp_path: Path, record: object, said: str) -> None:
    with pytest.raises(ShopError, match=said):
        product(tmp_path, record)


def test_only_wanted_items_are_given(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_text('{"asin": "B1"}\n{"asin": "B2"}\n{"asin": "B12"}\n', encoding="utf-8")
    found = read_products(path, lambda _: None, Counter(), only={"B2"})
    assert [made.item_id for made in found] == ["B2"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<script>var a = '<b>';</script>Cup", "Cup"),
        ("Cup <style> .a { color: red }", "Cup"),
        ("A&nbsp;cup &#8212; &quot;big&quot;\n", 'A cup — "big"'),
        ("half a pair \ud800 and \x00 nothing", "half a pair and nothing"),
        ("3 < 4 and a > b", "3 < 4 and a > b"),
    ],
)
def test_markup_entities_and_scripts_are_no_words(text: str, wanted: str) -> None:
    assert plain(text) == wanted
