"""Claims from run folders and their archives; nothing that they contain is executed."""

import contextlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ..errors import RunFolderError
from ..formats.source import limit
from ..runs.folder.description import read_description
from ..runs.folder.storage import RunFiles, read_arrays
from ..util.files import open_regular
from ..util.text import bytes_text
from .findings import Claim

OWN_CLASS = "a class of the user's own"
_FILES = ("run.toml", "problem.npz", "result.json", "result.npz")


def claim_of(folder: Path) -> Claim:
    """What the run in a folder claims."""
    description = read_description(folder / "run.toml")
    result = RunFiles(folder, str(description["run"])).result()
    if result is None:
        raise RunFolderError(f"the run in {folder} has no result yet, so there is nothing to verify")
    about = description["problem"]
    kind = OWN_CLASS if "module" in about else about["class"]
    return Claim(kind, read_arrays(folder / "problem.npz", about["digest"]), description.get("options", {}), result)


def is_archive(path: Path) -> bool:
    """Whether it is a zip file."""
    try:
        with open_regular(path) as stream:
            return path.is_file() and zipfile.is_zipfile(stream)
    except OSError:
        return False


@contextlib.contextmanager
def run_folder(path: Path) -> Iterator[Path]:
    """The run folder itself, or a temporary one with the files of an archive of it."""
    if not is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="quintet-verify-") as temporary:
        try:
            with zipfile.ZipFile(path) as archive:
                tops = [PurePosixPath(entry).parent for entry in archive.namelist() if entry.endswith("run.toml")]
                if len(tops) != 1:
                    raise RunFolderError(f"{path} must hold one run folder; it holds {len(tops)}")
                for name in _FILES:
                    if str(tops[0] / name) in archive.namelist():
                        _unpack(archive, str(tops[0] / name), Path(temporary) / name, path)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            ValueError,
            OSError,
        ) as error:
            if isinstance(error, RunFolderError):
                raise
            raise RunFolderError(f"{path} cannot be read: {error}") from error
        yield Path(temporary)


def _unpack(archive: zipfile.ZipFile, name: str, target: Path, path: Path) -> None:
    size = 0
    with archive.open(name) as packed, target.open("wb") as out:
        while part := packed.read(1 << 20):
            size += len(part)
            if size > limit():
                raise RunFolderError(f"{name} in {path} is larger than {bytes_text(limit())} (max_read_bytes)")
            out.write(part)
