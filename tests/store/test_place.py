"""A database's address: what is accepted, and that its password is seen nowhere."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pytest

from adamroute.config import Config, StoreConfig
from adamroute.errors import ConfigError, StoreError
from adamroute.store import ProfileStore, shared_store
from adamroute.store.place import Place
from tests.postgres import Postgres, unused_port

SECRET = "s3cret/with:signs@"
ESCAPED = "s3cret%2Fwith%3Asigns%40"
VARIABLE = "ADAMROUTE_STORE_URL"


def config(url: str | None, **more: object) -> Config:
    store = {"url": url}
    return Config.model_validate({"name": "n", "shop": "s", "out": "o", "store": store, **more})


def test_the_name_of_a_place_has_neither_the_password_nor_the_options() -> None:
    url = f"postgresql+psycopg://ann:{ESCAPED}@db.example:5433/shop?password={ESCAPED}"
    place = Place.shared(url, "test")
    assert place.url.password == SECRET
    assert str(place) == "postgresql+psycopg://ann:***@db.example:5433/shop"
    assert "s3cret" not in repr(place)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop",
        f"postgresql://ann:{ESCAPED}@host/shop",
        f"mysql://ann:{ESCAPED}@host/shop",
        f"postgresql+psycopg://ann:{ESCAPED}@host",
        f"postgresql+psycopg://ann:{SECRET}@host:port/shop",
        "sqlite://",
        "sqlite:///relative.sqlite",
    ],
)
def test_a_url_that_cannot_be_used_is_an_error_that_does_not_show_it(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^store\.url: .*wanted postgresql") as caught:
        Place.shared(url, "store.url")
    shown = "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in shown
    assert "relative.sqlite" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:s3cret@host/shop",
        "postgresql+psycopg://host/shop?user=ann&password=s3cret",
        f"postgresql+psycopg://ann:{SECRET}@host/shop",
    ],
)
def test_a_config_refuses_a_password_and_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ValueError, match="put the URL into a variable") as caught:
        config(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        None,
        "env:SHOP_STORE",
        "sqlite:////srv/shop.sqlite",
        "postgresql+psycopg://host:5432/shop",
        "postgresql+psycopg://ann@host:5432/shop",
    ],
)
def test_a_config_takes_a_variable_or_a_url_without_a_password(url: str | None) -> None:
    assert StoreConfig(url=url).url == url


def test_without_the_driver_the_package_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'psycopg\[binary\]'"):
        ProfileStore(Place.shared("postgresql+psycopg://host/shop", "test"), "run")


def test_without_a_url_and_in_a_fold_nothing_is_shared() -> None:
    assert shared_store(config(None), "key", read_only=False) is None
    fold = config(f"env:{VARIABLE}", fold={"of": 5, "number": 0})
    assert shared_store(fold, "key", read_only=False) is None


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=f"{VARIABLE}.*Export it"):
        shared_store(config(f"env:{VARIABLE}"), "key", read_only=True)


def test_a_run_is_named_by_config_and_labels(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url()
    monkeypatch.setenv(VARIABLE, url)
    store = shared_store(config(f"env:{VARIABLE}"), "0123", read_only=False)
    assert store is not None
    store.start([])
    ProfileStore(Place.shared(url, "test"), "n/0123").check()


def test_an_sqlite_file_that_nobody_made_yet_says_what_to_run(tmp_path: Path) -> None:
    place = Place.shared(f"sqlite:///{tmp_path / 'none.sqlite'}", "test")
    with pytest.raises(StoreError, match=r"unable to open database file.*adamroute label"):
        ProfileStore(place, "run").check()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_password_or_an_absent_server_is_said_without_the_password(
    postgres: Postgres,
) -> None:
    good = Place.shared(postgres.url(), "test").url
    addresses = {
        "password authentication failed": good.set(password=SECRET),
        "Connection refused": good.set(password=SECRET, port=unused_port()),
    }
    for reason, url in addresses.items():
        place = Place.shared(url.render_as_string(hide_password=False), "test")
        with pytest.raises(StoreError, match=reason) as caught:
            ProfileStore(place, "run").check()
        assert str(caught.value).startswith(f"{place}: ")
        assert "run the same command again" in str(caught.value)
        shown = "".join(traceback.format_exception(caught.value))
        assert SECRET not in shown
        assert ESCAPED not in shown


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%41b", "a b", "größe 漢字", "a&mode=ro", "?#"])
def test_an_sqlite_file_lies_where_its_path_says(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path = folder / "store.sqlite"
    made = ProfileStore.create_file(path, [])
    assert ProfileStore.file(path).snapshot().hash == made.snapshot().hash
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert [p.name for p in folder.iterdir()] == ["store.sqlite"]
