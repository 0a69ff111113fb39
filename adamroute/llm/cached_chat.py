"""Replies kept by the content of their ask, so that no call is paid for twice.

A labelling run that was killed, and each later round, find the same replies here: labels come out
the same, and only what is new costs anything. Failures are not kept. One SQLite file; each batch
is one transaction, so a kill leaves the batches before it whole.

Limits: the key names the model but not its weights. After a server changed what stands behind a
model's name, delete the file. Tokens and ms of a kept reply are those of the call that was made.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from adamroute.errors import ArtifactError, PhotoDefectError
from adamroute.llm.chat import Ask, ChatEngine, Form, Reply
from adamroute.llm.exchange import photo_sent
from adamroute.stages import file_hash

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
_FIND = "SELECT reply FROM replies WHERE key = ?"
_KEEP = "INSERT OR REPLACE INTO replies VALUES (?, ?)"
BUSY_S = 30.0  # wait for another process that writes


@dataclass(frozen=True)
class CachedChat:
    """An engine that answers known asks from a file."""

    engine: ChatEngine
    path: Path
    decoding: str  # all settings beside the model that shape a reply

    @property
    def name(self) -> str:
        return self.engine.name

    def check(self) -> None:
        self.engine.check()

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        """Kept replies where there are, the engine's elsewhere; equal asks are sent once.

        ArtifactError where the file is no cache of ours.
        """
        keys = [self._key(ask) for ask in asks]
        wanted = dict(zip(keys, asks, strict=True))
        known = self._read(wanted)
        missing = {key: ask for key, ask in wanted.items() if key not in known}
        fresh = dict(zip(missing, self.engine.chat(list(missing.values())), strict=True))
        self._keep(fresh)
        return [known.get(key) or fresh[key] for key in keys]

    def _read(self, wanted: Mapping[str, Ask[Form]]) -> dict[str, Reply[Form]]:
        with self._base() as base:
            found = {key: base.execute(_FIND, (key,)).fetchone() for key in wanted}
            return {key: _reply(row[0], wanted[key]) for key, row in found.items() if row}

    def _keep(self, fresh: Mapping[str, Reply[Form]]) -> None:
        good = [(key, _row(reply)) for key, reply in fresh.items() if reply.failure is None]
        if good:
            with self._base() as base:
                base.executemany(_KEEP, good)

    @contextmanager
    def _base(self) -> Iterator[sqlite3.Connection]:
        """One transaction over the file."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as base, base:
                base.execute(_TABLE)
                yield base
        except (sqlite3.Error, OSError, ValueError) as error:  # value: a row of another form
            raise ArtifactError(
                f"{self.path}: the cache of replies can't be used ({error}). "
                "Delete the file; replies are then asked for again"
            ) from error

    def _key(self, ask: Ask[Form]) -> str:
        whole = [
            self.name, self.decoding, ask.system, ask.user, ask.form.schema_sent(),
            ask.max_tokens, [_content(image) for image in ask.images],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _row(reply: Reply[Form]) -> str:
    value = reply.value and reply.value.model_dump(mode="json")
    return json.dumps({**vars(reply), "value": value})


def _reply(row: str, ask: Ask[Form]) -> Reply[Form]:
    kept = json.loads(row)
    return Reply(**{**kept, "value": ask.form.model_validate(kept["value"])})


def _content(image: Path) -> str:
    """sha256 of what is sent, which for a plain photo is the file's."""
    try:
        return hashlib.sha256(photo_sent(image)[1]).hexdigest()
    except PhotoDefectError:  # the engine will name the failure, and failures are not kept
        return file_hash(image) if image.is_file() else "unreadable"
