"""``quintet bench | tune | reproduce | gui``: commands that pass their arguments on."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from ..base.solver import LazyImport, Reproduction, Solver
from ..errors import InputError, OptionError, nearest
from ..solvers import class_named, discover, solver_named
from ..util.paths import PACKAGE, load_app
from .options import debug_option, kind_option


class _PerSolver(click.Command):
    """A command whose first argument is a solver; what follows is that solver's own. Its help lists the solvers."""

    offers: Callable[[Solver], object]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, solver.title) for name, solver in discover().items() if self.offers(solver) is not None]
        with formatter.section("Solvers"):
            formatter.write_dl(rows)
        formatter.write_paragraph()
        formatter.write_text(f"{ctx.command_path} SOLVER --help lists the arguments for one solver.")


class _Bench(_PerSolver):
    offers = staticmethod(lambda solver: solver.bench)


class _Tune(_PerSolver):
    offers = staticmethod(lambda solver: solver.tune)


class _Reproduce(click.Command):
    """A command whose first argument is a reproduction that a solver declares. Its help lists them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            formatter.write_dl([(name, found.title) for name, found in reproductions().items()])
        formatter.write_paragraph()
        formatter.write_text(f"{ctx.command_path} NAME --help lists the arguments for one of them.")


def reproductions() -> dict[str, Reproduction]:
    return {name: found for solver in discover().values() for name, found in solver.reproductions.items()}


_BENCHES = {name: LazyImport(f"{PACKAGE}.benchmarks.{name}.command", "bench") for name in ("cluster", "start")}
"""What is measured besides solvers."""

_PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command(cls=_Bench, context_settings=_PASS_ON)
@click.argument("solver")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(solver: str, arguments: tuple[str, ...]) -> int:
    """Measure SOLVER on this machine, and check its answers; --record FILE also writes what is printed to a file.

    "cluster" instead of a solver simulates how many workers one process can feed; "start" measures how long the
    samples take from the start of a process, with empty caches of kernels and with full ones.
    """
    measure = _BENCHES.get(solver) or solver_named(solver).bench
    if measure is None:
        raise OptionError(f"the solver {solver} has no benchmark")
    words, record = _without_record(arguments)
    if record is None:
        return int(measure(words))
    from ..reports.record import recording

    with recording(solver, words, record):
        return int(measure(words))


def _without_record(arguments: Sequence[str]) -> tuple[list[str], Path | None]:
    """The arguments without ``--record FILE``, and the file."""
    words = list(arguments)
    for index, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option == "--record":
            if not equals and index + 1 == len(words):
                raise OptionError("the option '--record' needs a value")
            end = index + (1 if equals else 2)
            return words[:index] + words[end:], Path(value if equals else words[index + 1])
    return words, None


@click.command(cls=_Tune, context_settings=_PASS_ON)
@click.argument("solver")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def tune(solver: str, arguments: tuple[str, ...]) -> int:
    """Search for settings with which SOLVER solves a problem reliably."""
    found = solver_named(solver)
    if found.tune is None:
        raise OptionError(f"the solver {solver} has no settings to tune")
    return found.tune(list(arguments))


@click.command(cls=_Reproduce, context_settings=_PASS_ON)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def reproduce(name: str, arguments: tuple[str, ...]) -> int:
    """Repeat the measurements of a publication on this machine, and write a report."""
    known = reproductions()
    if name not in known:
        raise OptionError(f"unknown reproduction '{name}'{nearest(name, known)} (known: {', '.join(known)})")
    return known[name].run(list(arguments))


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--data", metavar="DIR", help="Keep runs and settings in this folder, not in the user's data folder.")
@kind_option
@click.option("--install", is_flag=True, help="Add the app to the desktop's menu, with icon and file types (Linux).")
@click.option("--uninstall", is_flag=True, help="Undo --install.")
@debug_option
def gui(files: tuple[str, ...], data: str | None, kind: str | None, install: bool, uninstall: bool) -> int:
    """Open the desktop app, with problem files or run folders if any are named."""
    if kind is not None:
        class_named(kind)
    load_app()
    app = importlib.import_module("gui.__main__")  # the app is a client of the command line, not a part of it
    if lack := app.missing():
        raise InputError(lack)
    if install or uninstall:
        desktop = importlib.import_module("gui.app.desktop")
        for path in desktop.install() if install else desktop.uninstall():
            print(path)
        return 0
    return int(app.main([*(["--data", data] if data else []), *(["--as", kind] if kind else []), "--", *files]))
