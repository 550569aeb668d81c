"""Compiled kernels on disk: where they are kept, and how what a power cut or a full disk has damaged is removed.

A binary that Quintet keeps itself begins with the digest of the rest. PoCL keeps its own files (seen in 3.0): a damaged
one ends every process that loads it. So each process that uses them has a marker in the folder, locked while it lives.
Files that a living process has used are listed with their digests. Where a marker is left behind by a process that was
killed or crashed, files that are not as listed are removed at the next start, and compiled again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from ...errors import StorageWarning, issue_warning
from ...util.files import reason_of, write_whole
from ...util.paths import user_folder
from ...util.version import version

try:
    import fcntl
except ImportError:  # Windows: no locks, so only sizes are compared
    fcntl = None  # type: ignore[assignment]

_POCL_VARIABLE = "POCL_CACHE_DIR"
_DIGEST_BYTES = 32
_SETTLED_SECONDS = 2.0  # a file that is older was loaded by the process that wrote it
_LARGEST = 500  # MB
_PATIENCE = 20.0  # seconds for a process that compiles, which may have been stopped
_VARIABLE = "QUINTET_CACHE_MB"

_Listed = dict[str, dict[str, tuple[int, str]]]
"""Of each program, of each file, its size and digest."""


@functools.cache
def folder() -> Path:
    """The folder of this version's kernels; one for this process only, with a warning, where it cannot be written."""
    return _writable(user_folder("cache") / f"kernels-{version()}")


def _writable(wanted: Path) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        probe = wanted / f".probe-{os.urandom(4).hex()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        private = Path(tempfile.mkdtemp(prefix="quintet-"))
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        _warn(
            f"compiled kernels cannot be kept in {wanted} ({reason_of(error)}): they are compiled anew in each "
            "process; set XDG_CACHE_HOME to a folder that can be written"
        )
        return private
    return wanted


def _largest() -> int:
    """How many bytes the cache may take: 500 MB, or as ``QUINTET_CACHE_MB`` says."""
    text = os.environ.get(_VARIABLE, "")
    return (int(text) if text.isdigit() else _LARGEST) << 20


def _warn(message: str) -> None:
    issue_warning(StorageWarning(message))


def kept(name: str) -> bytes | None:
    """The binary of that name; None if there is none, or it is damaged."""
    path = folder() / name
    try:
        content = path.read_bytes()
        os.utime(path)  # the order in which files are removed is that of their last use
    except OSError:
        return None
    digest, binary = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return binary if hashlib.sha256(binary).digest() == digest else None


def keep(name: str, binary: bytes) -> None:
    """Keep a binary; a cache that cannot be written is no reason to fail."""
    with contextlib.suppress(OSError):
        write_whole(folder() / name, hashlib.sha256(binary).digest() + binary, synced=False)
        _shrink_own()


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """While a process or thread compiles what has this name, others that would do so wait; but not for long.

    The name is a digest: those whose first two digits are the same wait for each other, so it is not called within.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                (places := folder() / "compiling").mkdir(exist_ok=True)
                stream = stack.enter_context((places / name[:2]).open("a"))
                until = time.monotonic() + _PATIENCE
                while not _is_locked(stream) and time.monotonic() < until:
                    time.sleep(0.01)
        yield


def _is_locked(stream: IO[str]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@functools.cache
def _shrink_own() -> None:
    """Remove the files that were used longest ago, beyond a fifth of what the cache may take; once in a process."""
    with os.scandir(folder()) as entries:
        found = sorted(
            ((status := entry.stat()).st_mtime, status.st_size, entry.path) for entry in entries if entry.is_file()
        )
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= _largest() // 5:
            break
        Path(path).unlink(missing_ok=True)
        total -= size


def prepare_pocl() -> None:
    """Tell PoCL, before it is loaded, where to keep kernels, and remove damaged ones; once in a process."""
    _pocl()


def note_build() -> None:
    """A kernel was compiled: soon it will be listed as intact."""
    _pocl().list_soon()


@functools.cache
def _pocl() -> _PoclFiles:
    chosen = os.environ.get(_POCL_VARIABLE)
    root = _writable(Path(chosen)) if chosen else folder() / "pocl"
    os.environ[_POCL_VARIABLE] = str(root)
    return _PoclFiles(root)


class _PoclFiles:
    """PoCL's files below a folder: ``XX/PROGRAM/...``, one folder for each program.

    ``lists/XX.json`` has sizes and digests of the files of the programs in ``XX``, so that a start reads few files.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lists = root / "lists"
        self._markers = root / "in-use"
        self._timer: threading.Timer | None = None
        self._owner = os.getpid()
        self._marker: Path | None = None
        self._since = time.time() - _SETTLED_SECONDS
        with contextlib.suppress(OSError):
            for path in (self._lists, self._markers):
                path.mkdir(parents=True, exist_ok=True)
            with _locked(root / "lock"):
                crashed, alone = self._take_markers()
                self._remove_damaged(crashed, alone)
                if alone:
                    self._shrink()
                self._mark()
        atexit.register(self._close)

    def _take_markers(self) -> tuple[bool, bool]:
        """Whether a process has left its marker behind, which is removed; and whether no other process lives."""
        crashed, alone = False, True
        for path in self._markers.iterdir() if fcntl is not None else ():
            with contextlib.suppress(FileNotFoundError), path.open() as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    alone = False
                else:
                    crashed = True
                    path.unlink()
        return crashed, alone

    def _mark(self) -> None:
        if fcntl is None:
            return
        self._marker = self._markers / f"{os.getpid()}-{os.urandom(4).hex()}"
        self._stream = self._marker.open("x")
        fcntl.flock(self._stream, fcntl.LOCK_EX)

    def _remove_damaged(self, crashed: bool, alone: bool) -> None:
        """Remove programs with a file that is not as listed; all files are read only if a process has crashed.

        What no list has is removed where it may be damaged: after a crash, and beside a list that a power cut emptied.
        """
        damaged = 0
        for outer in _outer_folders(self._root) if crashed and alone else self._listed_folders():
            listed = self._listed(outer)
            unlisted = alone and (crashed or not listed)
            bad = {name for name, files in listed.items() if not _intact(f"{outer}/{name}", files, crashed)}
            damaged += sum(os.path.isdir(f"{outer}/{name}") for name in bad)
            known = {name: set(files) for name, files in listed.items()}
            if unlisted:
                programs = {os.path.basename(program): set(_files(program)) for program in _folders(outer)}
                bad |= {name for name, found in programs.items() if found - known.get(name, set())}
            self._remove(outer, bad, listed)
        if damaged:
            _warn(f"the files of {damaged} compiled programs in {self._root} were damaged; they are compiled again")

    def _remove(self, outer: str, programs: Iterable[str], listed: _Listed) -> None:
        for name in programs:
            shutil.rmtree(f"{outer}/{name}", ignore_errors=True)
        if not set(listed).isdisjoint(programs):
            self._write_list(outer, {name: files for name, files in listed.items() if name not in programs})

    def _listed_folders(self) -> list[str]:
        return [f"{self._root}/{name[:2]}" for name in os.listdir(self._lists) if len(name) == len("XX.json")]

    def _list_of(self, outer: str) -> Path:
        return self._lists / f"{outer[-2:]}.json"

    def _listed(self, outer: str) -> _Listed:
        try:
            content = json.loads(self._list_of(outer).read_bytes())
            return {
                str(program): {str(name): (int(size), str(digest)) for name, (size, digest) in files.items()}
                for program, files in content.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write_list(self, outer: str, listed: _Listed) -> None:
        write_whole(self._list_of(outer), json.dumps(listed).encode(), synced=False)

    def list_soon(self) -> None:
        """List what is there a few seconds from now."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(2 * _SETTLED_SECONDS, self._list)
        self._timer.daemon = True
        self._timer.start()

    def _list(self, settled: float = _SETTLED_SECONDS) -> None:
        """List programs that are not listed yet, and new files of those that were used since this process started."""
        with contextlib.suppress(OSError):
            for outer in _outer_folders(self._root):
                programs = _folders(outer)
                if all(_last_use(program) < self._since for program in programs) and self._list_of(outer).exists():
                    continue
                with _locked(self._root / "lock"):
                    self._add_to_list(outer, programs, time.time() - settled)

    def _add_to_list(self, outer: str, programs: list[str], latest: float) -> None:
        listed = self._listed(outer)
        changed = False
        for program in programs:
            name = os.path.basename(program)
            if name in listed and _last_use(program) < self._since:
                continue
            old = {file for file in _files(program) if os.stat(f"{program}/{file}").st_mtime <= latest}
            if old - set(listed.get(name, ())):
                listed[name] = {
                    file: (os.path.getsize(f"{program}/{file}"), _digest(f"{program}/{file}")) for file in old
                }
                changed = True
        if changed:
            self._write_list(outer, listed)

    def _close(self) -> None:
        if os.getpid() != self._owner:  # a forked child
            return
        if self._timer is not None:
            self._timer.cancel()
            self._list(settled=0.0)
        if self._marker is not None:
            self._stream.close()
            self._marker.unlink(missing_ok=True)

    def _shrink(self) -> None:
        """Remove the listed programs that were used longest ago, beyond four fifths of what the cache may take."""
        with contextlib.suppress(OSError):
            lists = {outer: self._listed(outer) for outer in self._listed_folders()}
            sizes = {
                (outer, name): sum(size for size, _ in files.values())
                for outer, listed in lists.items()
                for name, files in listed.items()
            }
            total = sum(sizes.values())
            most = _largest() - _largest() // 5
            if total <= most:
                return
            for outer, name in sorted(sizes, key=lambda place: _last_use("/".join(place))):
                self._remove(outer, {name}, self._listed(outer))
                total -= sizes[outer, name]
                if total <= most:
                    break


def _last_use(program: str) -> float:
    with contextlib.suppress(OSError):
        return os.stat(f"{program}/last_accessed").st_mtime
    return 0.0


def _intact(program: str, files: dict[str, tuple[int, str]], thoroughly: bool) -> bool:
    """Whether a program has its files in the sizes listed, and ``thoroughly``, with their digests."""
    try:
        return all(
            os.stat(f"{program}/{name}").st_size == size and not (thoroughly and _digest(f"{program}/{name}") != digest)
            for name, (size, digest) in files.items()
        )
    except OSError:
        return False


def _outer_folders(root: Path) -> list[str]:
    return [path for path in _folders(str(root)) if len(os.path.basename(path)) == 2]


def _folders(path: str) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        return [entry.path for entry in entries if entry.is_dir()]
    return []


def _files(program: str) -> Iterator[str]:
    """The files of a program, from its folder; not those that PoCL touches or is about to rename."""
    for place, _, names in os.walk(program):
        lasting = (name for name in names if name != "last_accessed" and not name.endswith(".temp"))
        yield from (os.path.relpath(f"{place}/{name}", program) for name in lasting)


def _digest(path: str) -> str:
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as stream:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
