"""The options of ``quintet solve`` for the problem's solver and file format, read once the problem's class is known.

Whether ``--reduce data.txt`` is an option with a value, or a switch and the problem's FILE, depends on the solver, and
the solver on FILE. So FILE is found first: a word that cannot be an option's value, else a file after an option which
is a switch for the solver of that very file, else what the configuration names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..base.problem import Problem
from ..base.solver import Solver, SolverOptions
from ..errors import InputError, OptionError
from ..runs.folder.run_folder import RunFolder
from ..settings import config
from ..solvers import discover, solver_for_class, solver_named
from .options import has_foreign_options, own_options, positionals, split_options
from .reading import class_of


class NoProblem(OptionError):
    """Neither the command line nor the configuration names a problem."""

    def __init__(self) -> None:
        super().__init__('no problem: name a FILE, or a configuration with a line problem = "FILE"')


class SolverCommand(click.Command):
    """A command with an argument FILE, and options in ``ctx.meta["quintet.options"]`` and ``["quintet.reading"]``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = own_options(self)
        split = _Split(args, {}, {})
        if has_foreign_options(args, own) and not {"-h", "--help"} & set(args):
            split = _split(args, own)
        ctx.meta["quintet.options"], ctx.meta["quintet.reading"] = split.options, split.reading
        return super().parse_args(ctx, split.rest)


@dataclass(frozen=True)
class _Split:
    """A command line in three: what is the command's own, the solver's options, and the reader's."""

    rest: list[str]
    options: dict[str, Any]
    reading: dict[str, Any]


def problem_file(file: str | None, config_file: str | None) -> tuple[Path | None, str | None]:
    """The problem's path, and the configuration to read: FILE may be either."""
    if file is None or not file.lower().endswith(".toml"):
        return None if file is None else Path(file), config_file
    if config_file is not None:
        raise OptionError(f"{file} and --config {config_file} are both configurations; give one of them")
    return None, file


def _split(arguments: list[str], own: Mapping[str, bool]) -> _Split:
    """The command line with the options that FILE allows."""
    certain, possible = positionals(arguments, own)
    if certain:
        return _split_for(certain[0], arguments, own)
    readings, errors = [], []
    for word in dict.fromkeys(possible):
        if not Path(word).exists():
            continue
        try:
            split = _split_for(word, arguments, own)
        except InputError as error:
            errors.append(error)
            continue
        if positionals(split.rest, own)[0] == [word]:
            readings.append((word, split))
    if len(readings) > 1:
        words = " or ".join(word for word, _ in readings)
        raise OptionError(f"FILE can be {words}; write it before the options")
    if readings:
        return readings[0][1]
    try:
        return _split_for(None, arguments, own)
    except NoProblem as error:
        raise errors[0] if errors else error from None


def _split_for(file: str | None, arguments: list[str], own: Mapping[str, bool]) -> _Split:
    """The command line with FILE known; None if the configuration names it."""
    path, config_file = problem_file(file, _value(arguments, "--config"))
    if path is None:
        path = config.resolve(file=config_file).problem
    if path is None:
        raise NoProblem
    solver, problem, models = _takes(path, _value(arguments, "--target") is not None, _value(arguments, "--as"))
    reader = problem.read_options if problem is not None and not path.is_dir() else None
    fields = set() if reader is None else set(reader.model_fields)
    every = [*models, *([] if reader is None else [reader])]
    rest, given = split_options(arguments, own, every, lambda name: _hint(name, solver, problem))
    reading = {name: value for name, value in given.items() if name in fields}
    return _Split(rest, {name: value for name, value in given.items() if name not in fields}, reading)


def _takes(
    path: Path, target: bool, kind: str | None
) -> tuple[Solver, type[Problem] | None, Sequence[type[SolverOptions]]]:
    """The solver for a problem file or run folder, the problem's class, and the options models that may apply."""
    if not path.is_dir():
        problem = class_of(path, target, kind)
        solver = solver_for_class(problem)
        return solver, problem, [solver.options_model(problem)]
    description = RunFolder.open(path).description
    solver = solver_named(description["solver"])
    name = description.get("problem", {}).get("class")
    found = next((one for one in solver.problems if one.__name__ == name), None)
    return solver, found, solver.option_models if found is None else [solver.options_model(found)]


def _hint(name: str, solver: Solver, problem: type[Problem] | None) -> str:
    """What an option that does not apply belongs to, for the end of a message."""
    readers = [
        kind.__name__
        for other in discover().values()
        for kind in other.problems
        if kind.read_options is not None and name in kind.read_options.model_fields
    ]
    if readers and problem is not None:
        return f"; it is for files of the problems {', '.join(readers)}, and this one is a {problem.__name__}"
    return config.option_hint(name, solver, problem)


def _value(arguments: Sequence[str], option: str) -> str | None:
    """The value of one of the command's own options, the last if it is repeated."""
    value = None
    for position, word in enumerate(arguments):
        if word == "--":
            break
        if word == option and position + 1 < len(arguments):
            value = arguments[position + 1]
        elif word.startswith(option + "="):
            value = word.partition("=")[2]
    return value
