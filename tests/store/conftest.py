"""One place of each kind: the suite of the contract runs on both."""

from __future__ import annotations

from pathlib import Path

import pytest

from adamroute.store.place import Place
from tests.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty database that several runs may share."""
    if request.param == "sqlite":
        return Place.shared(f"sqlite:///{tmp_path / 'shared.sqlite'}", "test")
    server: Postgres = request.getfixturevalue("postgres")
    return Place.shared(server.url(), "test")
