"""Files that are written whole: never seen in part, neither by other programs nor after a crash or a power cut.

What is read is a regular file, of a size that memory holds: a pipe or a device could hang, or never end.
"""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

LARGEST_TEXT = 1 << 28
"""Bytes of the largest TOML or JSON file that describes something, such as ``run.toml`` or a configuration."""


_DISK_FAILS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors of a flush that leave it open whether what was written is on disk; others say that there is no flush."""


def reason_of(error: BaseException) -> str:
    """Why a file could not be used, as the end of a sentence: without its name and the number of the error."""
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file to read its bytes."""
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # opening a folder says so
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return open(path, "rb")


def read_regular(path: str | Path, most: int = LARGEST_TEXT) -> bytes:
    """All bytes of a file."""
    with open_regular(path) as stream:
        return _limited(stream, path, most)


def read_utf8(path: str | Path) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark; a pipe is read too."""
    with open(path, "rb") as stream:
        return _limited(stream, path, LARGEST_TEXT).decode("utf-8-sig")


def read_toml(path: Path, error: type[Exception], what: str = "") -> tuple[dict[str, Any], str]:
    """The content of a TOML file, and its text."""
    import tomllib  # few files are

    try:
        text = read_utf8(path)
        return tomllib.loads(text), text
    except OSError as fault:
        raise error(f"cannot read {what}{path}: {reason_of(fault)}") from fault
    except (ValueError, RecursionError) as fault:
        raise error(f"{path} is not a TOML file: {fault}") from fault


def _limited(stream: BufferedReader, path: str | Path, most: int) -> bytes:
    if os.fstat(stream.fileno()).st_size > most or len(content := stream.read(most + 1)) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes", str(path))
    return content


def write_whole(path: Path, content: bytes, synced: bool = True) -> None:
    """Write a file so that it is never seen in part: to a temporary name in the same folder, then renamed.

    ``synced``: it is so after a power cut too. What is checked when it is read, and can be made again, need not wait
    for the disk.
    """
    with whole(path, synced) as stream:
        stream.write(content)


def write_to(path: Path, content: bytes) -> None:
    """Write what the user has named: a regular file whole; a link, a pipe or a device (``/dev/stdout``) in place."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content)
    else:
        write_whole(path, content)


@contextlib.contextmanager
def whole(path: Path, synced: bool = True) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once all of it is on disk, or is removed if an error occurs."""
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            if synced:
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if synced:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk, so that a rename survives a power cut; where the system cannot, do nothing."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _DISK_FAILS:
            raise


def make_folders(path: Path) -> None:
    """Make a folder and those above it that are missing, and put their names on disk."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def temporary_beside(path: Path) -> Path:
    """A name that nothing else uses, in the same folder."""
    return path.with_name(f".{path.name}-{os.urandom(4).hex()}")


def remove_temporaries(folder: Path, name: str, older_than: float = 0.0) -> None:
    """Remove what killed writes have left in a folder."""
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
