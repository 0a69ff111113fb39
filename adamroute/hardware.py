"""The machine this runs on: as one line beside a figure, and as an address."""

from __future__ import annotations

import os
import platform
import re
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

GIB = 2**30


def machine() -> str:
    """Cores, processor and memory, such as "2 x Intel(R) Xeon(R) Processor, 24 GiB"."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{os.cpu_count()} x {names[0] if names else platform.machine()}, {memory / GIB:.0f} GiB"
    )


def is_here(url: str) -> bool:
    """Whether a URL leads to this machine; no proxy of the environment can know the way."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name
        return False
