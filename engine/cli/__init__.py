"""The command line: ``quintet solve | resume | replay | devices | solvers | demo | generate | bench | tune | gui``.

Exit codes: 0 solved, or stopped by a limit with an answer; 2 bad input or options; 3 device or driver trouble; 4 no
answer (infeasible is an answer); 130 after a second Ctrl-C; 1 for anything that should not happen.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import IO, Any

import click

import engine
from engine.cli.handing_on import bench, gui, tune
from engine.cli.instances import demo, generate
from engine.cli.looking import devices, solvers
from engine.cli.running import replay, resume, solve
from engine.errors import OptionError, QuintetError
from engine.events import Failed
from engine.observers import JsonLines
from engine.text import number_text

__all__ = ["cli", "command_line", "main"]

_ABORTED = 130


def main() -> None:
    """The console script: :func:`command_line`, and the end of the process."""
    code = command_line(sys.argv[1:])
    if code == _ABORTED:  # a device may be in the middle of something that nobody waits for
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def command_line(words: Sequence[str]) -> int:
    """Do what the words after ``quintet`` say, and return the exit code."""
    debug = "--debug" in words
    with _events_stream(words) as stream:
        lines = None if stream is None else JsonLines(stream)
        try:
            code = cli.main(list(words), prog_name="quintet", standalone_mode=False, obj=lines)
            sys.stdout.flush()
            return int(code or 0)
        except (KeyboardInterrupt, click.Abort):
            return _abort(debug)
        except (_ReaderGone, BrokenPipeError):  # nor may the exit complain
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except click.ClickException as error:
            return _fail(OptionError(error.format_message().rstrip(".")), lines, debug)
        except Exception as error:
            return _fail(error, lines, debug)


@contextlib.contextmanager
def _events_stream(words: Sequence[str]) -> Iterator[IO[str] | None]:
    """Where ``--events -`` writes: standard output, which nothing else reaches then, drivers included."""
    wanted = "--events=-" in words or ("--events", "-") in itertools.pairwise(words)
    try:
        is_real = wanted and sys.stdout.fileno() == 1
    except (OSError, ValueError):
        is_real = False
    if not is_real:
        yield sys.stdout if wanted else None
        return
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        with open(own, "w", encoding="utf-8", errors="backslashreplace", newline="\n", closefd=False) as stream:
            yield stream
            with contextlib.suppress(OSError):
                sys.stdout.flush()
    except BrokenPipeError:
        pass
    finally:
        os.dup2(own, 1)
        os.close(own)


def _fail(error: Exception, lines: JsonLines | None, debug: bool) -> int:
    """Say what went wrong, once for people and once for whoever reads the events."""
    expected = isinstance(error, QuintetError)
    code = error.exit_code if isinstance(error, QuintetError) else 1
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    if lines is not None and not lines.ended:
        with contextlib.suppress(OSError):
            lines(Failed(time=0.0, error=type(error).__name__, message=message, exit_code=code))
    if debug:
        traceback.print_exception(error)
    hint = "" if expected or debug else " (this should not happen; --debug shows where)"
    print(f"error: {message}{hint}", file=sys.stderr)
    if isinstance(error, QuintetError) and error.best_objective is not None:
        bound = "" if error.best_bound is None else f" (bound {number_text(error.best_bound)})"
        print(f"best objective before the error: {number_text(error.best_objective)}{bound}", file=sys.stderr)
    if isinstance(error, QuintetError) and error.run_folder is not None:
        print(f"the last checkpoint is kept; to resume: quintet resume {error.run_folder}", file=sys.stderr)
    return code


def _abort(debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("error: aborted", file=sys.stderr)
    return _ABORTED


class _ReaderGone(Exception):
    """Nobody reads standard output any more, as after ``| head``."""


class _Group(click.Group):
    """Commands in the order they were added."""

    def invoke(self, ctx: click.Context) -> Any:
        """Keep a broken pipe from click, which would call it a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(engine.__version__, prog_name="quintet")
@click.pass_context
def cli(context: click.Context) -> None:
    """Solve hard problems on GPUs and CPUs, through CUDA or OpenCL."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (solve, resume, replay, devices, solvers, demo, generate, bench, tune, gui):
    cli.add_command(_command)
