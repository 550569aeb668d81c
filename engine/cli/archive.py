"""A run folder as one stream of bytes, for the way to another host and back."""

from __future__ import annotations

import contextlib
import re
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from ..errors import RunFolderError
from ..formats.source import limit
from ..util.files import temporary_beside
from ..util.text import bytes_text

__all__ = ["FORMAT", "pack", "replace_files", "unpack"]

FORMAT = 1
"""Of the messages between the two sides; see :mod:`engine.cli.receiving`."""

_PASSING = re.compile(r"(checkpoint-|result\.).*")  # files of a state that a later one replaces


def pack(folder: Path) -> tuple[IO[bytes], int]:
    """The files of a folder as an archive, from its beginning, and the archive's size in bytes.

    Hidden files and the lock are left out; of a folder that does not exist the archive is empty.
    """
    stream = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    if folder.is_dir():
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.name.startswith(".") and path.name != "run.lock":
                    archive.add(path, path.name, recursive=False)
    size = stream.tell()
    stream.seek(0)
    return stream, size


def unpack(stream: IO[bytes], folder: Path) -> None:
    """Write the files of an archive to a folder, which is made.

    Parameters
    ----------
    stream : binary file
        The archive, from its present position on.
    folder : Path
        Must not exist.

    Raises
    ------
    engine.errors.RunFolderError
        If the archive is damaged, contains anything but plain files without a path, is larger than the limit to
        reading (:func:`engine.formats.source.limit`), or cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=stream, mode="r") as archive:
            size = 0
            for member in archive:
                size += member.size
                if size > limit():
                    most = f"the limit is {bytes_text(limit())} (max_read_bytes)"
                    raise RunFolderError(f"the run folder that was received holds more than it may: {most}")
                if not member.isfile() or Path(member.name).name != member.name or member.name.startswith("."):
                    raise RunFolderError(f"the run folder that was received contains {member.name!r}, which is no file")
                archive.extract(member, folder, set_attrs=False, filter="data")
    except (OSError, tarfile.TarError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunFolderError(f"the run folder that was received cannot be stored in {folder}: {reason}") from error


def replace_files(folder: Path, received: Path) -> None:
    """Move the files of ``received`` to a folder, and remove checkpoints and results that are only in the folder.

    Parameters
    ----------
    folder, received : Path
        Both exist.
    """
    kept = {path.name for path in received.iterdir()}
    for path in sorted(received.iterdir()):
        between = temporary_beside(folder / path.name)
        with contextlib.suppress(OSError):
            path.rename(between)
        if not between.exists():  # on another file system
            between.write_bytes(path.read_bytes())
        between.replace(folder / path.name)
    for path in folder.iterdir():
        if _PASSING.fullmatch(path.name) and path.name not in kept:
            path.unlink()
