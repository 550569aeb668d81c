"""The memory of this machine."""

import os
from pathlib import Path


def total_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def free_memory(table: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes of memory that could be used without swapping; None where the system does not say."""
    try:
        lines = table.read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
