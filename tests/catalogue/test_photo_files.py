"""Names of photos as tables spell them, and what the shop counts."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from adamroute.catalogue.photo_files import PhotoFolder, inspected, shown_hash
from adamroute.errors import ShopError
from adamroute.stages import content_hash
from tests.catalogue.pictures import cut_out, red_above_blue, saved, turned

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

COMPOSED = unicodedata.normalize("NFC", "img/café.jpg")
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "shop"
    (root / "img").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("img/space name.jpg", "img/space%20name.jpg"),
        ("img/50%.jpg", "img/50%25.jpg"),
        ("img/a#1.jpg", "img/a%231.jpg"),
        ("img/plain.jpg", r"img\plain.jpg"),
        ("img/plain.jpg", "img/plain.jpg?v=2"),
        ("img/plain.jpg", "img/plain.jpg#top"),
        ("img/plain.jpg", "img/plain.jpg, img/other.jpg"),
        ("img/plain.jpg", "img/plain.jpg|img/other.jpg"),
        ("img/plain.jpg", "IMG/Plain.JPG"),
        ("IMG/Straße 1.jpg", r"img\strasse%201.JPG?width=200"),
        (COMPOSED, DECOMPOSED),
        (DECOMPOSED, COMPOSED),
        (DECOMPOSED, "img/CAF%C3%89.jpg"),
    ],
)
def test_a_photo_is_found_as_another_system_spells_it(folder: Path, file: str, name: str) -> None:
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    photo = PhotoFolder(folder).find(name, "items.csv:2")
    assert photo.path == path
    assert photo.problems == ("photos_found_by_other_name",)


@pytest.mark.parametrize(
    "name",
    ["img/a b.jpg", "img/a%20b.jpg", "img/a#1.jpg", "img/a?v=2", "img/a, b.jpg", DECOMPOSED],
)
def test_the_very_name_comes_before_what_it_may_mean(folder: Path, name: str) -> None:
    for file in ("img/a b.jpg", "img/a", COMPOSED, name):
        (folder / file).write_bytes(b"x")
    photo = PhotoFolder(folder).find(name, "items.csv:2")
    assert (photo.path, photo.problems) == (folder / name, ())


def test_a_name_that_fits_two_files_is_counted_by_name(folder: Path) -> None:
    for file in ("img/A.jpg", "img/a.JPG"):
        (folder / file).write_bytes(b"x")
    photos = PhotoFolder(folder)
    assert photos.find("img/a.jpg", "").problems == ("ambiguous_photos",)
    assert photos.find("img/a.JPG", "").path == folder / "img/a.JPG"
    assert photos.find("img/b.jpg", "").problems == ("missing_photos",)


def test_of_two_folders_alike_the_one_that_holds_the_photo_counts(folder: Path) -> None:
    (folder / "Img").mkdir()
    (folder / "Img" / "a.jpg").write_bytes(b"x")
    assert PhotoFolder(folder).find("IMG/a.jpg", "").path == folder / "Img" / "a.jpg"


@pytest.mark.parametrize(
    "name", ["%2e%2e/secret.jpg", r"..\secret.jpg", "img/..%2f..%2fsecret.jpg", "../SECRET.jpg"]
)
def test_no_spelling_leads_out_of_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "secret.jpg").write_bytes(b"x")
    with pytest.raises(ShopError, match=r"items\.csv:2: .* lies outside the shop folder"):
        PhotoFolder(folder).find(name, "items.csv:2")


def test_a_link_of_another_case_leads_out_no_more_than_any(folder: Path) -> None:
    (folder.parent / "secret.jpg").write_bytes(b"x")
    (folder / "img" / "Link.jpg").symlink_to(folder.parent / "secret.jpg")
    with pytest.raises(ShopError, match="lies outside the shop folder"):
        PhotoFolder(folder).find("img/link.jpg", "items.csv:2")


@pytest.mark.parametrize("name", ["img", ".", "img/", "https://shop.example/a.jpg", "%", "?", "#"])
def test_what_names_no_file_is_missing(folder: Path, name: str) -> None:
    assert PhotoFolder(folder).find(name, "").problems == ("missing_photos",)


def test_what_was_done_to_photos_is_counted_once_an_item(corner: Corner) -> None:
    images = corner.folder / "images"
    saved(images / "7.png", cut_out((255, 255, 255)))
    saved(images / "kura.jpg", red_above_blue(), **turned(6))
    corner.change("items.csv", "images/9.png", "Images/KURA.jpg")
    assert corner.read().problems == {"photos_found_by_other_name": 1}  # nothing is decoded yet
    assert corner.read_decoded().problems == {
        "photos_found_by_other_name": 1, "photos_on_dark_ground": 1, "photos_rotated": 2,
    }  # fmt: skip


def test_a_photo_of_too_many_pixels_counts_as_unreadable_and_by_its_reason(
    corner: Corner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adamroute.catalogue.photo_decoding.MOST_PIXELS", 63 * 64)
    saved(corner.folder / "images" / "7.png", Image.new("RGB", (9, 9)))
    shop = corner.read_decoded()
    assert shop.problems == {"photos_too_large": 2, "unreadable_photos": 2}
    assert [item.image is None for item in shop.catalogue.items] == [False, True, True]


def test_vectors_of_a_plain_photo_are_kept_by_its_bytes_and_of_another_by_what_it_shows(
    tmp_path: Path,
) -> None:
    plain = saved(tmp_path / "a.jpg", red_above_blue())
    lying = saved(tmp_path / "b.jpg", red_above_blue(), **turned(6))
    assert shown_hash(plain) == content_hash(plain)
    assert shown_hash(lying) == f"{content_hash(lying)}+photos_rotated"
    assert inspected(tmp_path / "none.jpg").counted_as == ("unreadable_photos",)
