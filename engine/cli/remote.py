"""``quintet solve --host`` and ``quintet resume --host``: a run on another host, over ssh.

The run folder with the problem is sent to ``quintet receive`` there (see :mod:`engine.cli.receiving`), which runs it,
sends its events as they come, and the run folder at the end. Here the events are shown and recorded as those of a run
in this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

from ..base.problem import Problem
from ..base.result import Result
from ..errors import DeviceError, QuintetError
from ..events import Event, Failed, Finished, Notice, Started, from_json
from ..execution.hosts import Host, host_named, ssh_words
from ..runs.folder.run_folder import RunFolder
from ..runs.observers import Recorder
from ..runs.publisher import Observer, Publisher
from ..settings.config import Resolved, solver_options
from ..solvers import solver_for_class
from ..util.text import printable
from .archive import FORMAT, pack, replace_files, unpack
from .options import assignments

__all__ = ["RemoteRun", "resume_there", "solve_there"]

_FORWARDED = ("time_limit", "seed", "checkpoint_interval")
_MOST_LINES = 50  # of standard error
_CHUNK = 1 << 20
_GRACE = 2.0  # seconds for the process of ssh to end


def solve_there(
    name: str,
    problem: Problem,
    resolved: Resolved,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any],
    trust: bool,
) -> RemoteRun:
    """A run of ``quintet solve`` on another host, which does not begin yet.

    Parameters
    ----------
    name : str
        A saved host, or a destination of ssh.
    problem : Problem
    resolved : Resolved
        Settings and options of all sources here; which devices are used is left to the host unless ``arguments`` say.
    arguments, options : mapping
        Settings and options of the command line.
    trust : bool
        Whether code that the problem contains may be executed there.

    Raises
    ------
    engine.errors.OptionError
        If the host, or an option, is not allowed.
    """
    host = host_named(name)
    solver = solver_for_class(type(problem))
    chosen = solver_options(solver, resolved, options, type(problem))
    devices = {key: arguments[key] for key in ("backend", "devices") if arguments.get(key)}
    settings = {key: resolved.given[key].value for key in _FORWARDED if key in resolved.given}
    fields = type(chosen).model_fields
    given = {key: value for key, value in resolved.options.get(solver.name, {}).items() if key in fields}
    words = assignments({**devices, **settings, **given, **options}) + ["--trust"] * trust

    def make(path: Path) -> RunFolder:
        about = {"solver": solver.name, "options": chosen.model_dump(mode="json"), "settings": settings, "devices": []}
        return RunFolder.create(path, problem, about)

    if resolved.settings.run_folder is None:
        return RemoteRun(name, host, "solve", words, problem, make, None)
    path = Path(resolved.settings.run_folder)
    RunFolder.require_free(path)
    return RemoteRun(name, host, "solve", words, problem, make, path)


def resume_there(name: str, folder: str | Path, arguments: Mapping[str, Any], trust: bool) -> RemoteRun:
    """A run of ``quintet resume`` on another host, which does not begin yet.

    Parameters
    ----------
    name : str
        A saved host, or a destination of ssh.
    folder : path-like
        The run folder here; the host's takes its place at the end.
    arguments : mapping
        Settings of the command line.
    trust : bool
        Whether code that the folder contains may be executed, here and there.

    Raises
    ------
    engine.errors.OptionError
        If the host cannot be one.
    engine.errors.RunFolderError
        If the folder is none.
    """
    opened = RunFolder.open(folder)
    problem = opened.problem(trust=trust)
    given = {key: value for key, value in arguments.items() if value not in (None, False)}
    from_start = ["--from-start"] * bool(given.pop("from_start", False))
    words = [*assignments(given), *from_start, *["--trust"] * trust]
    return RemoteRun(name, host_named(name), "resume", words, problem, lambda _path: opened, opened.path)


class RemoteRun:
    """A run on another host, with the interface of :class:`engine.runs.run.Run` that the command line uses.

    Use it as a context manager, which ends the connection. ``problem`` is what is solved, ``folder`` the run folder
    here, if one is kept.

    Parameters
    ----------
    name : str
        The host as the user has named it.
    host : Host
    command : {"solve", "resume"}
    words : sequence of str
        Of the command line there.
    problem : Problem
    make : callable
        ``make(path)`` makes or opens the run folder here.
    path : Path or None
        The run folder; None for a temporary one.
    """

    overdue = 0.0
    """The other side watches over snippets that do not return."""

    def __init__(
        self,
        name: str,
        host: Host,
        command: Literal["solve", "resume"],
        words: Sequence[str],
        problem: Problem,
        make: Any,
        path: Path | None,
    ) -> None:
        self.problem = problem
        self.folder: RunFolder | None = None
        self.is_saved = True
        self._name, self._host, self._command, self._words = name, host, command, list(words)
        self._make, self._path = make, path
        self._stack = contextlib.ExitStack()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # of signal handlers, too
        self._errors: deque[str] = deque(maxlen=_MOST_LINES)
        self._there = ""
        self._last: Event | None = None
        self._begun = False
        self._error: BaseException | None = None
        self._result: Result | None = None
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._follow, name="quintet-remote", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    # --- as a run -----------------------------------------------------------------------------------------------

    def start(self, observers: Sequence[Observer]) -> Self:
        """Connect, and begin to follow the run.

        Raises
        ------
        engine.errors.DeviceError
            If ssh cannot be started.
        engine.errors.RunFolderError
            If the run folder cannot be made, or is in use.
        """
        path = self._path
        if path is None:
            path = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="quintet-"))) / "run"
        self._own: RunFolder = self._make(path)
        self._own.acquire()
        self._stack.callback(self._own.release)
        self.folder = None if self._path is None else self._own
        archive, size = pack(self._own.path)
        self._stack.callback(archive.close)
        recorder = Recorder(self._own.events_path)
        self._stack.callback(recorder.close)
        self._publisher = Publisher(observers, recorder, self._report)
        with _interrupts_ignored():
            self._process = self._connect()
        self._stack.callback(self._disconnect)
        self._publisher.start()
        request = {"format": FORMAT, "command": self._command, "words": self._words, "archive": size}
        for thread in (
            threading.Thread(target=self._write, args=(request, archive), name="quintet-remote", daemon=True),
            threading.Thread(target=self._read_errors, name="quintet-remote", daemon=True),
            self._thread,
        ):
            thread.start()
            self._threads.append(thread)
        return self

    def join(self, timeout: float) -> bool:
        """Wait at most so many seconds; whether the run has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def outcome(self) -> Result:
        """The result of a run that has ended; raises the error that it ended with."""
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def pause(self) -> None:
        """Pause."""
        self._requests.put(b"pause\n")

    def resume(self) -> None:
        """Continue after a pause."""
        self._requests.put(b"resume\n")

    def stop(self) -> None:
        """End soon, with the best so far."""
        self._requests.put(b"stop\n")

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """Show the user a message.

        Parameters
        ----------
        message : str
        level : {"info", "warning"}
        """
        self._emit(Notice(time=0.0 if self._last is None else self._last.time, level=level, message=message))

    # --- the connection -----------------------------------------------------------------------------------------

    def _connect(self) -> subprocess.Popen[bytes]:
        words = ssh_words(self._host, "receive --events -")
        try:
            return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError as error:
            raise DeviceError("the program ssh is not installed; it connects to other hosts") from error
        except OSError as error:
            raise DeviceError(f"ssh cannot be started: {error.strerror or error}") from error

    def _disconnect(self) -> None:
        self._requests.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_GRACE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # of what was still to be sent
                    stream.close()

    def _write(self, request: dict[str, Any], archive: IO[bytes]) -> None:
        """Send the request and the run folder, then what the user requests."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the reader of events notices
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            shutil.copyfileobj(archive, self._process.stdin, _CHUNK)
            self._process.stdin.flush()
            while (word := self._requests.get()) is not None:
                self._process.stdin.write(word)
                self._process.stdin.flush()
            self._process.stdin.close()

    def _read_errors(self) -> None:
        """Keep the last lines of standard error, and show warnings at once; errors arrive as events, too."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = printable(line.decode(errors="replace").rstrip())
            if text.startswith("warning: "):
                print(text, file=sys.stderr, flush=True)
            elif text:
                self._errors.append(text)

    def _follow(self) -> None:
        """Read all that comes, on a thread of its own."""
        try:
            last = self._read_events()
            if self._command == "solve" and not self._begun:  # it was refused
                self._own.discard()
            if last is None:
                raise self._lost()
            self._result = self._own.result() if isinstance(last, Finished) else None
            self._emit(last)
            if isinstance(last, Failed):
                raise _failure(last)
            if self._result is None:
                raise DeviceError(f"{self._name} has sent no result")
        except BaseException as error:  # raised again by outcome()
            self._error = error
        finally:
            self._publisher.close()

    def _read_events(self) -> Event | None:
        """Pass events on as they come; the last one, which is passed on when all else has arrived, or None."""
        last: Event | None = None
        for line in self._lines():
            message = _json(line)
            if "archive" in message:
                self._receive(int(message["archive"]))
            elif "folder" in message and "type" not in message:
                self._there = str(message["folder"])
            else:
                with contextlib.suppress(ValueError):
                    event = from_json(line)
                    self._begun = self._begun or isinstance(event, Started)
                    if isinstance(event, (Finished, Failed)):
                        last = event
                    else:
                        self._emit(event)
        return last

    def _lines(self) -> Iterator[bytes]:
        assert self._process.stdout is not None
        yield from iter(self._process.stdout.readline, b"")

    def _receive(self, size: int) -> None:
        """Take over the run folder that follows."""
        assert self._process.stdout is not None
        if size == 0:
            return
        with tempfile.TemporaryDirectory(prefix="quintet-") as temporary, tempfile.TemporaryFile() as archive:
            while size > 0 and (part := self._process.stdout.read(min(size, _CHUNK))):
                archive.write(part)
                size -= len(part)
            if size > 0:
                raise self._lost()
            archive.seek(0, io.SEEK_SET)
            unpack(archive, Path(temporary) / "run")
            replace_files(self._own.path, Path(temporary) / "run")
        again = RunFolder.open(self._own.path)
        self._own.identity, self._own.description = again.identity, again.description

    def _emit(self, event: Event) -> None:
        """Hand an event to the observers; any thread may, and so may a signal handler."""
        self._last = event
        self._publisher.publish(event)

    def _report(self, message: str, late: bool) -> None:
        """Tell the other observers that one has failed."""
        if not late:
            self.notice(message, "warning")

    def _lost(self) -> DeviceError:
        """The error for a connection that ends before the run."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        detail = f": {self._errors[-1]}" if self._errors else ""
        if not self._there:
            hint = "" if self._process.returncode == 255 else f" (started with: {self._host.command} receive)"
            return DeviceError(f"Quintet cannot be started on {self._name}{hint}{detail}")
        return DeviceError(
            f"the connection to {self._name} was lost{detail}; the run stops there, and its folder on {self._name} "
            f"is {self._there}"
        )


def _failure(event: Failed) -> QuintetError:
    """The error of a run that failed on the other side."""
    error = QuintetError(event.message)
    error.exit_code = event.exit_code
    return error


def _json(line: bytes) -> dict[str, Any]:
    """A line as an object; an empty one for what is none, such as the greeting of a shell."""
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return {}


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A process that is started here does not end at Ctrl-C: it has to pass on the request to stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
