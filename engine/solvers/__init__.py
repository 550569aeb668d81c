"""The solvers: one package each, found by looking in this folder; nothing else lists them.

A package here is a solver when it defines ``SOLVER``, an instance of :class:`Solver`. The command line, the config
section, the options form and the generic dashboard all follow from what that object declares.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from engine.errors import InputError, OptionError, ProblemError, nearest
from engine.problem import Problem

if TYPE_CHECKING:
    from engine.devices.pool import DevicePool
    from engine.results import Result
    from engine.run import Run

__all__ = [
    "Generator",
    "Later",
    "MetricSpec",
    "Solver",
    "SolverOptions",
    "discover",
    "problem_classes",
    "public_names",
    "recognize",
    "solver_for",
    "solver_named",
]


class SolverOptions(BaseModel):
    """Base of every options model: unknown names are errors, values are frozen, every field has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


@dataclass(frozen=True)
class MetricSpec:
    """A live series a solver promises to emit, so that a dashboard can draw it without knowing the solver.

    ``name`` is the event's ``name``; ``unit`` is shown on the axis; ``per_device`` says whether each device has a
    curve of its own; ``log`` asks for a logarithmic axis.
    """

    name: str
    title: str
    unit: str = ""
    per_device: bool = False
    log: bool = False


@dataclass(frozen=True)
class Generator:
    """A family of random instances: ``quintet generate KIND`` fills ``options`` and writes what ``make`` returns.

    ``suffix`` is what the names of its files end with.
    """

    options: type[BaseModel]
    make: Callable[[Any], Problem]
    write: Callable[[Any, Path], None]
    suffix: str = ".txt"


@dataclass(frozen=True)
class Solver:
    """Everything the rest of the house needs to know of one solver.

    ``solve(problem, options, pool, run)`` does the work. ``bench(arguments)`` is what ``quintet bench NAME`` runs with
    the rest of its command line: it checks and measures in one call and returns an exit code. ``tune(arguments)`` is
    what ``quintet tune NAME`` runs likewise: it finds settings that solve a problem reliably. ``report(result)`` makes
    a table (titles and rows) that the command line shows below a result.
    """

    name: str
    title: str
    problems: tuple[type[Problem], ...]
    options: type[SolverOptions]
    solve: Callable[[Any, Any, DevicePool, Run], Result]
    metrics: tuple[MetricSpec, ...] = ()
    generators: dict[str, Generator] = field(default_factory=dict)
    bench: Callable[[list[str]], int] | None = None
    report: Callable[[Result], tuple[Sequence[str], Sequence[Sequence[str]]] | None] | None = None
    tune: Callable[[list[str]], int] | None = None


@dataclass(frozen=True)
class Later:
    """A name whose module is imported when it is first asked for.

    It needs a package that is optional, or the engine, which looks for the solvers. A function is called as it is.
    """

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        function: Any = self.load()
        return function(*arguments)

    def load(self) -> object:
        """The object itself."""
        return getattr(importlib.import_module(self.module), self.name)


@functools.cache
def discover() -> dict[str, Solver]:
    """All solvers by name, in alphabetical order."""
    found: dict[str, Solver] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if module.ispkg:
            solver = getattr(importlib.import_module(f"{__name__}.{module.name}"), "SOLVER", None)
            if isinstance(solver, Solver):
                found[solver.name] = solver
    return found


def problem_classes() -> dict[str, type[Problem]]:
    """All problem classes by class name, as ``engine.<name>`` offers them."""
    return {problem.__name__: problem for solver in discover().values() for problem in solver.problems}


def public_names() -> dict[str, object]:
    """What ``engine.<name>`` offers from the solvers: the problem classes, and each package's own ``PUBLIC``."""
    names: dict[str, object] = dict(problem_classes())
    for name in discover():
        package = sys.modules.get(f"{__name__}.{name}")
        names |= getattr(package, "PUBLIC", {})
    return names


def solver_named(name: str) -> Solver:
    """The solver of that name; :class:`OptionError` with the nearest right name otherwise."""
    solvers = discover()
    if name not in solvers:
        raise OptionError(f"unknown solver '{name}'{nearest(name, solvers)} (known: {', '.join(solvers)})")
    return solvers[name]


def solver_for(problem: Problem) -> Solver:
    """The solver that takes this problem."""
    for solver in discover().values():
        if isinstance(problem, solver.problems):
            return solver
    known = ", ".join(problem_classes())
    raise InputError(f"no solver takes a {type(problem).__name__}; the problems are {known}")


def recognize(path: Path) -> type[Problem]:
    """The problem class of an instance file, from its name and its first 4 kB.

    Raises
    ------
    InputError
        If the file cannot be read, or no problem recognises it.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(4096).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    for problem in problem_classes().values():
        if problem.recognizes(path, head):
            return problem
    raise _unrecognized(path)


def _unrecognized(path: Path) -> InputError:
    """Why no problem recognises a file: the fault of the reader that came furthest, if one came past the first line."""
    furthest, told = 1, ""
    for name, problem in problem_classes().items():
        try:
            problem.read(path)
        except ValueError as error:  # not every reader is for binary files
            line = error.line if isinstance(error, ProblemError) and error.line else 0
            if line > furthest:
                furthest, told = line, f"; read as {name}: {error}"
    kinds = ", ".join(sorted(problem_classes()))
    return InputError(f"cannot tell what kind of problem {path} holds; it is none of: {kinds}{told}")
