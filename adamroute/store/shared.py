"""The database that the config names, where several labellings and their servers meet."""

from __future__ import annotations

import os

from adamroute.config import Config
from adamroute.errors import ConfigError
from adamroute.store.place import Place
from adamroute.store.profiles import ProfileStore

FROM_ENVIRONMENT = "env:"


def shared_store(config: Config, labels_key: str, *, read_only: bool) -> ProfileStore | None:
    """The run of these labels in the shared database; None where the config names none.

    A run is named by the config and the key of its labels, so that a new labelling never touches
    what servers of the one before it read. Folds of a report stay in their own files.
    """
    url = config.store.url
    if url is None or config.fold is not None:
        return None
    place = Place.shared(_resolved(url), f"store.url ({_source(url)})")
    return ProfileStore(place, f"{config.name}/{labels_key}", read_only=read_only)


def _resolved(url: str) -> str:
    if not url.startswith(FROM_ENVIRONMENT):
        return url
    found = os.environ.get(url.removeprefix(FROM_ENVIRONMENT))
    if not found:
        raise ConfigError(f"store.url: {url}, but no such variable is set. Export it first")
    return found


def _source(url: str) -> str:
    return url if url.startswith(FROM_ENVIRONMENT) else "in the config"
