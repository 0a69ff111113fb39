"""How a command ends that could not do its work: what it says, and its exit code.

An AdamrouteError is said as it stands. What the machine refuses (a full disk, a folder that can't
be written) is said with the path and what helps. Anything else is a bug of ours: it keeps its
traceback, and the last line says so.
"""

from __future__ import annotations

import errno
import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adamroute.errors import AdamrouteError
from adamroute.process import Stopped

WRONG, BUG = 2, 1  # exit codes
GOES_ON = "run the same command again: it goes on where it was"
_ROOM = f"Make room there, then {GOES_ON}"
_WRITABLE = "Give a folder that you may write to: --out DIR, or `out` in the config"
_FOLDER = "Give a path that is a folder, or none yet: --out DIR, or `out` in the config"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: _WRITABLE,
    errno.EACCES: f"{_WRITABLE}; or a shop that you may read",
    errno.EPERM: _WRITABLE,
    errno.ENOTDIR: _FOLDER,
    errno.EEXIST: _FOLDER,
    errno.EISDIR: _FOLDER,
    errno.ELOOP: "A link there leads to itself",
    errno.ENAMETOOLONG: "Give a shorter one: --out DIR, or `out` in the config",
    errno.EMFILE: f"Allow more open files (ulimit -n 4096), then {GOES_ON}",
    errno.ENFILE: f"Too much is open on this machine. Close something, then {GOES_ON}",
    errno.EIO: f"See whether the disk is well, then {GOES_ON}",
}
FULL = 64 * 1024  # bytes left on a disk that is called full


def ending(error: BaseException) -> tuple[str, int]:
    """What is said at last, in one line but for bugs, and the exit code."""
    if isinstance(error, Stopped):
        return f"stopped by {error}. To go on, {GOES_ON}", error.code
    if isinstance(error, AdamrouteError):
        return str(error), WRONG
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        where = error.filename or "a file (of `out` or TMPDIR)"
        return f"{os.fsdecode(where)}: {error.strerror}. {_REMEDIES[error.errno]}", WRONG
    trace = "".join(traceback.format_exception(error))
    told = "this is a bug in adamroute, not in what you gave it. Please report the lines above"
    return f"{trace}adamroute: {told}", BUG


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An error of the block names the path, and a full disk as such.

    A write that fails doesn't say where; libraries don't even say why.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
    except AdamrouteError:
        raise
    except Exception as error:
        if not _is_full(path, error):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


def _is_full(path: Path, error: Exception) -> bool:
    said = os.strerror(errno.ENOSPC) in str(error)
    return said or shutil.disk_usage(path.parent).free < FULL
