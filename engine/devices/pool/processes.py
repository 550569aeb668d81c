"""Devices belong to the process that first used them: drivers do not survive a fork."""

import os

from ...errors import DeviceError

_first_user: int | None = None


def in_own_process() -> bool:
    """Whether this process is the one that first used devices, or none has been used."""
    return _first_user in (None, os.getpid())


def require_own_process() -> None:
    """Remember the process that uses devices; refuse one forked from it, in which a driver's threads do not exist."""
    global _first_user
    if _first_user is None:
        _first_user = os.getpid()
    elif _first_user != os.getpid():
        raise DeviceError(
            "this process was forked from one that had used devices, whose drivers do not work here; start it with the "
            'multiprocessing method "spawn" (or "forkserver"), or fork before devices are first used'
        )
