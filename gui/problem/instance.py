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
from engine.solvers import Solver, solver_for

__all__ = ["Instance", "read_instance"]


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
