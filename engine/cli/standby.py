"""``quintet standby``: a process for the app, with solvers imported and devices open, which waits for a command."""

import contextlib
import json
from typing import Any

import click

from ..api.engine import Engine
from ..errors import OptionError, QuintetError
from ..solvers import discover
from .control import first_line_of_stdin
from .options import backend_option, config_option, debug_option, devices_option, options

_ready: list[Engine] = []


def adopt_standby(owner: Engine) -> Engine:
    """Give an engine the devices that this process has opened, if it uses the same; the same engine."""
    if _ready:
        owner.adopt_devices(_ready.pop())
    return owner


@click.command(hidden=True)
@options(backend_option, devices_option)
@click.option("--events", metavar="FILE", help="As for the command that follows.")
@options(config_option, debug_option)
@click.pass_context
def standby(
    context: click.Context, /, events: str | None, config_file: str | None, backend: Any, devices: list[str] | None
) -> int:
    """Import the solvers and open the devices, then run the command on standard input: a JSON list of words."""
    for solver in discover().values():
        with contextlib.suppress(ImportError, QuintetError):  # the run itself reports it
            solver.load()
    engine = Engine(backend, devices, config_file=config_file)
    with contextlib.suppress(QuintetError):  # likewise
        engine.open()
        _ready.append(engine)
    try:
        words = _words(first_line_of_stdin())
        return 0 if words is None else _run(context, words)
    finally:
        engine.close()


def _run(context: click.Context, words: list[str]) -> int:
    group = context.find_root().command
    code = group.main(words, prog_name="quintet", standalone_mode=False, obj=context.obj)
    return int(code or 0)


def _words(line: str) -> list[str] | None:
    """The words of a command; None for an empty line, as at the end of standard input."""
    if not line.strip():
        return None
    try:
        words = json.loads(line)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise OptionError(f"standard input must begin with a JSON list of the words of a command; got {line[:80]!r}")
    return words
