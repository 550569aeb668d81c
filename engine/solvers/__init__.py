"""The solvers: one package each, discovered in this folder; there is no other list of them.

A package here is a solver if it defines ``SOLVER``, an instance of :class:`engine.base.solver.Solver`.
"""

import contextlib
import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

from ..base.problem import Problem
from ..base.solver import Solver
from ..errors import InputError, OptionError, ProblemError, nearest
from ..formats.source import read_beginning, without_compression
from ..util.files import reason_of

__all__ = [
    "class_named",
    "discover",
    "problem_classes",
    "public_names",
    "recognize",
    "solver_for",
    "solver_for_class",
    "solver_named",
]

_LARGEST_EXPLAINED = 1 << 20


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
    """What ``engine.<name>`` offers of the solvers: the problem classes, and the ``PUBLIC`` of each package."""
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
    if isinstance(problem, (str, Path)):
        raise InputError(f"the problem must be read first, as in engine.Knapsack.read({str(problem)!r}); got its path")
    return solver_for_class(type(problem))


def solver_for_class(problem: type[Problem]) -> Solver:
    """The solver that takes problems of this class, or of its nearest base class that one takes."""
    for base in problem.__mro__:
        for solver in discover().values():
            if base in solver.problems:
                return solver
    known = ", ".join(_instance_classes())
    raise InputError(f"no solver takes a {problem.__name__}; the problems are {known}")


def _instance_classes() -> list[str]:
    """The names of the problem classes, without those that are only derived from."""
    return [kind.__name__ for solver in discover().values() for kind in solver.instance_classes]


def class_named(name: str) -> type[Problem]:
    """The problem class of that name, in any case, or of that ``kind``.

    Raises
    ------
    OptionError
        If there is none, with the nearest right name.
    """
    kinds = {kind.__name__: kind for solver in discover().values() for kind in solver.instance_classes}
    plain = name.lower().replace("-", "_")
    found = [kind for kind in kinds.values() if plain in (kind.__name__.lower(), kind.kind)]
    if not found:
        raise OptionError(f"unknown kind '{name}'{nearest(name, kinds)}; the kinds are {', '.join(sorted(kinds))}")
    return found[0]


def recognize(path: Path, advice: Callable[[], str] = str) -> type[Problem]:
    """The problem class of an instance file, from its name and its first 4 kB, or those behind long comments.

    Parameters
    ----------
    path : Path
    advice : callable
        Gives what the user can do about a file that is not recognised, for the message.

    Raises
    ------
    InputError
        If the file cannot be read, or no problem recognises it.
    """
    try:
        head = read_beginning(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from error
    except ValueError as error:  # a name that no file can have
        raise InputError(f"cannot read {str(path)!r}: {error}") from error
    for problem in problem_classes().values():
        if problem.recognizes(without_compression(path), head):
            return problem
    if len(head) < 1000 and not head.strip():
        raise InputError(f"{path} holds no problem: it is empty")
    raise _unrecognized(path, advice())


def _unrecognized(path: Path, advice: str) -> InputError:
    """That no problem recognises a file; the kinds; and the faults of the readers that came furthest, past line 1."""
    furthest = 1
    faults: dict[str, list[str]] = {}  # a fault, and the classes that it was found for
    lines = [f"cannot tell what kind of problem {path} holds; {advice or 'the kinds are'}"]
    lines += [
        f"  {solver.name}: {', '.join(kind.__name__ for kind in solver.instance_classes)}"
        for solver in discover().values()
    ]
    with contextlib.suppress(OSError):
        if path.stat().st_size > _LARGEST_EXPLAINED:
            return InputError("\n".join(lines))
    for name, problem in problem_classes().items():
        try:
            problem.read(path)
        except Exception as error:  # whatever a reader raises for a file that is not of its kind
            line = error.line if isinstance(error, ProblemError) and error.line else 0
            if line > furthest:
                furthest, faults = line, {}
            if line == furthest > 1:
                faults.setdefault(str(error), []).append(name)
    lines += [f"  read as {' or '.join(names)}: {fault}" for fault, names in faults.items()]
    return InputError("\n".join(lines))
