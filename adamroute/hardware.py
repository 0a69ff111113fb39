"""The machine a figure was measured on, as one line beside it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

GIB = 2**30


def machine() -> str:
    """Cores, processor and memory, such as "2 x Intel(R) Xeon(R) Processor, 24 GiB"."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{os.cpu_count()} x {names[0] if names else platform.machine()}, {memory / GIB:.0f} GiB"
    )
