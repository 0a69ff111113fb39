"""Photos from a loopback server that fails in every way; nothing here reads the wall clock."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from adamroute.datasets.amazon.addresses import CheckedTransport
from adamroute.datasets.amazon.fetch import Limits, fetch_photos, photo_name
from adamroute.errors import ShopError
from adamroute.progress import SILENT
from tests.datasets.amazon.conftest import picture, rows

if TYPE_CHECKING:
    from tests.datasets.amazon.conftest import PhotoServer

QUICK = Limits(tries=2, wait_s=0.0, timeout_s=0.5, max_bytes=100_000, max_redirects=3)


def fetch(folder: Path, *urls: str, limits: Limits = QUICK) -> dict[str, int]:
    transport = CheckedTransport(allow_loopback=True)
    return dict(fetch_photos(urls, folder, SILENT, limits=limits, transport=transport))


def test_a_photo_is_kept_small_and_recorded_with_the_checksum_it_came_with(
    server: PhotoServer, tmp_path: Path
) -> None:
    url = server.url("large")
    assert fetch(tmp_path, url) == {"photos": 1}
    kept = tmp_path / photo_name(url)
    with Image.open(kept) as image:
        assert image.size == (224, 112)
    (line,) = rows(tmp_path / "images.jsonl")
    assert line == {
        "url": url,
        "sha256": hashlib.sha256(picture(300, 150)).hexdigest(),
        "file_sha256": hashlib.sha256(kept.read_bytes()).hexdigest(),
        "problem": None,
    }


@pytest.mark.parametrize(
    ("path", "problem", "times"),
    [
        ("404", "not_found", 1),
        ("410", "not_found", 1),
        ("403", "refused_by_server", 1),
        ("501", "server_error", 1),
        ("503", "server_error", 2),
        ("429", "server_error", 2),
        ("slow", "timed_out", 2),
        ("drip", "timed_out", 2),
        ("hang-up", "unreachable", 2),
        ("short", "unreachable", 2),
        ("cut", "unreadable", 1),
        ("page", "wrong_type", 1),
        ("packed-twice", "wrong_type", 1),
        ("page-as-photo", "wrong_type", 1),
        ("dot", "too_small", 1),
        ("huge", "too_large", 1),
        ("to//404", "not_found", 1),
    ],
)
def test_each_problem_has_a_name_and_ends_nothing(
    server: PhotoServer, tmp_path: Path, path: str, problem: str, times: int
) -> None:
    bad, good = server.url(path), server.url("small")
    assert fetch(tmp_path, bad, good) == {"photos": 1, problem: 1}
    assert server.times(path) == times
    assert not (tmp_path / photo_name(bad)).exists()
    found = {line["url"]: line["problem"] for line in rows(tmp_path / "images.jsonl")}
    assert found == {bad: problem, good: None}


def test_a_server_that_was_busy_once_is_asked_again(server: PhotoServer, tmp_path: Path) -> None:
    assert fetch(tmp_path, server.url("busy-once")) == {"photos": 1}
    assert server.times("busy-once") == 2


def test_as_many_are_fetched_at_once_as_the_limit_says(
    server: PhotoServer, tmp_path: Path
) -> None:
    urls = [server.url(f"three?{n}") for n in range(9)]
    limits = Limits(at_once=3, tries=1, timeout_s=20.0)
    assert fetch(tmp_path, *urls, limits=limits) == {"photos": 9}
    assert server.most == 3


def test_photos_served_as_unnamed_bytes_are_photos(server: PhotoServer, tmp_path: Path) -> None:
    assert fetch(tmp_path, server.url("untyped")) == {"photos": 1}


def test_a_redirect_is_followed_and_a_circle_is_not(server: PhotoServer, tmp_path: Path) -> None:
    circle = "to//" + "to//" * 4 + "small"
    found = fetch(tmp_path, server.url("to//small"), server.url(circle))
    assert found == {"photos": 1, "too_many_redirects": 1}


def test_the_body_of_a_redirect_is_not_read(server: PhotoServer, tmp_path: Path) -> None:
    assert fetch(tmp_path, server.url("drip-to//small")) == {"photos": 1}
    assert server.times("drip-to//small") == 1


@pytest.mark.parametrize(
    "inside", ["http://10.0.0.1/x", "http://169.254.169.254/", "http://[::]/"]
)
def test_a_redirect_to_a_private_address_is_refused(
    server: PhotoServer, tmp_path: Path, inside: str
) -> None:
    assert fetch(tmp_path, server.url(f"to/{inside}")) == {"refused_address": 1}


def test_by_default_loopback_is_refused_and_never_asked(
    server: PhotoServer, tmp_path: Path
) -> None:
    found = fetch_photos([server.url("small")], tmp_path, SILENT, limits=QUICK)
    assert found == {"refused_address": 1}
    assert server.asked == []


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("file:///etc/hostname", "bad_address"),
        ("ftp://shop.invalid/x.jpg", "bad_address"),
        ("no address at all", "bad_address"),
        ("http://", "bad_address"),
        ("http://[x/1.jpg", "unreachable"),
        ("http://x:99999999/1.jpg", "bad_address"),
        ("http://127.0.0.1:1/x.jpg", "unreachable"),
    ],
)
def test_addresses_that_lead_nowhere_are_named(tmp_path: Path, url: str, problem: str) -> None:
    assert fetch(tmp_path, url) == {problem: 1}


def test_a_second_run_fetches_only_what_is_not_there_whole(
    server: PhotoServer, tmp_path: Path
) -> None:
    names = ("small", "large", "untyped", "404")
    urls = [server.url(name) for name in names]
    first = fetch(tmp_path, *urls)
    assert first == {"photos": 3, "not_found": 1}
    before = (tmp_path / "images.jsonl").read_text(encoding="utf-8")
    (tmp_path / photo_name(urls[0])).unlink()
    (tmp_path / photo_name(urls[1])).write_bytes(b"damaged")
    server.asked.clear()
    assert fetch(tmp_path, *urls) == first
    assert {name: server.times(name) for name in names} == {
        "small": 1, "large": 1, "untyped": 0, "404": 1,
    }  # fmt: skip
    assert (tmp_path / "images.jsonl").read_text(encoding="utf-8") == before


def test_a_run_that_was_killed_goes_on_behind_a_half_written_line(
    server: PhotoServer, tmp_path: Path
) -> None:
    urls = [server.url("small"), server.url("untyped")]
    fetch(tmp_path, urls[0])
    with (tmp_path / "images.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"file_sha256": "ab')
    assert fetch(tmp_path, *urls) == {"photos": 2}
    assert server.times("small") == 1
    assert len(rows(tmp_path / "images.jsonl")) == 2


def test_one_address_named_twice_is_fetched_once(server: PhotoServer, tmp_path: Path) -> None:
    assert fetch(tmp_path, server.url("small"), server.url("small")) == {"photos": 1}
    assert server.times("small") == 1


def test_nothing_to_fetch_is_no_error(tmp_path: Path) -> None:
    assert fetch(tmp_path) == {}


def test_a_folder_that_takes_no_photos_is_one_clear_error(
    server: PhotoServer, tmp_path: Path
) -> None:
    (tmp_path / (photo_name(server.url("small")) + ".part")).mkdir(parents=True)
    with pytest.raises(ShopError, match=r"images: photos cannot be written: .* Make room"):
        fetch(tmp_path, server.url("small"))
