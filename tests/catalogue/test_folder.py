"""A shop folder that is right, and the photos and hashes of one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adamroute.catalogue.folder import ShopBytes, read_shop
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Query
from adamroute.errors import ShopError

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_items_keep_their_ids_as_text_and_read_as_one_listing(corner: Corner) -> None:
    items = corner.read().catalogue.items
    assert [i.item_id for i in items] == ["007", "702.584.83", "9"]
    assert [i.title for i in items] == ["Mala easel", "Kura bed", "Lack table"]
    assert [i.text for i in items] == [
        "Mala easel. For drawing.",
        "Kura bed",
        "Lack table. Light and low",
    ]
    assert [i.category for i in items] == ["easel", "bed", "table"]


def test_visual_attributes_leave_out_what_is_empty(corner: Corner) -> None:
    looks = [dict(i.visual) for i in corner.read().catalogue.items]
    assert looks == [{"color": "white"}, {"color": "white", "pattern": "striped"}, {}]


def test_photos_are_absolute_paths(corner: Corner) -> None:
    image = corner.read().catalogue.items[0].image
    assert image == (corner.folder / "images" / "7.png").resolve()


def test_histories_are_in_the_order_of_time(corner: Corner) -> None:
    assert corner.read().histories == {
        "ann": (Interaction("007", False, 1.0), Interaction("702.584.83", True, 2.0)),
        "bob": (Interaction("9", True, 1.0),),
    }


def test_queries_keep_file_order_kind_and_split(corner: Corner) -> None:
    shop = corner.read()
    assert shop.queries == (
        Query("q1", "ann", "a bed", "702.584.83", "mixed", "train"),
        Query("q2", "bob", "low table", "9", None, "test"),
    )
    assert (shop.name, shop.time, shop.problems) == ("corner", "none", {})


def test_only_items_are_required(corner: Corner) -> None:
    tail = "interactions:\n  file: interactions.csv\nqueries:\n  file: queries.jsonl\n"
    shop = corner.change("shop.yaml", tail, "").read()
    assert (len(shop.catalogue), shop.histories, shop.queries) == (3, {}, ())


def test_a_shop_without_an_image_column_misses_no_photo(corner: Corner) -> None:
    shop = corner.change("shop.yaml", "  image: image\n", "").read()
    assert shop.problems == {}
    assert all(i.image is None for i in shop.catalogue.items)


def test_a_shop_without_category_and_looks_has_empty_ones(corner: Corner) -> None:
    corner.change("shop.yaml", "  category: type\n", "")
    item = corner.change("shop.yaml", "  visual: [color, pattern]\n", "").read().catalogue.items[0]
    assert (item.category, item.visual) == ("", {})


@pytest.mark.parametrize("path", ["", "images/none.png", "images/7.png/deeper"])
def test_a_photo_that_is_not_there_is_counted_and_the_item_kept(corner: Corner, path: str) -> None:
    shop = corner.change("items.csv", "images/9.png", path).read()
    assert shop.problems == {"missing_photos": 1}
    assert shop.catalogue.items[2].image is None
    assert shop.catalogue.items[2].text == "Lack table. Light and low"


@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_a_photo_that_is_no_image_is_counted_and_the_item_kept(
    corner: Corner, content: bytes
) -> None:
    shop = corner.write("images/9.png", content).read_decoded()
    assert shop.problems == {"unreadable_photos": 1}
    assert [i.image is None for i in shop.catalogue.items] == [False, False, True]


@pytest.mark.parametrize(("cut", "counted"), [(2, "photos_truncated"), (60, "unreadable_photos")])
def test_a_photo_cut_short_is_used_past_half_and_else_unreadable(
    corner: Corner, cut: int, counted: str
) -> None:
    whole = (corner.folder / "images" / "kura.jpg").read_bytes()
    shop = corner.write("images/kura.jpg", whole[:-cut]).read_decoded()
    assert shop.problems == {counted: 1}
    assert (shop.catalogue.items[1].image is None) == (counted == "unreadable_photos")


def test_a_photo_the_system_refuses_is_unreadable(corner: Corner) -> None:
    shop = corner.change("items.csv", "images/9.png", "x" * 5000).read()
    assert shop.problems == {"unreadable_photos": 1}


def test_a_photo_shared_by_two_items_counts_for_both(corner: Corner) -> None:
    corner.change("items.csv", "images/9.png", "images/7.png").write("images/7.png", b"")
    assert corner.read_decoded().problems == {"unreadable_photos": 2}


@pytest.mark.parametrize("path", ["../secret.png", "/etc/hostname", "images/../../secret.png"])
def test_a_photo_outside_the_folder_is_refused(corner: Corner, path: str) -> None:
    said = corner.change("items.csv", "images/9.png", path).complaint()
    assert said.startswith(f"items.csv:4: {path!r} lies outside the shop folder")
    assert said.endswith("Copy the file into the folder")


def test_a_link_out_of_the_folder_is_refused(corner: Corner, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    (corner.folder / "images" / "9.png").unlink()
    (corner.folder / "images" / "9.png").symlink_to(tmp_path / "secret.png")
    assert "items.csv:4: 'images/9.png' lies outside" in corner.complaint()


def test_a_photo_linked_to_itself_is_refused_or_counted(corner: Corner) -> None:
    """Python 3.13 resolves such a link without an error; the file is then simply not there."""
    loop = corner.folder / "images" / "9.png"
    loop.unlink()
    loop.symlink_to(loop)
    try:
        assert corner.read().problems == {"missing_photos": 1}
    except ShopError as error:
        assert "items.csv:4: 'images/9.png' cannot be a path" in str(error)  # noqa: PT017


def test_a_table_outside_the_folder_is_refused(corner: Corner, tmp_path: Path) -> None:
    shutil.copy(corner.folder / "items.csv", tmp_path)
    said = corner.change("shop.yaml", "items.csv", "../items.csv").complaint()
    assert "shop.yaml: items.file: '../items.csv' lies outside the shop folder" in said


def hashes(folder: Path) -> dict[str, str]:
    found = ShopBytes.of(folder)
    return {name: getattr(found, name) for name in ("catalogue", "histories", "queries")}


def test_hashes_are_those_of_content_not_of_place(corner: Corner, tmp_path: Path) -> None:
    shutil.copytree(corner.folder, tmp_path / "elsewhere")
    assert hashes(tmp_path / "elsewhere") == hashes(corner.folder)
    assert {len(found) for found in hashes(corner.folder).values()} == {16}


@pytest.mark.parametrize(
    ("name", "old", "new", "part"),
    [
        ("shop.yaml", "name: corner", "name: corners", None),
        ("shop.yaml", "category: type", "category: name", "catalogue"),
        ("shop.yaml", "interactions.csv\n", "interactions.csv\n  time: order\n", "histories"),
        ("items.csv", "For drawing.", "For painting.", "catalogue"),
        ("interactions.csv", "ann,007,neg,1", "ann,007,pos,1", "histories"),
        ("queries.jsonl", "low table", "lower table", "queries"),
    ],
)
def test_a_file_changes_the_hash_of_what_it_holds_and_no_other(
    corner: Corner, name: str, old: str, new: str, part: str | None
) -> None:
    before = hashes(corner.folder)
    after = hashes(corner.change(name, old, new).folder)
    assert {key for key in before if before[key] != after[key]} == ({part} if part else set())


def test_judgements_and_their_topics_are_part_of_the_queries(corner: Corner) -> None:
    found = {hashes(corner.folder)["queries"]}
    tail = "queries:\n  file: queries.jsonl\n"
    corner.change("shop.yaml", tail, tail + "judged: {file: j.qrels, topics: t.tsv}\n")
    corner.write("j.qrels", "1 0 9 1").write("t.tsv", "1\tlow table")
    found |= {hashes(corner.folder)["queries"]}
    found |= {hashes(corner.write("t.tsv", "1\tlower table").folder)["queries"]}
    found |= {hashes(corner.write("j.qrels", "1 0 9 2").folder)["queries"]}
    assert len(found) == 4


def test_the_hash_follows_a_photo_readable_or_not(corner: Corner) -> None:
    found = {hashes(corner.folder)["catalogue"]}
    for content in (b"", b"junk", b"other junk"):
        found.add(hashes(corner.write("images/9.png", content).folder)["catalogue"])
    (corner.folder / "images" / "9.png").unlink()
    found.add(hashes(corner.folder)["catalogue"])
    assert len(found) == 5


def test_hashing_and_reading_decode_no_photo(
    corner: Corner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PIL.Image.open", lambda *_: pytest.fail("decoded"))
    assert hashes(corner.folder)
    assert corner.read().catalogue.items[0].image
    with pytest.raises(pytest.fail.Exception, match="decoded"):
        corner.read_decoded()


def test_a_table_that_is_not_there_is_named(corner: Corner) -> None:
    (corner.folder / "queries.jsonl").unlink()
    with pytest.raises(ShopError, match=r"queries\.jsonl: no such file"):
        hashes(corner.folder)


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ShopError, match=r"ikea: no such folder\. Put a shop folder .* --shop DIR"):
        read_shop(tmp_path / "ikea")


def test_a_folder_without_shop_yaml_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ShopError, match=r"no shop\.yaml in it\. Put a shop folder .* --shop DIR"):
        read_shop(tmp_path)


@pytest.mark.realdata
@pytest.mark.skipif(not (REAL / "ikea").is_dir(), reason="no ../shared/data/ikea")
def test_the_ikea_shop_reads_as_its_readme_says() -> None:
    shop = read_shop(REAL / "ikea")
    assert (len(shop.catalogue), len(shop.queries)) == (2187, 967)
    assert [len(shop.split(s)) for s in ("train", "calibration", "test")] == [515, 201, 251]
    assert len({q.user_id for q in shop.queries}) == 208
    assert (len(shop.histories), sum(map(len, shop.histories.values()))) == (307, 3736)
    assert (shop.name, shop.time, shop.problems) == ("ikea", "none", {})
    assert shop.catalogue.items[1].text == (
        "KURA Reversible bed. "
        "Turned upside down the bed quickly converts from a low to a high bed."
    )
    assert shop.catalogue.items[1].visual == {"color": "White,pine"}


@pytest.mark.realdata
@pytest.mark.skipif(not (REAL / "myntra").is_dir(), reason="no ../shared/data/myntra")
def test_the_myntra_shop_is_one_of_items_alone() -> None:
    shop = read_shop(REAL / "myntra")
    assert (len(shop.catalogue), shop.queries, shop.histories) == (7910, (), {})
    assert shop.problems == {}
    item = shop.catalogue.items[0]
    assert item.title == "Palm Tree Girls Sp Jace Sko White Skirts"
    assert item.text == f"{item.title}. Women. Skirts. Casual. Summer"
