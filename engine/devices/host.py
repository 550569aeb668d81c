"""The processor of the host, as far as this process may use it."""

import os


def host_cores() -> int:
    """Cores that this process may use; a container or a batch system may allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
