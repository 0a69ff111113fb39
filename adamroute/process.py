"""What holds for a process from its start: threads and how they wait, text, signals.

OpenMP reads its variables when it is loaded. A thread that waits must sleep: where threads spin,
two busy cores embedded 8 texts/s instead of 115, `make demo` took twice as long, and a forward
pass in a Ray actor took 1.1 s instead of 80 ms.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from adamroute.errors import ConfigError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Stopped(BaseException):
    """SIGINT or SIGTERM; as KeyboardInterrupt, nobody who handles errors catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number  # exit code, as a shell counts


def prepare_process(threads: int | None = None) -> None:
    """Set the thread count of OpenMP, BLAS, torch and FAISS, and let waiting threads sleep.

    Libraries get a folder for what they keep in a home that can't be written, or isn't there.
    `threads` None leaves the count to the environment or the machine. What the environment
    already says of waiting stays. Where torch or FAISS were loaded before, they are told.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    _prepare_home()
    if threads is None:
        return
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(threads)


def _prepare_home() -> None:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    if os.access(home, os.W_OK):
        return
    own = str(private_folder())
    for name in ("MPLCONFIGDIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        os.environ.setdefault(name, own)
    if not home.is_dir():  # else it may hold models and settings
        os.environ["HOME"] = own


def private_folder() -> Path:
    """A folder of this user's alone among the temporary ones."""
    own = Path(tempfile.gettempdir()) / f"adamroute-{os.getuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    if own.stat().st_uid != os.getuid():
        raise ConfigError(f"{own} belongs to another user. Set HOME to a folder of yours")
    return own


@contextmanager
def threads_uncounted() -> Iterator[None]:
    """Processes that start in this block find no thread count, so whoever starts them decides."""
    counted = {name: os.environ.pop(name) for name in THREADS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(counted)


def run_in_utf8() -> None:
    """Start over in Python's UTF-8 mode, where the locale is another one.

    A path or a title with a letter that the locale lacks would be an error at any place that
    opens, prints or starts something; libraries read their own files in the locale's encoding.
    """
    if not sys.flags.utf8_mode and sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"  # of the processes that are started
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # ourselves


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped in the block; one that was ignored before stays so."""

    def stop(number: int, _: FrameType | None) -> None:
        raise Stopped(number)

    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
