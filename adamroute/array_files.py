"""Arrays of a stage's folder, read without pickle; of whatever is wrong with the bytes, one error.

numpy and zipfile raise ten kinds on damaged files (EOFError on an empty one, BadZipFile,
NotImplementedError on a flipped bit), so whoever reads one would forget some.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a .npz by name. OSError where it can't be opened, ValueError where damaged."""
    try:
        # Opened here, since numpy leaves a damaged file open.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception as error:
        raise _told(error) from error


def mapped_array(path: Path) -> NDArray[Any]:
    """The array of a .npy, mapped and read-only. Errors as of `read_arrays`."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:
        raise _told(error) from error


def _told(error: Exception) -> OSError | ValueError:
    if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a seek to a damaged place
        return error
    return ValueError(f"damaged: {type(error).__name__}: {error}")
