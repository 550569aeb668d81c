"""The command line: ``quintet solve | resume | replay | estimate | devices | solvers | demo | generate | bench | ...``.

Exit codes: 0 solved, or stopped by a limit with an answer; 2 bad input or options; 3 device or driver trouble; 4 no
answer (``infeasible``, ``unbounded`` and ``bound_proved`` are answers), or an answer refuted; 5 solved, but the result
could not be written; 6 ``verify`` has refuted nothing, but could not verify everything; 130 after a second Ctrl-C; 1
for anything that should not happen.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import itertools
import os
import sys
import traceback
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from ..errors import ClusterError, OptionError, OutputError, QuintetError
from ..util.files import reason_of
from ..util.paths import PACKAGE
from ..util.quirks.scipy_import import spare_scipy
from ..util.text import number_text, printable

if TYPE_CHECKING:
    from ..runs.observers import JsonLines

_ABORTED = 130
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

COMMANDS = {
    "solve": (f"{__name__}.running", "Solve the problem in FILE."),
    "resume": (f"{__name__}.running", "Continue a stopped run from its last checkpoint."),
    "replay": (f"{__name__}.running", "Show a recorded run again."),
    "sweep": (f"{__name__}.sweeping", "Run every combination of problems, seeds and options."),
    "estimate": (f"{__name__}.estimating", "Estimate the work that solving FILE would take."),
    "devices": (f"{__name__}.listing", "List the devices of this machine."),
    "solvers": (f"{__name__}.listing", "List the solvers, or the options of one."),
    "demo": (f"{__name__}.instances", "Solve the bundled samples and check the answers."),
    "generate": (f"{__name__}.instances", "Write a random instance."),
    "bench": (f"{__name__}.delegating", "Measure and check a solver on this machine."),
    "tune": (f"{__name__}.delegating", "Search for settings that solve a problem reliably."),
    "reproduce": (f"{__name__}.delegating", "Repeat the measurements of a publication, and write a report."),
    "verify": (f"{__name__}.verifying", "Check answers without the solver, and proofs."),
    "gui": (f"{__name__}.delegating", "Open the desktop app."),
}
"""The commands: the module of each, imported when the command is used, and its line in the list of commands."""

_HIDDEN = {"standby": f"{__name__}.standby", "receive": f"{__name__}.receiving"}
"""Commands for programs, which are not listed."""

_when_imported = contextlib.ExitStack()
"""What :func:`main` has to do once the command is imported; nothing where another program calls the command line."""


def main() -> None:
    """The console script: :func:`command_line`, and the end of the process."""
    gc.disable()  # until the command is imported: imports leave nothing to collect
    _when_imported.callback(gc.enable)
    _when_imported.callback(gc.freeze)
    gc.set_threshold(2000)  # as in newer Pythons
    spare_scipy()
    code = command_line(sys.argv[1:])
    if code == _ABORTED or _works_on():  # a device may still be busy, and nothing waits for it
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # else the interpreter visits every object before it ends, which takes 0.1 s
    sys.exit(code)


def _works_on() -> bool:
    """Whether a solver still works that a run has ended without, if devices were used at all."""
    pool = sys.modules.get(f"{PACKAGE}.devices.pool.pool")
    return pool is not None and pool.has_work_left()


def command_line(words: Sequence[str]) -> int:
    """Run the command line given by the words after ``quintet``, and return the exit code."""
    debug = "--debug" in words
    try:
        return _invoke(words, debug)
    except OutputError as error:
        _drop_output()
        return _fail(error, None, debug)


def _drop_output() -> None:
    """Nothing more can be written to standard output, nor may the end of the process complain of it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(words: Sequence[str], debug: bool) -> int:
    with _events_stream(words) as stream:
        lines = None if stream is None else _json_lines(stream)
        try:
            code = cli.main(list(words), prog_name="quintet", standalone_mode=False, obj=lines)
            sys.stdout.flush()
            return int(code or 0)
        except (KeyboardInterrupt, click.Abort):
            return _abort(debug)
        except (_ReaderGone, BrokenPipeError):  # nor may the exit complain
            _drop_output()
            return 0
        except click.NoSuchOption as error:
            return _fail(OptionError(_unknown_option(error)), lines, debug)
        except click.ClickException as error:
            return _fail(OptionError(error.format_message().rstrip(".")), lines, debug)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
                raise OutputError(f"standard output cannot be written: {reason_of(error)}") from error
            return _fail(error, lines, debug)


def _json_lines(stream: IO[str]) -> JsonLines:
    from ..runs.observers import JsonLines

    return JsonLines(stream)


def _events_stream(words: Sequence[str]) -> contextlib.AbstractContextManager[IO[str] | None]:
    """Where ``--events -`` writes; None if it is not given."""
    if "--events=-" not in words and ("--events", "-") not in itertools.pairwise(words):
        return contextlib.nullcontext()
    from .options import own_output

    return own_output()


def _fail(error: Exception, lines: JsonLines | None, debug: bool) -> int:
    """Report an error on standard error, and as the last event where events are written to standard output."""
    expected = isinstance(error, QuintetError)
    code = error.exit_code if isinstance(error, QuintetError) else 1
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    if lines is not None and not lines.ended:
        from ..events import Failed

        with contextlib.suppress(OSError):
            lines(Failed(time=0.0, error=type(error).__name__, message=message, exit_code=code))
    if debug:
        traceback.print_exception(error)
    hint = "" if expected or debug else " (this should not happen; --debug shows where)"
    print(printable(f"error: {message}{hint}"), file=sys.stderr)
    if isinstance(error, QuintetError) and error.best_objective is not None:
        bound = "" if error.best_bound is None else f" (bound {number_text(error.best_bound)})"
        print(f"best objective before the error: {number_text(error.best_objective)}{bound}", file=sys.stderr)
    if isinstance(error, QuintetError) and error.run_folder is not None:
        where = " --cluster WHERE" if isinstance(error, ClusterError) else ""
        hint = f"the last checkpoint is kept; to resume: quintet resume {error.run_folder}{where}"
        print(printable(hint), file=sys.stderr)
    return code


def _abort(debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("error: aborted", file=sys.stderr)
    return _ABORTED


class _ReaderGone(Exception):
    """The reader of standard output has closed it, as after ``| head``."""


class _Group(click.Group):
    """The commands of :data:`COMMANDS`, each imported when it is used."""

    def invoke(self, ctx: click.Context) -> Any:
        """Keep a broken pipe from click, which would report it as a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS[cmd_name][0] if cmd_name in COMMANDS else _HIDDEN.get(cmd_name)
        if module is None:
            return None
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        _when_imported.close()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown name, suggest the nearest."""
        if args and not args[0].startswith("-") and args[0] not in {**COMMANDS, **_HIDDEN}:
            raise OptionError(f"unknown command '{args[0]}'{_suggestion(args[0])}")
        return super().resolve_command(ctx, args)


def _suggestion(word: str) -> str:
    """The nearest command; to solve, if the word is a file; or all of them."""
    from ..errors import nearest

    if os.path.exists(word):
        return f"; did you mean 'solve {word}'?"
    return nearest(word, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"


def _unknown_option(error: click.NoSuchOption) -> str:
    from ..errors import nearest

    known = () if error.ctx is None else itertools.chain(*(parameter.opts for parameter in error.ctx.command.params))
    return f"unknown option '{error.option_name}'{nearest(error.option_name, known)}"


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from ..util.version import version

        click.echo(f"quintet, version {version()}")
        context.exit()


@click.group(cls=_Group, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Solve hard problems on GPUs and CPUs, through CUDA or OpenCL."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
