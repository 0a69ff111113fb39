"""Connections to public addresses only, whatever a catalogue's photo addresses say.

A host name is resolved once a request, every address it has is checked, and the connection goes
to a checked address, not to the name: a name that resolves otherwise a moment later gains nothing.
Redirects come through here hop by hop. Proxies from the environment are not used, because then
the proxy would resolve the name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

import httpx

Resolve = Callable[[str, int], Awaitable[list[str]]]
KEPT_HOSTS, KEPT_CONNECTIONS = 16, 16  # kept ones of all of thousands would use up descriptors
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class RefusedAddressError(Exception):
    """A host has an address that is not public."""


def is_public(address: str) -> bool:
    """Whether an IP address is a public host's: not private, loopback, link-local, multicast,
    reserved, nor an IPv6 form that leads to such an IPv4 address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(ip.packed[-4:])
        elif ip.sixtofour is not None or ip.teredo is not None or ip.is_site_local:
            return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


async def resolve(host: str, port: int) -> list[str]:
    """Every address of a host as the system resolves it; OSError where there is none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class CheckedTransport(httpx.AsyncBaseTransport):
    """Sends each request to a checked address of its host.

    TLS still names and verifies the host. Each host has connections of its own: one pool by
    address would let two hosts behind one address share a connection verified for the first. The
    first hosts keep theirs for the next photo, all others close each at once.
    """

    def __init__(self, *, resolve: Resolve = resolve, allow_loopback: bool = False) -> None:
        """`allow_loopback` is for tests with a server of their own, never for a user's data."""
        self._resolve = resolve
        self._allow_loopback = allow_loopback
        self._tls = httpx.create_ssl_context()
        self._by_host: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """RefusedAddressError where any address of the host is not public."""
        host, scheme = request.url.host, request.url.scheme
        port = request.url.port or (443 if scheme == "https" else 80)
        if scheme not in ("http", "https") or not host or port > 65535:
            raise httpx.UnsupportedProtocol(f"{request.url}: no address of the web")
        addresses = await self._checked(host, port)
        if host not in self._by_host:
            kept = KEPT_CONNECTIONS if len(self._by_host) < KEPT_HOSTS else 0
            limits = httpx.Limits(max_keepalive_connections=kept)
            self._by_host[host] = httpx.AsyncHTTPTransport(verify=self._tls, limits=limits)
        for address in addresses[:-1]:
            try:
                return await self._send(host, address, request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # IPv6 without a route, say: the next address
        return await self._send(host, addresses[-1], request)

    async def aclose(self) -> None:
        for transport in self._by_host.values():
            await transport.aclose()

    async def _checked(self, host: str, port: int) -> list[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{host}: cannot be resolved: {error}") from error
        for address in addresses:
            if not (is_public(address) or (self._allow_loopback and _is_loopback(address))):
                raise RefusedAddressError(f"{host}: {address} is no public address")
        if not addresses:
            raise httpx.ConnectError(f"{host}: no address")
        return addresses

    async def _send(self, host: str, address: str, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,  # Host stays the name
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._by_host[host].handle_async_request(sent)
