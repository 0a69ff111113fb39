"""From downloaded files to a shop folder that the project reads."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.request import Interaction
from adamroute.datasets.amazon.addresses import CheckedTransport
from adamroute.datasets.amazon.fetch import Limits
from adamroute.datasets.amazon.make import MadeShop, data_amazon
from adamroute.datasets.amazon.sources import PUBLIC_SETS
from adamroute.errors import ShopError
from adamroute.progress import SILENT
from tests.datasets.amazon.conftest import packed, rows

if TYPE_CHECKING:
    from tests.datasets.amazon.conftest import PhotoServer

QUICK = Limits(tries=1, wait_s=0.0, timeout_s=2.0)


def make(name: str, folder: Path, *, keep_duplicates: bool = False) -> MadeShop:
    transport = CheckedTransport(allow_loopback=True)
    return data_amazon(
        name, folder, SILENT, keep_duplicates=keep_duplicates, limits=QUICK, transport=transport
    )


def test_a_taira_set_becomes_a_shop_that_the_project_reads(downloads: Path) -> None:
    made = make("amazon-beauty", downloads)
    shop = read_shop(made.folder)
    assert [item.item_id for item in shop.catalogue.items] == ["B1", "B2", "B3"]
    argan = shop.catalogue.items[0]
    assert argan.title == "Argan Oil & Balm"
    assert argan.text == (
        "Argan Oil & Balm. Elma. Beauty, Skin Care, Oils, Hair Care. Softens skin."
    )
    assert (argan.category, argan.image is not None) == ("Oils", True)
    assert [(q.query_id, q.text, q.target_id, q.kind) for q in shop.queries] == [
        ("q1", "an oil, cold pressed & virgin", "B1", "explicit"),
        ("q2", "something for the beach", "B3", "vague"),
    ]
    assert {user: [x.item_id for x in h] for user, h in shop.histories.items()} == {
        "ann": ["B2", "B3"], "bob": ["B1"], "cid": ["B3"], "dee": ["B2"],
    }  # fmt: skip


def test_all_that_is_left_out_is_counted_by_name(downloads: Path) -> None:
    made = make("amazon-beauty", downloads)
    assert made.counts == {
        "items": 3, "users": 4, "interactions": 5, "queries": 2, "photos": 2,
    }  # fmt: skip
    assert made.problems == {
        "interactions_without_item": 1,  # B9 of ann
        "items_without_words": 1,  # B4
        "photos_not_found": 1,
        "queries_without_target": 1,  # B8
        "repeated_items": 1,  # B1 again
        "repeated_queries": 1,
        "targets_in_history": 1,
    }
    data = json.loads((made.folder / "data.json").read_text(encoding="utf-8"))
    assert (data["counts"], data["problems"]) == (made.counts, made.problems)
    assert set(data["made_from"]) == {path.name for path in downloads.iterdir() if path.is_file()}
    assert "  queries_without_target: 1" in list(made.told())


def test_repeated_queries_are_kept_where_asked(downloads: Path) -> None:
    made = make("amazon-beauty", downloads, keep_duplicates=True)
    assert [row["query_id"] for row in rows(made.folder / "queries.jsonl")] == ["q1", "q2", "q2-2"]
    assert len(read_shop(made.folder).queries) == 3


def test_making_it_twice_gives_the_same_bytes_and_fetches_nothing_again(
    downloads: Path, server: PhotoServer
) -> None:
    folder = make("amazon-beauty", downloads).folder
    before = {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    asked = server.times("large")
    make("amazon-beauty", downloads)
    assert {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()} == before
    assert server.times("large") == asked == 1


def test_without_images_nothing_is_fetched_and_the_tables_are_the_same(
    downloads: Path, server: PhotoServer, tmp_path: Path
) -> None:
    out = tmp_path / "bare"
    bare = data_amazon("amazon-beauty", downloads, SILENT, out=out, images=False)
    assert server.asked == []
    assert "photos" not in bare.counts
    assert read_shop(out).problems["missing_photos"] == 3
    full = make("amazon-beauty", downloads).folder
    for name in ("items.jsonl", "interactions.jsonl", "queries.jsonl", "shop.yaml"):
        assert (out / name).read_bytes() == (full / name).read_bytes()


def test_a_catalogue_file_says_which_items_are_kept(downloads: Path) -> None:
    (downloads / "beauty_metadata.csv").write_text("id\nB1\nB3\nB7\n", encoding="utf-8")
    made = make("amazon-beauty", downloads)
    assert [row["item_id"] for row in rows(made.folder / "items.jsonl")] == ["B1", "B3"]
    assert made.problems["items_not_in_metadata"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"asin,title\nB1,x\n", "no column 'id'"),
        (b'title,id\nx,B1\n"a\nb",\n', r"beauty_metadata\.csv:4: 'id' is empty"),
        (b'id,title\nB1,"x\n', "not a CSV file in UTF-8: unexpected end of data"),
        (b"id,title\nB1,\xff\n", "not a CSV file in UTF-8"),
    ],
)
def test_a_catalogue_file_that_names_no_items_is_refused(
    downloads: Path, text: bytes, said: str
) -> None:
    (downloads / "beauty_metadata.csv").write_bytes(text)
    with pytest.raises(ShopError, match=said):
        make("amazon-beauty", downloads)


def test_two_files_that_could_be_the_one_wanted_are_refused(downloads: Path) -> None:
    for name in ("beauty_metadata.csv", "metadata.csv"):
        (downloads / name).write_text("id\nB1\n", encoding="utf-8")
    with pytest.raises(ShopError, match=r"beauty_metadata\.csv and metadata\.csv.* Keep one"):
        make("amazon-beauty", downloads)


def test_missing_files_are_all_named_in_one_error_beside_what_was_found(downloads: Path) -> None:
    (downloads / "meta_Beauty.json.gz").unlink()
    (downloads / "beauty_user_profile.csv").unlink()
    with pytest.raises(ShopError) as caught:
        make("amazon-beauty", downloads)
    first, *lines, last = str(caught.value).splitlines()
    assert first == f"amazon-beauty: 2 of 3 files missing in {downloads}"
    assert [line[:39] for line in lines] == [
        "  found    beauty_query_data1.csv",
        "  missing  beauty_user_profile.csv: use",
        "  missing  meta_Beauty.json, each packe",
        "  optional beauty_metadata.csv or metad",
    ]
    assert last.endswith(f"adamroute data amazon-beauty --dir {downloads}")


def test_an_unknown_set_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ShopError, match=f"Give one of {', '.join(PUBLIC_SETS)}"):
        data_amazon("amazon-books", tmp_path, SILENT)


def test_metadata_of_another_category_is_an_error_and_leaves_no_shop(downloads: Path) -> None:
    packed(downloads / "meta_Beauty.json.gz", ['{"asin": "X1", "title": "a book"}'])
    with pytest.raises(ShopError, match="none of the 3 queries asks for an item of the metadata"):
        make("amazon-beauty", downloads)
    with pytest.raises(ShopError, match=r"no shop\.yaml"):
        read_shop(downloads / "amazon-beauty")


def test_another_shop_is_not_overwritten(downloads: Path) -> None:
    other = downloads / "amazon-beauty"
    other.mkdir()
    (other / "shop.yaml").write_text("name: mine\n", encoding="utf-8")
    with pytest.raises(ShopError, match="holds another shop"):
        make("amazon-beauty", downloads)
    assert (other / "shop.yaml").read_text(encoding="utf-8") == "name: mine\n"


def test_a_place_where_no_folder_can_be_is_a_clear_error(downloads: Path) -> None:
    (downloads / "amazon-beauty").write_text("a file", encoding="utf-8")
    with pytest.raises(ShopError, match="amazon-beauty: cannot be made a folder: File exists"):
        make("amazon-beauty", downloads)


def test_an_msr_set_holds_the_reviewed_items_with_times(
    tmp_path: Path, server: PhotoServer
) -> None:
    packed(
        tmp_path / "Video_Games_5.json.gz",
        [
            json.dumps({"reviewerID": u, "asin": i, "overall": r, "unixReviewTime": t})
            for u, i, r, t in [
                ("ann", "G1", 5.0, 86400),
                ("ann", "G2", 2.0, 0),
                ("bob", "G9", 4, 9),
            ]
        ],
    )
    game = {"asin": "G1", "title": "Pad", "imageURLHighRes": [server.url("small")]}
    items = [game, {"asin": "G2", "title": "Disc"}, {"asin": "G3", "title": "Never reviewed"}]
    packed(tmp_path / "meta_Video_Games.json.gz", [json.dumps(item) for item in items])
    made = make("msr-video-games", tmp_path)
    assert made.counts == {"items": 2, "users": 1, "interactions": 2, "photos": 1}
    assert made.problems == {
        "interactions_without_item": 1,
        "items_not_in_metadata": 1,
        "items_without_photo_address": 1,
    }
    shop = read_shop(made.folder)
    assert (shop.time, shop.queries) == ("global", ())
    assert shop.histories["ann"] == (
        Interaction("G2", False, 0.0),
        Interaction("G1", True, 86400.0),
    )


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("domain", "metadata", "form", "kept", "repeated"),
    [
        ("beauty", "meta_Beauty.json.gz", "2014", 374, 0),
        ("clothing", "meta_Clothing_Shoes_and_Jewelry.json", "2014", 264, 97),
        ("music", "meta_CDs_and_Vinyl.jsonl.gz", "2023", 393, 0),
    ],
)
def test_the_published_queries_and_made_up_metadata_are_a_whole_shop(
    real_data: Path,
    tmp_path: Path,
    domain: str,
    metadata: str,
    form: str,
    kept: int,
    repeated: int,
) -> None:
    ids: dict[str, None] = {}
    for kind in ("query_data1", "user_profile"):
        name = f"{domain}_{kind}.csv"
        shutil.copyfile(real_data / "taira" / name, tmp_path / name)
        with (tmp_path / name).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                taken = row.get("interaction_string") or row["id"]
                ids.update(dict.fromkeys(taken.split("|")))
    lines = [_line(item_id, form) for item_id in ids]
    if metadata.endswith(".gz"):
        packed(tmp_path / metadata, lines)
    else:
        (tmp_path / metadata).write_text("\n".join(lines), encoding="utf-8")
    made = data_amazon(f"amazon-{domain}", tmp_path, SILENT, images=False)
    shop = read_shop(made.folder)
    assert len(shop.queries) == kept
    assert made.problems.get("repeated_queries", 0) == repeated
    assert made.problems.get("targets_in_history", 0) == (8 if domain == "music" else 0)
    assert len(shop.catalogue) == len(ids)
    for query in shop.queries:
        taken = {x.item_id for x in shop.histories[query.user_id]}
        assert taken
        assert query.target_id not in taken


def _line(item_id: str, form: str) -> str:
    if form == "2014":
        return repr(
            {"asin": item_id, "title": f"thing {item_id}", "categories": [["All", "It's"]]}
        )
    return json.dumps({"parent_asin": item_id, "title": f"thing {item_id}", "images": []})
