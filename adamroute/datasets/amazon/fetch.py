"""Photos by address: many at a time, patiently, from public hosts only, and once each.

What was fetched lies in `images/`, named by the sha256 of its address, and one line about each
address is in `images.jsonl`: the checksum of the bytes as they came and of the file as it is kept,
or the name of the problem. A photo whose file is there and has its checksum is not fetched again;
everything else is tried anew. No problem of one photo ends the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import httpx
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential

from adamroute.datasets.amazon.addresses import CheckedTransport, RefusedAddressError
from adamroute.datasets.amazon.small_jpeg import PhotoError, Problem, small_jpeg
from adamroute.errors import ShopError
from adamroute.progress import Advance, Progress
from adamroute.stages import write_text

FOLDER, MANIFEST = "images", "images.jsonl"
_AGAIN = {408, 425, 429, 500, 502, 503, 504}  # worth another try
_UNTYPED = {"application/octet-stream", "binary/octet-stream"}  # how some hosts serve photos
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard to try, and how much to take."""

    at_once: int = 16
    tries: int = 4
    wait_s: float = 0.5  # before the second try; doubled before each further one, at most 30
    timeout_s: float = 20.0  # one try, from the connection to the last byte
    max_bytes: int = 10 * 2**20
    max_redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one address: a line of images.jsonl."""

    url: str
    sha256: str | None  # of the bytes as they came, None where there is a problem
    file_sha256: str | None  # of the small JPEG that is kept
    problem: Problem | None


class _BriefPhotoError(PhotoError):
    """Another try may help."""


def photo_name(url: str) -> str:
    """Path of an address's photo, relative to the shop folder."""
    return f"{FOLDER}/{_sha256(url.encode('utf-8', 'replace'))[:32]}.jpg"


def fetch_photos(
    urls: Iterable[str],
    folder: Path,
    progress: Progress,
    *,
    limits: Limits | None = None,
    transport: CheckedTransport | None = None,
) -> Mapping[str, int]:
    """Fetch every address into the folder; how many photos are there, and problems by name."""
    wanted = tuple(dict.fromkeys(urls))
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    known = _kept(folder)
    todo = [url for url in wanted if url not in known]
    with progress.task("photos", len(wanted)) as advance:
        advance(len(wanted) - len(todo))
        with (folder / MANIFEST).open("a", encoding="utf-8") as lines:
            lines.write("\n")  # ends a line that an earlier run left half written
            run = _Run(folder, lines, limits or Limits())
            for fetched in _finished(run.all(todo, transport, advance), folder):
                known[fetched.url] = fetched
    write_text(folder / MANIFEST, "".join(_line(known[url]) for url in sorted(known)))
    outcomes = Counter(known[url].problem or "photos" for url in wanted)
    return dict(sorted(outcomes.items()))


def _finished(work: Coroutine[None, None, list[Fetched]], folder: Path) -> list[Fetched]:
    try:
        return asyncio.run(work)
    except ExceptionGroup as group:
        if (full := group.subgroup(OSError)) is None:
            raise
        raise ShopError(
            f"{folder / FOLDER}: photos cannot be written: {full.exceptions[0]}. "
            "Make room and run the same command again: what is there is kept"
        ) from group


def _kept(folder: Path) -> dict[str, Fetched]:
    """What earlier runs fetched and is still whole, by address."""
    kept = {}
    path = folder / MANIFEST
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in text.split("\n"):
        try:
            found = Fetched(**json.loads(line))
            data = (folder / photo_name(found.url)).read_bytes()
        except (ValueError, TypeError, AttributeError, OSError):  # half a line, no photo
            continue
        if found.file_sha256 == _sha256(data):
            kept[found.url] = found
    return kept


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _line(fetched: Fetched) -> str:
    return json.dumps(asdict(fetched), sort_keys=True) + "\n"


class _Run:
    """One round over the addresses that are still to do."""

    def __init__(self, folder: Path, lines: IO[str], limits: Limits) -> None:
        self._folder, self._lines, self._limits = folder, lines, limits

    async def all(
        self, urls: list[str], transport: CheckedTransport | None, advance: Advance
    ) -> list[Fetched]:
        """Every address once, `at_once` at a time."""
        waiting = iter(urls)
        done: list[Fetched] = []

        async def work(client: httpx.AsyncClient) -> None:
            for url in waiting:  # shared: each worker takes the next one
                done.append(await self._one(client, url))
                self._lines.write(_line(done[-1]))
                self._lines.flush()
                advance(1)

        async with self._client(transport) as client, asyncio.TaskGroup() as workers:
            for _ in range(min(self._limits.at_once, len(urls))):
                workers.create_task(work(client))
        return done

    def _client(self, transport: CheckedTransport | None) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=transport or CheckedTransport(),
            follow_redirects=False,  # httpx would read the body of each, however long
            timeout=self._limits.timeout_s,
            trust_env=False,
            headers={"Accept": "image/*", "Accept-Encoding": "identity"},
        )

    async def _one(self, client: httpx.AsyncClient, url: str) -> Fetched:
        try:
            data = await self._patiently(client, url)
            kept = await asyncio.to_thread(small_jpeg, data)
        except PhotoError as error:
            return Fetched(url, None, None, error.problem)
        path = self._folder / photo_name(url)
        partial = path.with_name(path.name + ".part")
        partial.write_bytes(kept)
        partial.replace(path)
        return Fetched(url, _sha256(data), _sha256(kept), None)

    async def _patiently(self, client: httpx.AsyncClient, url: str) -> bytes:
        again = AsyncRetrying(
            stop=stop_after_attempt(self._limits.tries),
            wait=wait_exponential(multiplier=self._limits.wait_s, max=30.0),
            retry=retry_if_exception_type(_BriefPhotoError),
            reraise=True,
        )
        return await again(self._try, client, url)

    async def _try(self, client: httpx.AsyncClient, url: str) -> bytes:
        """The bytes behind an address; PhotoError names what went wrong."""
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                return await self._followed(client, client.build_request("GET", url))
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise PhotoError("bad_address") from error
        except RefusedAddressError as error:
            raise PhotoError("refused_address") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _BriefPhotoError("timed_out") from error
        except httpx.HTTPError as error:
            raise _BriefPhotoError("unreachable") from error

    async def _followed(self, client: httpx.AsyncClient, request: httpx.Request) -> bytes:
        """The body at the end of the redirects, of which no body is read."""
        for _ in range(self._limits.max_redirects + 1):
            answer = await client.send(request, stream=True)
            try:
                if answer.next_request is None:
                    _check(answer)
                    return await self._body(answer)
                request = answer.next_request
            finally:
                await answer.aclose()
        raise PhotoError("too_many_redirects")

    async def _body(self, answer: httpx.Response) -> bytes:
        """As it was sent: a packed body could unpack to any size."""
        data = bytearray()
        async for chunk in answer.aiter_raw(_CHUNK):
            data += chunk
            if len(data) > self._limits.max_bytes:
                raise PhotoError("too_large")
        return bytes(data)


def _check(answer: httpx.Response) -> None:
    status = answer.status_code
    if status in _AGAIN:
        raise _BriefPhotoError("server_error")
    if status in (404, 410):
        raise PhotoError("not_found")
    if status != 200:
        raise PhotoError("server_error" if status >= 500 else "refused_by_server")
    kind = answer.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind and not kind.startswith("image/") and kind not in _UNTYPED:
        raise PhotoError("wrong_type")
    packing = answer.headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity"):
        raise PhotoError("wrong_type")
