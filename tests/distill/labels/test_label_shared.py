"""Labels whose users are shared through a database: the same labels, rounds committed as they end,
and a database that dies in the middle of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from adamroute.assembly import check_run, load_contexts, load_snapshot
from adamroute.config import Config, StoreConfig
from adamroute.distill.labels.label import run_label, share_users
from adamroute.errors import ArtifactError, StoreError
from adamroute.progress import SILENT
from adamroute.stages import read_manifest
from adamroute.store import ProfileStore, shared_store
from adamroute.teacher.constants import STORE_FILE
from adamroute.theta import Theta
from tests.distill.labels.test_label import contents
from tests.distill.market import label_market, market_config, market_index, market_shop
from tests.postgres import PASSWORD, Postgres, running_postgres

INDEX = market_index()
VARIABLE = "ADAMROUTE_TEST_STORE"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Labels that are shared with nobody."""
    config = market_config(tmp_path_factory.mktemp("alone"))
    label_market(config, market_shop(), INDEX)
    return config


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.sqlite'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.url()


@pytest.fixture
def mortal() -> Iterator[Postgres]:
    """A server of the test's own, to be killed."""
    with running_postgres() as server:
        yield server


def sharing(config: Config, monkeypatch: pytest.MonkeyPatch, url: str) -> Config:
    """The config with its users at `url`, which only the environment knows."""
    monkeypatch.setenv(VARIABLE, url)
    return config.model_copy(update={"store": StoreConfig(url=f"env:{VARIABLE}")})


def shared(config: Config) -> ProfileStore:
    key = read_manifest(config.stage("labels"), "label").key
    store = shared_store(config, key, read_only=True)
    assert store is not None
    return store


def kept(config: Config) -> ProfileStore:
    return ProfileStore.file(config.stage("labels") / STORE_FILE)


@contextmanager
def killed_in_round(server: Postgres, number: int) -> Iterator[None]:
    """The server dies inside a round's transaction: its thetas are sent, its users are not."""
    updates = []

    def watch(_: object, __: object, statement: str, *rest: object) -> None:
        if statement.startswith("UPDATE profile_users"):
            updates.append(rest)
            if len(updates) == number + 1:
                server.kill()

    event.listen(Engine, "before_cursor_execute", watch)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", watch)


def test_labels_are_the_same_bytes_wherever_the_users_are(
    alone: Config, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(market_config(tmp_path), monkeypatch, url)
    label_market(config, market_shop(), INDEX)
    assert contents(config) == contents(alone)
    assert shared(config).snapshot().hash == kept(alone).snapshot().hash
    assert shared(config).rounds() == kept(alone).rounds()
    assert shared(config).rounds().keys() == {0, 1}


def test_who_asks_and_has_no_history_gets_labels_and_no_record(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(market_config(tmp_path), monkeypatch, url)
    shop = market_shop()
    histories = {name: history for name, history in shop.histories.items() if name != "u0"}
    label_market(config, replace(shop, histories=histories), INDEX)
    assert '"user_id":"u0"' in (config.stage("labels") / "rows.jsonl").read_text().replace(" ", "")
    for store in (shared(config), kept(config)):
        assert "u0" not in store.snapshot().by_id
        assert store.rounds()[1].keys() == {"u1", "u4", "u5"}


@pytest.mark.parametrize("number", [0, 1])
def test_a_database_that_dies_in_a_round_keeps_none_of_it_and_a_rerun_gives_the_same_labels(
    number: int,
    alone: Config,
    mortal: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = sharing(market_config(tmp_path), monkeypatch, mortal.url())
    with killed_in_round(mortal, number), pytest.raises(StoreError) as caught:
        label_market(config, market_shop(), INDEX)
    said = str(caught.value)
    assert said.startswith(f"postgresql+psycopg://adamroute:***@127.0.0.1:{mortal.port}/shop_")
    assert f"writing round {number}, nothing of which was kept" in said
    assert "run the same command again" in said
    assert PASSWORD not in said
    assert {p.name for p in tmp_path.iterdir()} == {"shop", "index", "ranks", "labels.parts"}
    with pytest.raises(StoreError, match="Connection refused"):
        label_market(config, market_shop(), INDEX)

    mortal.start()
    key = read_manifest(alone.stage("labels"), "label").key
    store = shared_store(config, key, read_only=True)
    assert store is not None
    assert list(store.rounds()) == list(range(number))
    assert {user.round for user in store.snapshot().users} <= {-1, number - 1}
    label_market(config, market_shop(), INDEX)
    assert contents(config) == contents(alone)
    assert shared(config).snapshot().hash == kept(alone).snapshot().hash


def test_a_database_that_is_away_costs_no_labelling(
    mortal: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(market_config(tmp_path), monkeypatch, mortal.url())
    mortal.kill()
    with pytest.raises(StoreError, match="Connection refused"):
        label_market(config, market_shop(), INDEX)
    assert {p.name for p in tmp_path.iterdir()} == {"shop", "index", "ranks"}


def test_finished_labels_are_given_to_a_database_that_is_new_and_servers_read_it(
    alone: Config, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(alone, monkeypatch, url)
    before = contents(config)
    for _ in range(2):  # again is no harm
        share_users(config)
        assert contents(config) == before
        assert shared(config).rounds() == kept(config).rounds()
        assert load_snapshot(config.stage("labels"), config).hash == kept(config).snapshot().hash
        assert load_contexts(config, INDEX).snapshot.hash == kept(config).snapshot().hash


def test_a_server_refuses_users_that_its_labels_were_not_finished_with(
    alone: Config, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(alone, monkeypatch, url)
    labels = config.stage("labels")
    share_users(config)
    writer = shared_store(config, read_manifest(labels, "label").key, read_only=False)
    assert writer is not None
    writer.commit_round(99, {"u0": Theta(0.123, 20)})
    with pytest.raises(ArtifactError, match=r"was finished with .*adamroute label"):
        load_snapshot(labels, config)


def test_a_database_without_the_labels_stops_a_server_before_a_replica_starts(
    tiny_run: Config, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sharing(tiny_run, monkeypatch, url)
    with pytest.raises(ArtifactError, match="adamroute label"):
        check_run(config)
    run_label(config, SILENT)  # the labels are fresh: only their users are copied
    check_run(config)
