"""The client of a server, past the environment's proxies, and where a server's sockets lie."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

import pytest

from adamroute.errors import ConfigError, ServingError
from adamroute.process import Stopped
from adamroute.serving import app
from adamroute.serving.client import ask_server, client
from tests.llm.loopback import completion, loopback


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "nonsense"])
def test_no_proxy_of_the_environment_stands_before_a_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    with loopback(lambda _: completion("here")) as server, client(server.base_url, 5.0) as asker:
        assert "here" in asker.post("/chat/completions", json={}).text


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:9", "http://[", "http://a:x"])
def test_an_address_where_no_server_is_is_told(url: str) -> None:
    with pytest.raises(ServingError, match=r"no answer .*Start a server first"):
        ask_server(url, {"query": "mug"})


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")
    with pytest.raises(ServingError, match=r"no answer .*proxy"):
        ask_server("http://shop.invalid", {"query": "mug"})


def test_sockets_lie_in_a_folder_of_a_short_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = app._temporary()
    try:
        # The longest socket of Ray's: 107 bytes are what the system takes.
        inside = "session_2026-11-30_18-22-02_123456_1234567/sockets/plasma_store"
        assert len(str(folder / inside)) <= 107
    finally:
        folder.rmdir()


def test_where_no_short_folder_can_be_written_the_length_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigError, match="Set TMPDIR to a folder of at most 24 characters"):
        app._temporary()


def test_sigterm_as_ray_starts_stops_as_elsewhere() -> None:
    def init() -> None:  # as Ray's
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped, match="SIGTERM"), app._sigterm_kept():
        init()
    assert signal.getsignal(signal.SIGTERM) == before
