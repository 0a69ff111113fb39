"""What is set once for a process, before torch or FAISS come: threads, and how they wait.

OpenMP reads its variables when it is loaded. A thread that waits must sleep: where threads spin,
two busy cores embedded 8 texts/s instead of 115, `make demo` took twice as long, and a forward
pass in a Ray actor took 1.1 s instead of 80 ms.
"""

from __future__ import annotations

import os


def prepare_process(threads: int | None = None) -> None:
    """Set the thread count of OpenMP, BLAS, torch and FAISS, and let waiting threads sleep.

    `threads` None leaves the count to the environment or the machine. What the environment
    already says of waiting stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if threads is not None:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = str(threads)
