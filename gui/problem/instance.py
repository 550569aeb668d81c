"""Reading a problem file with the options its configuration gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine.config import Resolved, Settings, resolve, solver_options
from engine.errors import InputError
from engine.folder import read_problem
from engine.problem import Problem
from engine.solver import Solver
from engine.solvers import solver_for

__all__ = ["Instance", "read_instance"]


@dataclass(frozen=True)
class Instance:
    """A problem from a file, ready to be run.

    ``base`` are the options from defaults, configuration and environment; ``options`` and ``settings`` are those that a
    TOML file sets in addition.
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
    """Read an instance file, a TOML file that names one, or the problem of a run folder.

    Raises
    ------
    engine.errors.InputError
        With the file, the line and the rule.
    """
    default = resolve()
    from_file: Resolved | None = None
    source = path
    if path.suffix.lower() == ".toml":
        from_file = resolve(file=path)
        if from_file.problem is None:
            raise InputError(f'{path} names no problem; give it a line problem = "FILE"')
        source = from_file.problem
    problem = read_problem(source)
    solver = solver_for(problem)
    base = solver_options(solver, default, {})
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if from_file is not None:
        chosen = solver_options(solver, from_file, {})
        options = {name: getattr(chosen, name) for name in from_file.given_options.get(solver.name, {})}
        settings = {name: getattr(from_file.settings, name) for name in from_file.given}
    return Instance(path, source.resolve(), problem, solver, base, default.settings, options, settings)
