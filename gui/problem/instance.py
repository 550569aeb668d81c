"""Reading a problem file with the options its configuration gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine.base.option_models import Given, validated
from engine.base.problem import Problem, ReadOptions
from engine.base.solver import Solver
from engine.errors import InputError
from engine.runs.folder.run_folder import read_problem
from engine.settings.config import Resolved, Settings, resolve, solver_options
from engine.solvers import solver_for

AS = "as"
"""What the class that the user chose is called among the options of reading."""


@dataclass(frozen=True)
class Instance:
    """A problem from a file; ``options`` and ``settings`` are what a TOML file sets beside ``base``.

    ``reader`` is the model of what the file's reader takes, ``reading`` what it was given, with ``"as"`` for ``--as``.
    """

    path: Path
    source: Path
    problem: Problem
    solver: Solver
    base: BaseModel
    base_settings: Settings
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    reader: type[ReadOptions] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)


def reader_of(path: Path, kind: str | None = None) -> type[ReadOptions] | None:
    """The model of what the reader of a file takes besides its path; None if it takes nothing, or is unknown."""
    from engine.cli.reading import class_of  # not at the start of the window

    try:
        source = resolve(file=path).problem if path.suffix.lower() == ".toml" else path
        return None if source is None or source.is_dir() else class_of(source, True, kind).read_options
    except (InputError, OSError, ValueError):
        return None


def read_instance(path: Path, reading: Mapping[str, Any] | None = None) -> Instance:
    """Read an instance, a TOML file that names one, or a run folder; ``reading`` as in :class:`Instance`."""
    from engine.cli.reading import class_of

    default = resolve()
    from_file: Resolved | None = None
    source = path
    if path.suffix.lower() == ".toml":
        from_file = resolve(file=path)
        if from_file.problem is None:
            raise InputError(f'{path} names no problem; give it a line problem = "FILE"')
        source = from_file.problem
    given = dict(reading or {})
    kind = given.pop(AS, None)
    reader = reader_of(source, kind)
    if reader is None:
        given, problem = {}, read_problem(source, kind=None if kind is None else class_of(source, kind=kind))
    else:
        chosen = validated(reader, {name: Given(value) for name, value in given.items()}, what="option")
        problem = read_problem(source, kind=class_of(source, "target" in given, kind), **chosen.model_dump())
    if kind is not None:
        given[AS] = kind
    solver = solver_for(problem)
    base = solver_options(solver, default, {})
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if from_file is not None:
        wanted = solver_options(solver, from_file, {})
        options = {name: getattr(wanted, name) for name in from_file.given_options.get(solver.name, {})}
        settings = {name: getattr(from_file.settings, name) for name in from_file.given}
    return Instance(path, source.resolve(), problem, solver, base, default.settings, options, settings, reader, given)
