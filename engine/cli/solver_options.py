"""The solver options on the command line of ``quintet solve``, read once the problem's solver is known.

Whether ``--reduce data.txt`` is an option with a value, or a switch and the problem's FILE, depends on the solver, and
the solver on FILE. So FILE is found first: a word that cannot be an option's value, else a file after an option which
is a switch for the solver of that very file, else what the configuration names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from engine import config
from engine.cli_options import has_foreign_options, own_options, positionals, split_options
from engine.errors import InputError, OptionError
from engine.folder import RunFolder
from engine.problem import Problem
from engine.solver import Solver, SolverOptions
from engine.solvers import recognize, solver_for_class, solver_named

__all__ = ["NoProblem", "SolverCommand", "problem_file"]


class NoProblem(OptionError):
    """Neither the command line nor the configuration names a problem."""

    def __init__(self) -> None:
        super().__init__('no problem: name a FILE, or a configuration with a line problem = "FILE"')


class SolverCommand(click.Command):
    """A command with an argument FILE, which takes the options of that problem's solver besides its own.

    They are in ``ctx.meta["quintet.options"]``, by name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take out the solver's options, then parse the rest."""
        own = own_options(self)
        ctx.meta["quintet.options"] = {}
        if has_foreign_options(args, own) and not {"-h", "--help"} & set(args):
            args, ctx.meta["quintet.options"] = _split(args, own)
        return super().parse_args(ctx, args)


def problem_file(file: str | None, config_file: str | None) -> tuple[Path | None, str | None]:
    """The problem's path, and the configuration to read: FILE may be either."""
    if file is None or not file.lower().endswith(".toml"):
        return None if file is None else Path(file), config_file
    if config_file is not None:
        raise OptionError(f"{file} and --config {config_file} are both configurations; give one of them")
    return None, file


def _split(arguments: list[str], own: Mapping[str, bool]) -> tuple[list[str], dict[str, Any]]:
    """:func:`split_options` with the options of the solver for FILE."""
    certain, possible = positionals(arguments, own)
    if certain:
        return _split_for(certain[0], arguments, own)
    readings, errors = [], []
    for word in dict.fromkeys(possible):
        if not Path(word).exists():
            continue
        try:
            rest, given = _split_for(word, arguments, own)
        except InputError as error:
            errors.append(error)
            continue
        if positionals(rest, own)[0] == [word]:
            readings.append((word, (rest, given)))
    if len(readings) > 1:
        words = " or ".join(word for word, _ in readings)
        raise OptionError(f"FILE can be {words}; write it before the options")
    if readings:
        return readings[0][1]
    try:
        return _split_for(None, arguments, own)
    except NoProblem as error:
        raise errors[0] if errors else error from None


def _split_for(file: str | None, arguments: list[str], own: Mapping[str, bool]) -> tuple[list[str], dict[str, Any]]:
    """:func:`split_options` with FILE known; None if the configuration names it."""
    path, config_file = problem_file(file, _value(arguments, "--config"))
    if path is None:
        path = config.resolve(file=config_file).problem
    if path is None:
        raise NoProblem
    solver, problem, models = _takes(path)
    return split_options(arguments, own, models, lambda name: config.option_hint(name, solver, problem))


def _takes(path: Path) -> tuple[Solver, type[Problem] | None, Sequence[type[SolverOptions]]]:
    """The solver for a problem file or run folder, the problem's class, and the options models that may apply."""
    if not path.is_dir():
        problem = recognize(path)
        solver = solver_for_class(problem)
        return solver, problem, [solver.options_model(problem)]
    description = RunFolder.open(path).description
    solver = solver_named(description["solver"])
    name = description.get("problem", {}).get("class")
    found = next((kind for kind in solver.problems if kind.__name__ == name), None)
    return solver, found, solver.option_models if found is None else [solver.options_model(found)]


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
