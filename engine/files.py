"""Files that are written whole: never seen in part, neither by other programs nor after a crash."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["beside", "whole", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is never seen in part: to a temporary name in the same folder, then renamed."""
    with whole(path) as stream:
        stream.write(content)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when all of it is on disk, or is gone."""
    temporary = beside(path)
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


def beside(path: Path) -> Path:
    """A name of its own in the same folder."""
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}")
