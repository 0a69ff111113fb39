"""One command at a time writes to a run's folder; those that only read it need not wait."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path

from adamroute.errors import InUseError

LOCK = ".lock"
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # of some network disks


@contextmanager
def only_writer(folder: Path, verb: str) -> Iterator[None]:
    """The block has the folder, which is made for it, to itself; InUseError says who has it.

    The system lets go of the lock of a process that was killed. A folder that stays empty goes.
    """
    path = folder / LOCK
    folder.mkdir(parents=True, exist_ok=True)
    lock = _locked(path)
    try:
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        holder = {"verb": verb, "pid": os.getpid(), "host": socket.gethostname(), "since": since}
        with suppress(OSError):  # for whoever comes next; a full disk is told by who needs room
            lock.truncate(0)
            lock.write(json.dumps(holder).encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock is let go: nobody may lock a file that is no more
            folder.rmdir()
        lock.close()


def _locked(path: Path) -> FileIO:
    while True:
        lock = FileIO(path, "a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            with lock:
                raise InUseError(f"{path.parent}: {_told(lock)}") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                lock.close()
                raise
            return lock
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(lock.fileno())):
                return lock
        lock.close()  # its holder ended just now, and removed it


def _told(lock: FileIO) -> str:
    lock.seek(0)
    try:
        holder = json.loads(lock.read())
        who = "`adamroute {verb}` writes there (process {pid} on {host}, since {since})"
        who = who.format(**holder)
    except (ValueError, KeyError, TypeError):  # it begins just now
        who = "another command writes there"
    return f"{who}. Wait for it, stop it, or give another --out"
