"""At most one run writes to a run folder.

The lock is the operating system's own lock on the file ``run.lock``. It ends with its process, however that ends, so a
lock file left by a killed process is taken over. The file contains host, process and start time, for the message to
whoever comes second. Where the system offers no such lock (Windows, some network file systems), the content of the file
is the lock; it is taken over if it names a process of this host that has ended.
"""

import contextlib
import errno
import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

from ...errors import RunFolderError
from ...util.files import reason_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NAME = "run.lock"
_LARGEST_PID = (1 << 31) - 1
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link in somebody else's folder could name any file of the user's, and a pipe nobody writes to would hang."""


class FolderLock:
    """The right to write to a run folder, from construction to :meth:`release`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / _NAME
        try:
            self._descriptor: int | None = self._acquire()
        except OSError as error:
            reason = f"{_NAME} in it is a link" if error.errno == errno.ELOOP else reason_of(error)
            raise RunFolderError(f"cannot write to the run folder {folder}: {reason}") from error

    def _acquire(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | _AS_IT_IS, 0o666)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(errno.EINVAL, f"{_NAME} in it is no regular file")
                locked = _lock(descriptor)
                owner = _content(descriptor)
                if locked is False or (locked is None and _is_alive(owner)):
                    raise self._refusal(owner)
                if _names(self.path, descriptor):
                    _write(descriptor)
                    descriptor, acquired = -1, descriptor
                    return acquired
            finally:  # also where the file was removed between opening and locking it: once more
                if descriptor >= 0:
                    os.close(descriptor)

    def _refusal(self, owner: dict[str, Any]) -> RunFolderError:
        who = "another run"
        if "pid" in owner:
            who = f"process {owner['pid']} on {owner.get('host')}, since {owner.get('since')}"
        return RunFolderError(
            f"the run folder {self.path.parent} is in use by {who}; stop that first, "
            f"or remove {self.path} if there is no such process"
        )

    def release(self) -> None:
        """Let others write to the folder; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if fcntl is None:  # an open file cannot be removed there
            os.close(descriptor)
        with contextlib.suppress(OSError):
            if fcntl is None or _names(self.path, descriptor):
                self.path.unlink()
        if fcntl is not None:
            os.close(descriptor)


def writer_of(folder: Path) -> dict[str, Any] | None:
    """Who writes to a run folder: ``host`` (another, while its lock file exists), ``pid``, ``since``; or None."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder / _NAME, os.O_RDONLY | _AS_IT_IS)
        try:
            owner = _content(descriptor)
        finally:
            os.close(descriptor)
        return owner if _is_alive(owner) else None
    return None


def _lock(descriptor: int) -> bool | None:
    """Whether the system's lock on a file was acquired; None if it offers none here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _names(path: Path, descriptor: int) -> bool:
    """Whether a path is the name of an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _write(descriptor: int) -> None:
    owner = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "process_start": _process_start(os.getpid()),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(owner).encode() + b"\n")


def _content(descriptor: int) -> dict[str, Any]:
    """What the lock file says of its owner; nothing if it is empty or damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        owner = json.loads(os.read(descriptor, 4096))
        if isinstance(owner, dict):
            return owner
    return {}


def _is_alive(owner: dict[str, Any]) -> bool:
    """Whether the owner may still be running: always, if it is a process of another host."""
    pid = owner.get("pid")
    if type(pid) is not int or not 0 < pid <= _LARGEST_PID:
        return False
    if owner.get("host") != socket.gethostname():
        return True
    if os.name == "posix":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
    return _process_start(pid) == owner.get("process_start")


def _process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since the system did; None where that cannot be read."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return None
