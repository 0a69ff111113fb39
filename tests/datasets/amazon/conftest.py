"""A photo server on loopback that misbehaves by path, and files in the public formats."""

from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image


def picture(width: int, height: int, kind: str = "JPEG", mode: str = "RGB") -> bytes:
    """A photo of that size, one colour from side to side fading into another."""
    image = Image.linear_gradient("L").resize((width, height)).convert(mode)
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def packed(path: Path, lines: list[str]) -> Path:
    """The lines as a gzip file."""
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


class PhotoServer(ThreadingHTTPServer):
    """Serves what each path says; `asked` holds (path, Host header) of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str]] = []
        self.over = threading.Event()
        self.three = threading.Barrier(3, timeout=10)
        self._lock, self._inside, self.most = threading.Lock(), 0, 0

    def enter(self, step: int) -> None:
        """Count the requests that are being answered; `most` is how many there ever were."""
        with self._lock:
            self._inside += step
            self.most = max(self.most, self._inside)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/{path}"

    def times(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(asked == f"/{path}" for asked, _ in self.asked)


class _Handler(BaseHTTPRequestHandler):
    server: PhotoServer

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Host", "")))
        name = self.path.strip("/").split("?")[0]
        if name.startswith("to/"):  # /to/ADDRESS: a redirect there
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif name == "busy-once" and self.server.times("busy-once") == 1:
            self._answer(b"later", status=503)
        elif name.isdigit():
            self._answer(b"no", status=int(name))
        elif name == "slow":
            self.server.over.wait(30)
        elif name == "drip":
            self._drip()
        elif name.startswith("drip-to/"):  # a redirect whose body never ends
            self._drip(status=302, to=self.path.removeprefix("/drip-to/"))
        elif name == "packed-twice":
            twice = gzip.compress(gzip.compress(picture(60, 40)))
            self._answer(twice, "image/jpeg", packing="gzip, gzip")
        elif name == "three":  # answered only when three are asked for at the same time
            self.server.enter(1)
            self.server.three.wait()
            self.server.enter(-1)
            self._file("small")
        elif name == "hang-up":
            return
        elif name == "short":
            self._answer(picture(60, 40), "image/jpeg", more=1)
        else:
            self._file(name)

    def _file(self, name: str) -> None:
        photo = picture(300, 150)
        files = {
            "large": (photo, "image/jpeg"),
            "small": (picture(60, 40), "image/jpeg"),
            "busy-once": (picture(60, 40), "image/jpeg"),
            "cut": (photo[: len(photo) // 2], "image/jpeg"),
            "page": (b"<html>gone</html>", "text/html"),
            "page-as-photo": (b"<html>gone</html>", "image/jpeg"),
            "dot": (picture(1, 1, "GIF"), "image/gif"),
            "untyped": (picture(60, 40), "binary/octet-stream"),
            "huge": (b"\xff\xd8" + bytes(200_000), "image/jpeg"),
        }
        body, kind = files[name]
        self._answer(body, kind)

    def _answer(
        self,
        body: bytes,
        kind: str = "text/plain",
        status: int = 200,
        more: int = 0,
        packing: str = "identity",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Encoding", packing)
        self.send_header("Content-Length", str(len(body) + more))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, status: int = 200, to: str | None = None) -> None:
        """A byte now and then: each arrives within any limit on one read."""
        self.send_response(status)
        self.send_header("Content-Type", "image/jpeg")
        if to is not None:
            self.send_header("Location", to)
        self.end_headers()
        while not self.server.over.wait(0.02):
            try:
                self.wfile.write(b"x")
            except OSError:  # the client gave up, as it should
                return

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[PhotoServer]:
    with PhotoServer() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.over.set()
        made.shutdown()
        thread.join()


@pytest.fixture
def downloads(tmp_path: Path, server: PhotoServer) -> Path:
    """What a user would have downloaded for amazon-beauty: three queries, four items of 2014."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "beauty_query_data1.csv").write_text(QUERIES, encoding="utf-8")
    (folder / "beauty_user_profile.csv").write_text(USERS, encoding="utf-8")
    items = [
        {
            "asin": "B1", "title": "Argan Oil &amp; Balm", "imUrl": server.url("large"),
            "description": "<b>Softens</b> skin.", "price": 7.89, "brand": "Elma",
            "categories": [["Beauty", "Skin Care", "Oils"], ["Beauty", "Hair Care"]],
            "salesRank": {"Beauty": 57294}, "related": {"also_bought": ["B2", "B3"]},
        },
        {"asin": "B2", "title": "Nail 'Coat'", "imUrl": server.url("404")},
        {"asin": "B3", "title": "Sun Lotion", "imUrl": server.url("small")},
        {"asin": "B4", "title": "", "imUrl": server.url("small")},
        {"asin": "B1", "title": "Argan Oil again"},
    ]  # fmt: skip
    packed(folder / "meta_Beauty.json.gz", [repr(item) for item in items])
    return folder


QUERIES = """\
id,title,user_id,remaining_interaction_string,query,classification,preferences,new_query
B1,Argan Oil &amp; Balm,ann,B2|B3|B9|B1,old words,-1,wants oil,"an oil, cold pressed &amp; virgin"
B3,Sun Lotion,bob,B1,old words,3,wants lotion,something for the beach
B3,Sun Lotion,bob,B1,old words,3,wants lotion,something for the beach
B8,Gone,cid,B3,old words,0,wants it,the one that is not there
"""
USERS = """\
,user_id,interaction_string,profile
0,ann,B1|B2|B3|B9,a person
1,bob,B3|B1,a person
2,cid,B8|B3,a person
3,dee,B2,a person
"""


def rows(path: Path) -> list[dict[str, object]]:
    """A JSONL file's records."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
