"""A folder on a disk that fails: errors at the k-th call, a full disk, a kill, and a power cut.

The files are real; calls that change them are counted on their way to the system. What a power cut leaves is rebuilt
from what has been synchronised: of a file its content at its last ``fsync``, or any part of what was written since; of
a folder its names at its last ``fsync``, and of the changes since then the first few.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
import io
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

_ERRORS = {"write": errno.EIO, "part": errno.ENOSPC, "full": errno.ENOSPC, "fsync": errno.EIO, "open": errno.EMFILE}
_FILE_IO = io.FileIO
_OPEN = builtins.open


@dataclass(eq=False)
class _Node:
    """A file, or a folder with the changes of its names in order, of which the first ``lasting`` survive a cut."""

    parent: _Node | None
    name: str
    is_folder: bool = False
    safe: bytes | None = None
    names: dict[str, _Node] = field(default_factory=dict)
    changes: list[tuple[str, str, _Node]] = field(default_factory=list)
    lasting: int = 0

    def change(self, what, name, node):
        self.changes.append((what, name, node))
        _apply(self.names, what, name, node)


def _apply(names, what, name, node):
    """Names a node, after taking its former name away in the same step (``move``), or removes a name."""
    if what == "remove":
        names.pop(name, None)
        return
    if what.startswith("move "):
        names.pop(what[5:], None)
    names[name] = node


class _File(_FILE_IO):
    disk: Disk

    def write(self, data):
        name = self.name
        return self.disk.written(str(name), data, lambda part: super(_File, self).write(part))


class Disk:
    """All that a process does below a folder; ``cut`` is what was left when it was killed or the power was cut."""

    def __init__(self, root, plan, chance):
        self.cut = None
        self._root, self._plan, self._chance = root, plan, chance
        self._prefix = f"{root}{os.sep}"
        self._lock = threading.RLock()
        self._full = False
        self._tree = _Node(None, str(root), is_folder=True)
        self._read_in(self._tree, root)
        self._open_files = {}

    def _read_in(self, node, path):
        """What was there before survives."""
        for entry in os.scandir(path):
            child = _Node(node, entry.name, entry.is_dir())
            node.change("add", entry.name, child)
            if child.is_folder:
                self._read_in(child, Path(entry.path))
            else:
                child.safe = Path(entry.path).read_bytes()
        node.lasting = len(node.changes)

    @contextlib.contextmanager
    def attached(self):
        """While inside, the calls of this process are counted, and fail."""
        names = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "ftruncate", "close")
        with (
            mock.patch.multiple(os, **{name: getattr(self, f"_os_{name}") for name in names}),
            mock.patch.object(builtins, "open", self._open),
            mock.patch.object(io, "open", self._open),
        ):
            yield self

    def _mine(self, path):
        with contextlib.suppress(TypeError):
            text = os.fspath(path)
            if isinstance(text, str) and text.startswith(self._prefix):
                return text
        return None

    def _count(self, call, path):
        """Count a call that changes the disk: it fails, or its name is returned if that is for the caller to do."""
        if self.cut is not None:
            return None
        kind = self._plan.due("disk")
        if kind is not None:
            self._cut_off(power=kind == "power")
            return None
        point = self._plan.due(call)
        self._full |= point == "full"
        if self._full and call in ("write", "mkdir", "open"):
            point = point or "full"
        if point in ("full", "part") and call == "write":
            return point
        if point is not None:
            code = _ERRORS.get(point, errno.EIO)
            raise OSError(code, os.strerror(code), path)
        return None

    def written(self, path, data, write):
        """Write to a file; a part of it before the disk is full."""
        with self._lock:
            if self._mine(path) is None:
                return write(data)
            point = self._count("write", path)
            if point == "part" and len(data) > 1:
                return write(memoryview(data).cast("B")[: len(data) // 2])
            if point is not None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            return write(data)

    def _cut_off(self, power):
        self.cut = self._root.with_name(f"{self._root.name}-cut")
        if power:
            self._leave(self._tree, self.cut)
        else:
            shutil.copytree(self._root, self.cut, symlinks=True)

    def _leave(self, node, path):
        """Make what a power cut leaves of a folder."""
        path.mkdir()
        names = {}
        for change in node.changes[: self._chance.randint(node.lasting, len(node.changes))]:
            _apply(names, *change)
        for name, child in names.items():
            if child.is_folder:
                self._leave(child, path / name)
            else:
                (path / name).write_bytes(self._left_of(child))

    def _left_of(self, node):
        """The content of a file after a power cut."""
        try:
            now = _content(self._path(node))
        except OSError:
            now = node.safe or b""
        safe = node.safe if node.safe is not None else b""
        if now == safe:
            return safe
        if now.startswith(safe):
            return now[: self._chance.randint(len(safe), len(now))]
        return self._chance.choice([safe, now, bytes(len(now)), now[: len(now) // 2]])

    def _path(self, node):
        return node.name if node.parent is None else f"{self._path(node.parent)}{os.sep}{node.name}"

    def _node(self, path):
        node = self._tree
        for name in path[len(self._prefix) :].split(os.sep):
            node = None if node is None else node.names.get(name)
        return node

    def _folder_of(self, path):
        parent = os.path.dirname(path)
        node = self._tree if parent == str(self._root) else self._node(parent)
        assert node is not None, path
        return node

    def _made(self, path, is_folder=False):
        found = self._node(path)
        if found is None:
            folder, name = self._folder_of(path), os.path.basename(path)
            found = _Node(folder, name, is_folder)
            folder.change("add", name, found)
        return found

    def _open(self, file, mode="r", buffering=-1, *arguments, **named):
        path = self._mine(file)
        if path is None or not set(mode) & set("wxa+"):
            return _OPEN(file, mode, buffering, *arguments, **named)
        with self._lock:
            self._count("open", path)
            raw = _File(path, mode)
            raw.disk = self
            self._open_files[raw.fileno()] = self._made(path)
        return raw if buffering == 0 else io.BufferedWriter(raw)

    def _os_open(self, path, flags, mode=511, *, dir_fd=None):
        mine = self._mine(path) if dir_fd is None else None
        with self._lock:
            if mine is not None and flags & os.O_CREAT:
                self._count("open", mine)
            descriptor = _os.open(path, flags, mode, dir_fd=dir_fd)
            if mine is not None or str(path) == str(self._root):
                node = self._made(mine) if mine is not None and flags & os.O_CREAT else None
                found = node or (self._tree if mine is None else self._node(mine))
                if found is not None:
                    self._open_files[descriptor] = found
            return descriptor

    def _os_close(self, descriptor):
        self._open_files.pop(descriptor, None)
        _os.close(descriptor)

    def _os_write(self, descriptor, data):
        node = self._open_files.get(descriptor)
        if node is None:
            return _os.write(descriptor, data)
        return self.written(self._path(node), data, lambda part: _os.write(descriptor, part))

    def _os_ftruncate(self, descriptor, length):
        with self._lock:
            node = self._open_files.get(descriptor)
            if node is not None and self._count("write", self._path(node)) is not None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            _os.ftruncate(descriptor, length)

    def _os_fsync(self, descriptor):
        with self._lock:
            node = self._open_files.get(descriptor)
            if node is None:
                return
            self._count("fsync", self._path(node))
            if node.is_folder:
                node.lasting = len(node.changes)
            else:
                node.safe = _content(self._path(node))

    def _renamed(self, source, target):
        old, new = self._mine(source), self._mine(target)
        with self._lock:
            if old is None or new is None:
                _os.replace(source, target)
                return
            self._count("rename", new)
            _os.replace(old, new)
            folder, node = self._folder_of(old), self._node(old)
            assert folder is self._folder_of(new), "files are renamed within a folder"
            node.name = os.path.basename(new)
            folder.change(f"move {os.path.basename(old)}", node.name, node)

    _os_replace = _os_rename = _renamed

    def _removed(self, call, path, *, dir_fd=None):
        mine = self._mine(path) if dir_fd is None else None
        with self._lock:
            if mine is not None:
                self._count("unlink", mine)
            getattr(_os, call)(path, dir_fd=dir_fd)
            if mine is not None and (node := self._node(mine)) is not None:
                self._folder_of(mine).change("remove", node.name, node)

    _os_unlink = functools.partialmethod(_removed, "unlink")
    _os_rmdir = functools.partialmethod(_removed, "rmdir")

    def _os_mkdir(self, path, mode=511, *, dir_fd=None):
        mine = self._mine(path) if dir_fd is None else None
        with self._lock:
            if mine is not None:
                self._count("mkdir", mine)
            _os.mkdir(path, mode, dir_fd=dir_fd)
            if mine is not None:
                self._made(mine, is_folder=True)


def _content(path):
    with _OPEN(path, "rb") as stream:
        return stream.read()


class _os:
    open, close, write, fsync, ftruncate = os.open, os.close, os.write, os.fsync, os.ftruncate
    replace, unlink, rmdir, mkdir = os.replace, os.unlink, os.rmdir, os.mkdir
