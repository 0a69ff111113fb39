"""The judging page over the shop of six items: what is shown, kept, undone and refused."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import re
import signal
import socket
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from PIL import Image

from adamroute.catalogue.judged_queries import judged_id
from adamroute.catalogue.judgements import read_judgements
from adamroute.catalogue.shop import Catalogue, Item
from adamroute.errors import ArtifactError, ConfigError
from adamroute.process import stopped_by_signals
from adamroute.serving import judge_desk, judging
from adamroute.serving.judge_desk import JudgeDesk
from adamroute.serving.judging import MOST_FORM, create_judging, judge_forever
from tests.conftest import tiny_config
from tests.recommender.small_shop import IDS, WordEncoder, index

QUERY = "red lamp"


@dataclass
class Page:
    """A browser without scripts: it fills in what the last page's forms hold."""

    app: FastAPI
    desk: JudgeDesk
    file: Path

    def send(
        self, method: str, path: str, *, content: bytes | None = None, host: str = "127.0.0.1"
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)

        async def sent() -> httpx.Response:
            base = f"http://{host}"
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, content=content)

        return asyncio.run(sent())

    def get(self, query: str | None = None) -> str:
        path = "/" if query is None else f"/?{urlencode({'q': query})}"
        return self.send("GET", path).text

    def post(self, path: str, **fields: str) -> httpx.Response:
        found = re.search(r'name="token" value="([^"]+)"', self.get("rug"))
        assert found is not None
        body = urlencode({"token": found[1], **fields}).encode()
        return self.send("POST", path, content=body)

    def rows(self) -> list[tuple[str, str, float]]:
        if not self.file.is_file():
            return []
        found = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [(row["query"], row["item_id"], row["grade"]) for row in found]


class Seen(HTMLParser):
    """Titles and marks of the cards, list by list, and all elements by name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lists: list[list[str]] = []
        self.meant: list[str] = []
        self.names: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.names.append(tag)
        if tag == "ol":
            self.lists.append([])
        if tag == "button" and found.get("name") == "item_id":
            self.lists[-1].append(found["value"] or "")
            if found.get("aria-pressed"):
                self.meant.append(found["value"] or "")


@pytest.fixture
def page(tmp_path: Path) -> Page:
    shop, file = tmp_path / "shop", tmp_path / "judged.jsonl"
    shop.mkdir()
    Image.new("RGB", (600, 300), (200, 30, 40)).save(shop / "a.png")
    (shop / "b.png").write_bytes(b"no image")
    (tmp_path / "c.png").write_bytes((shop / "a.png").read_bytes())
    (shop / "c.png").symlink_to(tmp_path / "c.png")
    desk = JudgeDesk(index(WordEncoder()), shop, file)
    return Page(create_judging(desk, "six <items>"), desk, file)


def test_both_branches_show_what_they_find_for_a_query(page: Page) -> None:
    """By listing both lamps are equal and the lower row leads; by photo the red one does."""
    text, photos = Seen(page.get(QUERY)).lists
    assert text[:2] == ["green-lamp", "red-lamp"]
    assert photos[0] == "red-lamp"
    assert sorted(text) == sorted(photos) == sorted(IDS)


def test_without_a_query_there_is_a_field_and_a_counter_alone(page: Page) -> None:
    shown = page.get()
    assert Seen(shown).lists == []
    assert "0 judged" in shown
    assert "20 go a long way" in shown


def test_a_click_is_a_grade_of_four_and_counts(page: Page) -> None:
    answer = page.post("/meant", query=f" {QUERY} ", item_id="red-lamp")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert page.rows() == [(QUERY, "red-lamp", 4.0)]
    shown = page.get("Red  lamp")  # the same query
    assert "1 judged" in shown
    assert set(Seen(shown).meant) == {"red-lamp"}
    assert "formaction" not in shown  # none of these would contradict it


def test_an_item_in_neither_list_is_found_by_its_name_or_id(page: Page) -> None:
    found = page.desk.named("LAMP red", QUERY)
    assert [card.item_id for card in found.cards] == ["red-lamp"]
    assert page.desk.named("nothing", QUERY).total == 0
    first = page.desk.named("red-lamp", QUERY).cards[0]
    assert (first.item_id, first.meant) == ("red-lamp", False)
    page.post("/meant", query=QUERY, item_id="charger")
    shown = page.send("GET", f"/?{urlencode({'q': QUERY, 'name': 'charger'})}").text
    assert Seen(shown).lists[0] == ["charger"]
    assert "1 item with “charger”" in shown


def test_the_same_click_again_changes_nothing_and_another_item_is_added(page: Page) -> None:
    for item in ("red-lamp", "red-lamp", "red-rug"):
        page.post("/meant", query=QUERY, item_id=item)
    assert page.rows() == [(QUERY, "red-lamp", 4.0), (QUERY, "red-rug", 4.0)]
    assert "1 judged" in page.get()


def test_none_of_these_is_a_grade_of_zero_for_each_until_one_is_meant(page: Page) -> None:
    page.post("/none", query=QUERY)
    assert sorted(page.rows()) == sorted((QUERY, item, 0.0) for item in IDS)
    assert "(1 with none of these)" in page.get()
    page.post("/none", query=QUERY)
    assert len(page.rows()) == len(IDS)
    page.post("/meant", query=QUERY, item_id="red-lamp")
    assert page.rows() == [(QUERY, "red-lamp", 4.0)]
    assert page.post("/none", query=QUERY).status_code == 422


def test_undo_takes_the_last_act_back_after_a_new_start_too(page: Page, tmp_path: Path) -> None:
    page.post("/meant", query="rug", item_id="red-rug")
    page.post("/none", query=QUERY)
    again = JudgeDesk(index(WordEncoder()), tmp_path / "shop", page.file)
    page = Page(create_judging(again, "six"), again, page.file)
    assert page.post("/undo").headers["location"] == "/?q=red%20lamp"
    assert page.rows() == [("rug", "red-rug", 4.0)]
    assert page.post("/undo").headers["location"] == "/?q=rug"
    assert not page.file.exists()
    assert page.post("/undo").headers["location"] == "/"


def test_undo_leaves_what_was_imported(page: Page, tmp_path: Path) -> None:
    page.file.write_text('{"query":"rug","item_id":"red-rug","grade":1.0,"source":"file:ab"}\n')
    desk = JudgeDesk(index(WordEncoder()), tmp_path / "shop", page.file)
    assert desk.undo() is None
    assert desk.tally().judged == 1
    assert page.rows() == [("rug", "red-rug", 1.0)]


def test_what_is_kept_is_what_a_run_reads(page: Page) -> None:
    page.post("/meant", query=QUERY, item_id="red-lamp")
    items = tuple(Item(name, name, name, {}, "", None) for name in IDS)
    (row,) = read_judgements(page.file, Catalogue(items), own=True).rows
    assert (row.query, row.item_id, row.value, row.by_click) == (QUERY, "red-lamp", 4.0, False)
    assert judged_id(row.query) == judged_id("RED lamp")


@pytest.mark.parametrize("query", ["<script>alert(1)</script>", '" autofocus onfocus="x', "</b>&"])
def test_words_are_shown_as_words(page: Page, query: str) -> None:
    plain = Counter(Seen(page.get(QUERY)).names)
    assert Counter(Seen(page.get(query)).names) == plain
    page.post("/none", query=query)
    assert Seen(page.get()).names.count("script") == 1
    assert "six &lt;items&gt;" in page.get()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("\u200b", "Type what a shopper would"),
        ("x" * 2001, "At most 2,000 characters, these are 2,001"),
        ("a\0b", "A character that is no text"),
    ],
)
def test_words_that_are_no_query_are_refused_on_the_page(
    page: Page, query: str, said: str
) -> None:
    answer = page.send("GET", f"/?{urlencode({'q': query})}")
    assert (answer.status_code, said in answer.text) == (422, True)
    assert page.post("/meant", query=query, item_id="red-lamp").status_code == 422
    assert page.rows() == []


def test_an_item_that_is_not_in_the_index_is_refused(page: Page) -> None:
    answer = page.post("/meant", query=QUERY, item_id="../a")
    assert (answer.status_code, "not in the index" in answer.text) == (422, True)
    assert page.rows() == []


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"token=guessed&query=rug&item_id=red-rug", 403),
        (b"query=rug&item_id=red-rug", 422),
        (b"\xff", 422),
        (b"a=1&" * 20, 422),
        (b"x" * (MOST_FORM + 1), 422),
    ],
)
def test_a_form_of_another_page_is_refused(page: Page, content: bytes, status: int) -> None:
    for path in ("/meant", "/none", "/undo"):
        assert page.send("POST", path, content=content).status_code == status
    assert page.rows() == []


def test_another_host_is_refused_and_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    assert page.send("GET", "/", host="shop.example").status_code == 400
    answer = page.send("GET", "/?q=rug")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r'(src|href|action)="(https?:)?//', answer.text)


def test_a_photo_is_a_small_jpeg(page: Page) -> None:
    answer = page.send("GET", "/photo/0")
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).size == (256, 128)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("1", "no image"),
        ("2", "a link out of the shop"),
        ("3", "no such file"),
        ("4", "the item has none"),
        ("6", "no such row"),
        ("-1", "no such row"),
        ("99999999999999999999", "no such row"),
        ("../a.png", "no row"),
        ("%2e%2e%2fa.png", "no row"),
    ],
)
def test_photos_of_the_index_alone_are_served(page: Page, row: str, why: str) -> None:
    assert page.send("GET", f"/photo/{row}").status_code in (404, 422), why


def test_a_full_disk_is_told_and_nothing_counts(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(judge_desk, "keep_rows", full)
    answer = page.post("/meant", query=QUERY, item_id="red-lamp")
    assert answer.status_code == 500
    assert "Not kept." in answer.text
    assert "Make room there" in answer.text
    assert "0 judged" in page.get()


def test_the_page_is_served_on_loopback_until_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "load_index", lambda _: index(WordEncoder()))
    seen: list[tuple[str | None, int]] = []

    def visit(url: str) -> None:
        try:
            seen.append((httpx.URL(url).host, httpx.get(url, timeout=30).status_code))
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    def ready(url: str) -> None:
        Thread(target=visit, args=[url]).start()

    with stopped_by_signals():
        tally = judge_forever(tiny_config(tmp_path), ready, 0)
    assert (seen, tally.judged) == ([("127.0.0.1", 200)], 0)


def test_a_taken_port_and_a_missing_index_are_one_line(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"judge: cannot listen on 127.0.0.1:{port} "):
            judge_forever(config, print, port)
    with pytest.raises(ArtifactError, match="Run it first: adamroute build CONFIG"):
        judge_forever(config, print, 0)
