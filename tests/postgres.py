"""A real PostgreSQL for tests: this machine's own, on loopback, in a folder that goes away."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import URL

REQUIRED = "ADAMROUTE_REQUIRE_POSTGRES"  # set: no PostgreSQL is a failure, not a skipped test
PASSWORD = "correct horse"  # of the server that only lives during the tests
_USER = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
_number = count()


class Postgres:
    """One server. `kill` is the power cut, `start` what comes after it."""

    def __init__(self, programs: Path, home: Path) -> None:
        self._programs = programs
        self._data = home / "data"
        self._home = home
        self.port = unused_port()
        self._alive = False
        secret = home / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        if _USER:
            for path in (home, secret):
                shutil.chown(path, _USER)
        self._run(
            "initdb", "--username=adamroute", f"--pwfile={secret}", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip

    def url(self) -> str:
        """Of a new, empty database."""
        name = f"shop_{next(_number)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        url = URL.create("postgresql+psycopg", "adamroute", PASSWORD, "127.0.0.1", self.port, name)
        return url.render_as_string(hide_password=False)

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self._home} -F"
        self._run("pg_ctl", "start", "--wait", f"--log={self._home / 'log'}", "-o", options)
        self._alive = True

    def stop(self) -> None:
        if self._alive:
            self._run("pg_ctl", "stop", "--mode=immediate")

    def kill(self) -> None:
        """SIGKILL to the server; returns when its children are gone too."""
        pid = int((self._data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        server = psutil.Process(pid)
        family = [server, *server.children(recursive=True)]
        server.kill()
        self._alive = False
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive

    def _address(self, database: str) -> str:
        where = f"host=127.0.0.1 port={self.port} dbname={database}"
        return f"{where} user=adamroute password='{PASSWORD}'"

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, "-D", self._data, *arguments],
            cwd=self._home, user=_USER, group=_USER, extra_groups=[] if _USER else None,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stderr}"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Skips the test where no PostgreSQL is installed."""
    programs = _programs()
    if programs is None:
        reason = "no PostgreSQL here (no initdb): apt-get install postgresql"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}. {REQUIRED} is set")
        pytest.skip(reason)
    home = Path(tempfile.mkdtemp(prefix="adamroute-postgres-"))
    try:
        server = Postgres(programs, home)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home)


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl: on PATH, or the newest of Debian's."""
    found = shutil.which("initdb") or shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=lambda folder: int(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def unused_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
