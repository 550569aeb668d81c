"""Work that takes its time, off the window's thread: reading instances, opening run folders, packing archives."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel
from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal

from engine.config import Resolved, Settings, resolve, solver_options
from engine.demo import samples
from engine.errors import InputError, QuintetError, RunFolderError
from engine.folder import RunFolder, read_problem
from engine.problem import Problem
from engine.results import Result
from engine.solvers import Solver, discover, solver_for

__all__ = ["Instance", "Job", "Kept", "Sample", "find_samples", "open_run", "read_instance", "read_kept"]


@dataclass(frozen=True)
class Instance:
    """A problem from a file, ready to be run.

    ``base`` is what the solver's options are where nothing is asked for (configuration and environment included);
    ``options`` and ``settings`` are what a TOML file asks for on top.
    """

    path: Path
    source: Path
    problem: Problem
    solver: Solver
    base: BaseModel
    base_settings: Settings
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_instance(path: Path) -> Instance:
    """Read an instance file, a TOML file that names one, or a run folder, which keeps its problem.

    Raises
    ------
    engine.errors.InputError
        With the file, the line and the rule.
    """
    plain = resolve()
    asked: Resolved | None = None
    source = path
    if path.suffix.lower() == ".toml":
        asked = resolve(file=path)
        if asked.problem is None:
            raise InputError(f'{path} names no problem; give it a line problem = "FILE"')
        source = asked.problem
    problem = read_problem(source)
    solver = solver_for(problem)
    base = solver_options(solver, plain, {})
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if asked is not None:
        chosen = solver_options(solver, asked, {})
        options = {name: getattr(chosen, name) for name in asked.given_options.get(solver.name, {})}
        settings = {name: getattr(asked.settings, name) for name in asked.given}
    return Instance(path, source.resolve(), problem, solver, base, plain.settings, options, settings)


def open_run(folder: Path) -> Problem:
    """The problem of a run folder.

    Raises
    ------
    engine.errors.RunFolderError
        If it is none, or has no events.
    """
    opened = RunFolder.open(folder)
    if next(opened.events(), None) is None:
        raise RunFolderError(f"the run in {folder} has no events yet")
    return opened.problem()


@dataclass(frozen=True)
class Kept:
    """What the folder of a run that is over holds: ``digest`` is what a dashboard shows of the result."""

    problem: Problem
    result: Result | None
    digest: Any = None


def read_kept(folder: Path, digester: Callable[[Result, Problem], Any]) -> Kept:
    """Read problem and result, and have the result made into what is shown.

    Raises
    ------
    engine.errors.RunFolderError
        If something of it cannot be read.
    """
    opened = RunFolder.open(folder)
    problem, result = opened.problem(), opened.result()
    return Kept(problem, result, None if result is None else digester(result, problem))


@dataclass(frozen=True)
class Sample:
    """A bundled instance, or a recorded run.

    ``group`` is the solver's title, ``title`` what the problem is called, ``about`` what its file says of it;
    ``first`` marks the one sample of each solver that has settings of its own.
    """

    path: Path
    group: str
    title: str
    description: str
    about: str = ""
    first: bool = False
    recorded: bool = False


def find_samples() -> list[Sample]:
    """The bundled instances by solver, the one that has a TOML file first; then the recorded runs."""
    found: list[Sample] = []
    recorded: list[Sample] = []
    for toml in samples():
        solver = discover().get(toml.stem)
        title = solver.title.partition(" (")[0] if solver is not None else toml.stem
        folder = toml.parent / toml.stem
        named = resolve(file=toml).problem
        for path in (toml, *sorted(folder.glob("*"))):
            if path.is_dir() or path.suffix == ".py" or (named is not None and path.resolve() == named.resolve()):
                continue
            try:
                problem = read_instance(path).problem
            except (QuintetError, ValueError):
                continue
            about = _comment(path) if path == toml else ""
            found.append(Sample(path, title, problem.name, problem.describe(), about, first=path == toml))
    for folder in sorted({path.parent for path in samples()[0].parent.rglob("run.toml")}):
        try:
            about = RunFolder.open(folder).description
        except QuintetError:
            continue
        solver = discover().get(str(about.get("solver")))
        title = solver.title.partition(" (")[0] if solver is not None else folder.name
        name = str(about.get("problem", {}).get("name") or folder.name)
        recorded.append(Sample(folder, "Recorded runs", name, f"{title}: a recorded run to replay", recorded=True))
    return found + recorded


def _comment(path: Path) -> str:
    """The comment at the top of a TOML file."""
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)


class _Teller(QObject):
    """Lives on the thread that made it, and so receives there."""

    told = Signal(object, bool)

    def __init__(self, done: Callable[[Any], object], failed: Callable[[Exception], object]) -> None:
        super().__init__()
        self._heirs: tuple[Callable[[Any], object], Callable[[Exception], object]] | None = (done, failed)
        self.has_told = False
        self.told.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    def forget(self) -> None:
        """Tell nobody, and hold nobody."""
        self._heirs = None

    def _receive(self, value: Any, well: bool) -> None:
        heirs, self._heirs = self._heirs, None
        self.has_told = True
        if heirs is not None:
            heirs[0 if well else 1](value)


class Job(QRunnable):
    """A function on a thread of the pool; its result or its error come back on the thread that made the job.

    What it tells after :meth:`forget` is dropped. A job lasts until it is done, whoever gives it up: the pool calls it.
    """

    _under_way: ClassVar[set[Job]] = set()

    def __init__(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[Exception], object],
    ) -> None:
        super().__init__()
        self.setAutoDelete(False)
        self._work: Callable[[], Any] | None = work
        self._teller = _Teller(done, failed)
        self._over = False

    def start(self) -> Job:
        """Put it to the pool."""
        # Those that are done go here, on the thread of their tellers, and not where they have run.
        Job._under_way.difference_update([job for job in Job._under_way if job._over and job._teller.has_told])
        Job._under_way.add(self)
        QThreadPool.globalInstance().start(self)
        return self

    def forget(self) -> None:
        """Nobody waits for it any more."""
        self._teller.forget()

    def run(self) -> None:
        """Do the work, on the pool's thread."""
        work, self._work = self._work, None
        assert work is not None
        try:
            result = work()
        except Exception as error:
            if not isinstance(error, QuintetError):
                traceback.print_exc()
            self._tell(error, False)
        else:
            self._tell(result, True)

    def _tell(self, value: object, well: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the app may have ended meanwhile
            self._teller.told.emit(value, well)
        self._over = True
