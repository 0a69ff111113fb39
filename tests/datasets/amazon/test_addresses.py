"""Which addresses are refused, and that the checked address is the one connected to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.datasets.amazon.addresses import (
    KEPT_HOSTS,
    CheckedTransport,
    RefusedAddressError,
    is_public,
)

if TYPE_CHECKING:
    from tests.datasets.amazon.conftest import PhotoServer


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8"])
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1", "172.16.5.4", "192.168.1.1", "127.0.0.1", "127.8.8.8", "0.0.0.0",
        "169.254.169.254", "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "192.0.2.1", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1",
        "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:0:7f00:1::", "no address", "",
    ],
)  # fmt: skip
def test_anything_else_is_refused(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_within_ipv6_is_judged_as_itself(address: object) -> None:
    assert is_public(f"::ffff:{address}") == is_public(str(address))


class Names:
    """A resolver whose answer changes with every call."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers: Iterator[list[str]] = iter(answers)

    async def __call__(self, *_: object) -> list[str]:
        return next(self.answers)


def get(names: Names, url: str, *, allow_loopback: bool) -> httpx.Response:
    async def run() -> httpx.Response:
        transport = CheckedTransport(resolve=names, allow_loopback=allow_loopback)
        async with httpx.AsyncClient(transport=transport, trust_env=False, timeout=5) as client:
            return await client.get(url)

    return asyncio.run(run())


def test_the_connection_goes_to_the_address_that_was_checked(server: PhotoServer) -> None:
    names = Names(["127.0.0.1"])  # no system knows shop.invalid, and a second look would fail
    answer = get(names, server.url("small", "shop.invalid"), allow_loopback=True)
    assert answer.status_code == 200
    assert server.asked == [("/small", f"shop.invalid:{server.port}")]


@pytest.mark.parametrize("others", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"]])
def test_one_address_that_is_not_public_refuses_the_host(
    server: PhotoServer, others: list[str]
) -> None:
    with pytest.raises(RefusedAddressError, match=r"shop\.invalid: .* is no public address"):
        get(Names(others), server.url("small", "shop.invalid"), allow_loopback=False)
    assert server.asked == []


def test_allowing_loopback_allows_nothing_else_that_is_private(server: PhotoServer) -> None:
    with pytest.raises(RefusedAddressError):
        get(Names(["192.168.1.1"]), server.url("small", "shop.invalid"), allow_loopback=True)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost", "[::1]"])
def test_loopback_in_disguise_is_refused_by_the_system_resolver(
    server: PhotoServer, host: str
) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=CheckedTransport(), trust_env=False) as client:
            await client.get(server.url("small", host))

    with pytest.raises(RefusedAddressError):
        asyncio.run(run())
    assert server.asked == []


def test_the_next_address_is_tried_where_one_does_not_answer(server: PhotoServer) -> None:
    names = Names(["127.0.0.9", "127.0.0.1"])  # the server listens on the second only
    answer = get(names, server.url("small", "shop.invalid"), allow_loopback=True)
    assert answer.status_code == 200


class KeepingServer(ThreadingHTTPServer):
    """Holds connections for as long as the client does; `open` is how many there are."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keeping)
        self.open: set[object] = set()


class _Keeping(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: KeepingServer

    def handle(self) -> None:
        self.server.open.add(self)
        super().handle()
        self.server.open.discard(self)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


async def kept_connections(server: KeepingServer, hosts: int) -> int:
    """Connections that are left after a photo of each host."""
    port = int(server.server_address[1])
    names = Names(*[["127.0.0.1"]] * hosts)
    transport = CheckedTransport(resolve=names, allow_loopback=True)
    async with httpx.AsyncClient(transport=transport, trust_env=False, timeout=5) as client:
        for host in range(hosts):
            await client.get(f"http://shop{host}.invalid:{port}/")
        while len(server.open) > KEPT_HOSTS:  # the server hears of the end a moment later
            await asyncio.sleep(0.01)
        return len(server.open)


def test_thousands_of_hosts_do_not_keep_a_connection_each() -> None:
    with KeepingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            left = asyncio.run(asyncio.wait_for(kept_connections(server, KEPT_HOSTS + 9), 5))
        finally:
            server.shutdown()
            thread.join()
    assert left == KEPT_HOSTS


def test_a_name_without_an_address_is_a_connection_error() -> None:
    with pytest.raises(httpx.ConnectError, match="no address"):
        get(Names([]), "http://shop.invalid/x", allow_loopback=False)
