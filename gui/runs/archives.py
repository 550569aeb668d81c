"""Runs as zip archives: export and import."""

import importlib.machinery
import os
import secrets
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from engine.errors import QuintetError, RunFolderError
from engine.formats.source import limit
from engine.runs.folder.run_folder import RunFolder
from engine.util.files import reason_of
from engine.util.text import bytes_text, in_utf8
from gui.runs.notes import unused

_MOST_FILES = 10_000
_CODE = tuple(suffix.casefold() for suffix in (*importlib.machinery.all_suffixes(), ".pth", ".pyd", ".dll", ".so"))


def write_zip(folder: Path, target: Path) -> None:
    """Pack a run folder, under its own name; the archive appears whole or not at all."""
    temporary = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():  # a link could name any file of the user's
                    archive.write(path, Path(in_utf8(folder.name)) / path.relative_to(folder))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def unpack_run(archive: Path, runs: Path) -> Path:
    """Unpack a run into a new folder of ``runs``, whole or not at all; nothing is written elsewhere."""
    runs.mkdir(parents=True, exist_ok=True)
    temporary = runs.parent / f".unpacking-{secrets.token_hex(4)}"
    try:
        with zipfile.ZipFile(archive) as packed:
            top, members = _checked(archive, packed, shutil.disk_usage(runs).free)
            temporary.mkdir()
            for member, parts in members:
                target = temporary.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, target.open("xb") as stream:
                    shutil.copyfileobj(source, stream, 1 << 20)
        RunFolder.open(temporary).problem()
        folder = runs / unused(top, lambda name: (runs / name).exists() or (runs / f"{name}.json").exists())
        os.rename(temporary, folder)
        return folder
    except RunFolderError as error:
        raise RunFolderError(str(error).replace(str(temporary), str(archive))) from error
    except QuintetError:  # such as code that nobody has allowed yet
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise RunFolderError(f"{archive} is no zip archive that can be read: {error}") from error
    except OSError as error:
        raise RunFolderError(f"{archive} cannot be unpacked: {reason_of(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _checked(
    archive: Path, packed: zipfile.ZipFile, room: int
) -> tuple[str, list[tuple[zipfile.ZipInfo, tuple[str, ...]]]]:
    """The name of the run folder, and each file with the parts of its path in it."""
    files = [member for member in packed.infolist() if not member.is_dir()]
    size = sum(member.file_size for member in files)
    if size > limit():
        most = f"the limit is {bytes_text(limit())} (QUINTET_MAX_READ_BYTES)"
        raise RunFolderError(f"{archive} is not unpacked: it holds {bytes_text(size)}; {most}")
    if len(files) > _MOST_FILES or size > room:
        raise RunFolderError(f"{archive} holds more than there is room for")
    found: list[tuple[zipfile.ZipInfo, tuple[str, ...]]] = []
    tops: set[str] = set()
    for member in files:
        path = PurePosixPath(member.filename)
        outside = (
            not path.parts
            or path.is_absolute()
            or any(part in ("", ".", "..") or "\\" in part or ":" in part for part in path.parts)
        )
        if outside or stat.S_ISLNK(member.external_attr >> 16):
            raise RunFolderError(f"{archive} is not unpacked: its entry {member.filename!r} leads outside its folder")
        name = path.name.rstrip(". ").casefold()  # as a file system that ignores case and final dots sees it
        if name.endswith(_CODE):
            raise RunFolderError(f"{archive} is not unpacked: {member.filename!r} in it is code, which no run needs")
        tops.add(path.parts[0])
        found.append((member, path.parts[1:]))
    if len(tops) != 1 or ("run.toml",) not in [parts for _, parts in found]:
        raise RunFolderError(f"{archive} holds no run: a run is one folder with a run.toml in it")
    return tops.pop(), found
