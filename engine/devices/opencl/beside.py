"""Kernels for PoCL are optimised by a process beside this one, which meanwhile runs unoptimised ones.

PoCL (3.0) compiles under one lock of the process, and an unoptimised kernel in a third of the time. Both give the same
bits. That process puts a kernel into PoCL's cache by launching it in three dimensions, in which kernels return at once
(see :func:`guarded`); where groups of several work-items have barriers they cannot, and are optimised in this process
before they run. It is asked for kernels of groups of one when their program is made, for others when they are first
launched, and takes those of the longest programs first, which are worth most. It ends soon after it has done what it
was asked; once this process has ended, with the kernel that it is at.
"""

import bisect
import hashlib
import io
import json
import os
import re
import select
import subprocess
import sys
import threading
from typing import Any

from ..kernels.cache import alone, folder, keep, kept
from ..kernels.program import Program
from ..kernels.source import Source

UNOPTIMIZED = "-cl-opt-disable"

_KERNEL = re.compile(
    r"^(\s*KERNEL\s+(?:LAUNCH_BOUNDS\s*\([^()]*\)\s*)?\w+\s*\((?:/\*.*?\*/|//[^\n]*|[^()])*\)\s*(?:#line[^\n]*\s*)*\{)",
    re.MULTILINE | re.DOTALL,
)
_BARRIER = re.compile(r"(?<!#define )\bBARRIER\(")
_SEVERAL = re.compile(r"(?<!#define )\bKERNEL\s+(?!LAUNCH_BOUNDS\s*\(1,)")
_ALONE = re.compile(r"^\s*KERNEL\s+LAUNCH_BOUNDS\s*\(1,[^()]*\)\s*(\w+)", re.MULTILINE)
_IDLE_SECONDS = 2.0
_DUMMY_BYTES = 128


def can_be_guarded(text: str) -> bool:
    """Whether kernels may return at once: with barriers behind the return PoCL makes false code of them."""
    return _SEVERAL.search(text) is None or _BARRIER.search(text) is None


def guarded(text: str) -> str:
    """A source whose kernels do nothing if they are launched in three dimensions, where they can be guarded.

    A work-item that is alone in its group waits for nobody: its barriers go.
    """
    if not can_be_guarded(text):
        return text
    text = text.replace("#define BARRIER() ", "#define BARRIER() //")
    return _KERNEL.sub(r"\1 if (get_work_dim() == 3) return;", text)


def lock_of(source: Source, entry: str, block: int, quick: bool = False) -> str:
    """Of a kernel and its group size: what :func:`.cache.alone` is given by those that compile it."""
    return hashlib.sha256(f"{source.digest} {entry} {block} {quick}".encode()).hexdigest()


def is_optimized(source: Source, entry: str) -> bool:
    """Whether a process beside has compiled a kernel."""
    return kept(_mark(source, entry)) is not None


def _mark(source: Source, entry: str) -> str:
    return f"{hashlib.sha256(f'{source.digest} {entry}'.encode()).hexdigest()}.optimized"


class Beside:
    """Asks the process beside, which is started for it; ``works`` until one could not be started, or has failed."""

    def __init__(self, index: int) -> None:
        self.works = True
        self.runs = 0
        self._index = index
        self._changed = threading.Condition()
        self._asked: dict[str, list[tuple[set[int], int]]] = {}
        self._jobs: list[tuple[int, int, bytes]] = []  # those of later runs last, then the longest; one more is done
        self._done: set[str] = set()
        self._sent: set[str] = set()
        self._is_busy = False
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None

    def has(self, source: Source, entry: str, block: int) -> bool:
        """Whether a kernel need not be waited for any more."""
        return lock_of(source, entry, block) in self._done

    def begin(self, source: Source) -> None:
        """Have the kernels of a program compiled whose groups are known to have one work-item."""
        for entry in _ALONE.findall(source.text):
            if self.works and not is_optimized(source, entry):
                self.ask(source, entry, 1, 1)

    def ask(self, source: Source, entry: str, grid: int, block: int, compiled: set[int] | None = None) -> None:
        """Have a kernel compiled; its ``block`` is removed from ``compiled`` then."""
        with self._changed:
            name = lock_of(source, entry, block)
            is_new = name not in self._asked
            self._asked.setdefault(name, []).append((set() if compiled is None else compiled, block))
            if name in self._done or not self.works:
                self._take(name)
            elif is_new:
                text = f"{source.digest}.cl"
                if source.digest not in self._sent:
                    self._sent.add(source.digest)
                    keep(text, source.text.encode())
                job = json.dumps([name, source.template, str(folder() / text), entry, grid, block])
                bisect.insort(self._jobs, (self.runs, len(source.text), f"{job}\n".encode()))
                if not self._is_busy:
                    self._send()

    def _send(self) -> None:
        """Give the process the longest, if anything is left."""
        self._is_busy = bool(self._jobs)
        try:
            if self._is_busy:
                child = self._process or self._start()
                assert child.stdin is not None
                child.stdin.write(self._jobs.pop()[-1])
        except (OSError, RuntimeError, ValueError):  # it cannot be started, or has just ended, as is heard soon
            if self._process is None:
                self._end(works=False)

    def _end(self, works: bool) -> None:
        """What is left undone is compiled here."""
        self.works, self._process, self._is_busy = works, None, False
        self._jobs.clear()
        for name in list(self._asked):
            self._take(name)

    def _start(self) -> subprocess.Popen[bytes]:
        program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main({self._index})"
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", program],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        )
        self._listener = threading.Thread(target=self._listen, args=(child,), name="quintet-beside", daemon=True)
        self._listener.start()
        self._process = child
        return child

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        with child:  # its pipes are closed when nobody writes any more
            for line in child.stdout:
                with self._changed:
                    self._take(line.decode().strip())
                    self._send()
            failed = child.wait() != 0
            with self._changed:
                self._end(works=not failed)

    def _take(self, name: str) -> None:
        self._done.add(name)
        for compiled, block in self._asked.pop(name, ()):
            compiled.discard(block)
        self._changed.notify_all()

    def finish(self) -> None:
        """Wait until everything that was asked is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._asked)
            listener = self._listener
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
        if listener is not None:
            listener.join()


_FOUND: dict[tuple[object, ...], Beside] = {}
"""By the index of their device, and the folders of the caches."""


def beside_of(index: int) -> Beside:
    """One for all that open a device, unless it has failed; what is asked from now on comes first."""
    key = (index, folder(), os.environ.get("POCL_CACHE_DIR"))
    found = _FOUND.get(key)
    if found is None or not found.works:
        found = _FOUND[key] = Beside(index)
    found.runs += 1
    return found


def finish() -> None:
    """Wait until the processes beside have done what they were asked."""
    for one in list(_FOUND.values()):
        one.finish()


def _serve(index: int, jobs: io.FileIO) -> None:
    """Compile what the lines say, and answer each with its name."""
    from .device import OpenCLDevice
    from .listing import list_devices
    from .queue import OpenCLQueue

    device = OpenCLDevice(list_devices()[index], starts_quickly=False)
    queue = device.queue
    assert isinstance(queue, OpenCLQueue)
    dummy: Any = device.empty(_DUMMY_BYTES, "u1").argument
    programs: dict[str, Program] = {}
    while select.select([jobs], [], [], _IDLE_SECONDS)[0] and (line := jobs.readline()):
        name, template, path, entry, grid, block = json.loads(line)
        if path not in programs:
            programs[path] = Program(device, Source(template, "opencl", (kept(path) or b"").decode()))
        program = programs[path]
        if len(_KERNEL.findall(program.source.text)) >= len(program.signatures):  # else one would run
            kernel = program.kernel(entry)
            native = [dummy if parameter.is_buffer else 0 for parameter in kernel.signature.parameters]
            with alone(name):
                queue.compile(kernel, grid, block, native)
            keep(_mark(kernel.source, entry), b"")
        print(name, flush=True)


def main(index: int) -> None:
    os.nice(5)
    with open(0, "rb", buffering=0) as jobs:
        _serve(index, jobs)
