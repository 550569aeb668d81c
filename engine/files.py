"""Files that are written whole: never seen in part, neither by other programs nor after a crash or a power cut."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["remove_temporaries", "sync_folder", "temporary_beside", "whole", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is never seen in part: to a temporary name in the same folder, then renamed.

    Parameters
    ----------
    path : Path
        Replaced if it exists.
    content : bytes
    """
    with whole(path) as stream:
        stream.write(content)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once all of it is on disk, or is removed if an error occurs."""
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk, so that a rename survives a power cut; where the system cannot, do nothing."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def temporary_beside(path: Path) -> Path:
    """A name that nothing else uses, in the same folder."""
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}")


def remove_temporaries(folder: Path, name: str, older_than: float = 0.0) -> None:
    """Remove what killed writes have left in a folder.

    Parameters
    ----------
    folder : Path
    name : str
        Regular expression of the names of the files that were being written.
    older_than : float
        Only what has not changed for so many seconds.
    """
    pattern = re.compile(rf"\.(?:{name})-[0-9a-f]{{8}}")
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if pattern.fullmatch(entry.name) and time.time() - entry.stat().st_mtime >= older_than:
                _remove(Path(entry.path))


def _remove(path: Path) -> None:
    """Remove a file, or a folder of files."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            for entry in path.iterdir():
                entry.unlink()
            path.rmdir()
        else:
            path.unlink()
