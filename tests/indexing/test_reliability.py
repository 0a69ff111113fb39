from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from adamroute.catalogue.item_words import ItemWords
from adamroute.catalogue.shop import Item
from adamroute.indexing.reliability import Found, lacks_of, told

RICH = ItemWords("mug", "mug", ("red",), (("keeps", "tea", "warm"),))
BARE = ItemWords("mug", "mug", (), ())


def item(number: int, image: Path | None, text: str = "a mug that keeps tea warm") -> Item:
    return Item(str(number), "mug", text, {}, f"kind {number % 2}", image)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(np.zeros((80, 90, 3), np.uint8)).save(path)
    return path


def test_build_ends_with_five_lines_that_name_each_branch_by_looks_and_by_use() -> None:
    found = {"looks": Found(100, 0.2, 0.61), "use": Found(80, 0.5, 0.52)}
    lines = told(found, [("photos of 3 of 9 items", "photos of the other items")])
    assert lines == [
        "by looks, items that nothing was fitted on are among the first 20 in 61% of 100 requests "
        "by photos, in 20% by text",
        "by use, items that nothing was fitted on are among the first 20 in 52% of 80 requests "
        "by photos, in 50% by text",
        "so requests for looks lean to photos, requests for use lean to neither branch",
        "the shop lacks photos of 3 of 9 items",
        "what would help most: photos of the other items",
    ]


def test_where_listings_name_no_looks_both_branches_count_alike() -> None:
    lines = told({"use": Found(80, 0.9, 0.1)}, [])
    assert lines[0] == "by looks, nothing can be asked: no listing names any"
    assert lines[2] == "so both branches count alike wherever nothing can be asked (alpha .5)"
    assert lines[3] == "the shop lacks nothing that was looked for"
    assert "adamroute judge" in lines[4]


def test_a_whole_shop_lacks_nothing(photo: Path) -> None:
    items = [item(number, photo) for number in range(200)]
    assert lacks_of(items, [RICH] * 200) == []


def test_a_poor_shop_lacks_everything_by_name() -> None:
    items = [Item(str(n), "mug", "mug", {}, "mugs", None) for n in range(60)]
    lacks = [lack for lack, _ in lacks_of(items, [BARE] * 60)]
    assert lacks == [
        "photos",
        "columns that say what a photo shows",
        "listings that claim anything",
        "listings of at least 4 words",
        "items: 60 are few to fit an alignment on",
        "a second category",
    ]


def test_photos_too_small_and_photos_missing_are_lacks(photo: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.png"
    Image.fromarray(np.zeros((63, 200, 3), np.uint8)).save(small)
    assert lacks_of([item(n, small) for n in range(200)], [RICH] * 200) == [
        ("photos of at least 64 pixels", "larger photos")
    ]
    half = [item(n, photo if n < 90 else None) for n in range(200)]
    assert lacks_of(half, [RICH] * 200) == [
        ("photos of 110 of 200 items", "photos of the other items")
    ]
