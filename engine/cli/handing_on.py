"""``quintet bench | tune | gui``: commands that hand their words on to what they name."""

from __future__ import annotations

import importlib

import click

from engine.cli_options import debug_option
from engine.errors import InputError, OptionError
from engine.solvers import solver_named

__all__ = ["bench", "gui", "tune"]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
)
@click.argument("solver")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(solver: str, arguments: tuple[str, ...]) -> int:
    """Measure and check SOLVER on this machine, ratios side by side; its own arguments follow."""
    found = solver_named(solver)
    if found.bench is None:
        raise OptionError(f"the solver {solver} has no benchmark")
    return found.bench(list(arguments))


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
)
@click.argument("solver")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def tune(solver: str, arguments: tuple[str, ...]) -> int:
    """Find settings of SOLVER that solve a problem reliably; its own arguments follow."""
    found = solver_named(solver)
    if found.tune is None:
        raise OptionError(f"the solver {solver} has nothing to tune")
    return found.tune(list(arguments))


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--data", metavar="DIR", help="Keep runs and settings here, not in the user's data folder.")
@debug_option
def gui(files: tuple[str, ...], data: str | None) -> int:
    """Open the desktop app, with problem files or run folders if any are named."""
    app = importlib.import_module("gui.__main__")  # the app is a client of the command line, not a part of it
    if lack := app.missing():
        raise InputError(lack)
    return int(app.main([*(["--data", data] if data else []), "--", *files]))
