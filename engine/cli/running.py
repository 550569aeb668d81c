"""``quintet solve | resume | replay``: a run, live or recorded, and its result."""

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from ..api.engine import Engine
from ..api.functions import engine_to_resume
from ..base.problem import Problem
from ..base.result import Result
from ..errors import DeviceError, OptionError, OutputError
from ..events import Event, Failed
from ..formats.source import limited
from ..runs.child import far_run
from ..runs.folder.run_folder import RunFolder
from ..runs.observers import JsonLines, ProgressBar
from ..runs.publisher import Observer
from ..runs.replay import Replay
from ..runs.run import Run
from ..settings import config
from ..util.files import reason_of, write_to
from ..util.text import in_utf8
from . import tables
from .control import Controls
from .options import (
    backend_option,
    checked_option,
    config_option,
    debug_option,
    devices_option,
    insecure_option,
    json_option,
    kind_option,
    options,
    time_limit_option,
)
from .reading import read
from .solver_options import NoProblem, SolverCommand, problem_file
from .standby import adopt_standby

_PATIENCE = 5.0
"""Seconds after the watchdog of :mod:`engine.runs.child.far_run` until this process ends with a snippet on a GPU."""

_UNTIL_DETACHED = 1.0
"""Seconds in which the request to continue without a reader may still come after the reader has gone."""

_NO_ANSWER = 4

_checkpoint_option = click.option("--checkpoint-interval", metavar="SECONDS", help="Between two checkpoints.")
_trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Allow code that the file or folder contains (a Python problem class, a C snippet), now and later.",
)
_events_option = click.option(
    "--events",
    metavar="FILE",
    help="Write every event as a line of JSON to a file, or to standard output for -; "
    "then the lines pause, resume and stop are read from standard input.",
)


def _named_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path == Path("-"):
        raise click.BadParameter("a file name is needed; --json prints the result to standard output")
    return path


_solution_option = click.option(
    "--solution",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_named_file,
    help="Write the solution, or a proof of infeasibility; as JSON for FILE.json.",
)
_cluster_option = click.option(
    "--cluster",
    metavar="WHERE",
    help="Run on a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, local:N, a TOML file, or the name of a saved one.",
)
_host_option = click.option(
    "--host",
    metavar="HOST",
    help="Run on another host over ssh, where Quintet is installed: [USER@]HOST, or the name of a saved one.",
)
_json_option = json_option("Print the result as JSON.")


_EPILOG = """Options of the solver and of the file format are written --NAME VALUE, in any place; quintet solvers NAME
lists them. Examples: --variant tiles, --no-reduce, --instance 3 (which instance of a file with several), --target
price (the column of a table to predict), --relax (take integer variables as continuous)."""


@click.command(cls=SolverCommand, epilog=_EPILOG)
@click.argument("file", required=False)
@options(kind_option, backend_option, devices_option, time_limit_option)
@click.option("--seed", metavar="N", help="Seed of every random choice.")
@click.option("--run-folder", metavar="DIR", help="Keep the run in this folder, so that it can be resumed or replayed.")
@options(_checkpoint_option, _trust_option, _events_option, _solution_option, _json_option)
@options(_cluster_option, insecure_option, _host_option, config_option, checked_option, debug_option)
@click.pass_context
def solve(
    context: click.Context,
    /,
    file: str | None,
    kind: str | None,
    events: str | None,
    solution: Path | None,
    json_output: IO[str] | None,
    config_file: str | None,
    trust: bool,
    cluster: str | None,
    host: str | None,
    **arguments: Any,
) -> int:
    """Solve the problem in FILE: an instance, a TOML file that names one with its settings, or a run folder."""
    path, config_file = problem_file(file, config_file)
    resolved = config.resolve(arguments, file=config_file)
    path = resolved.problem if path is None else path
    if path is None:
        raise NoProblem
    _require_folder(solution)
    with limited(resolved.settings.max_read_bytes):
        problem = read(path, context.meta["quintet.reading"], trust, kind)
    backend, devices = arguments.pop("backend"), arguments.pop("devices")
    owner = adopt_standby(Engine(backend, devices, config_file=config_file, cluster=cluster, host=host))

    def start(observers: list[Observer]) -> Run:
        return owner.start(problem, on_event=observers, **arguments, **context.meta["quintet.options"])

    return _conduct(owner, start, events, context.obj, solution, json_output)


@click.command()
@click.argument("folder", metavar="DIR")
@options(backend_option, devices_option)
@click.option("--time-limit", metavar="SECONDS", help="End after this time, counted from the run's first start.")
@click.option("--from-start", is_flag=True, help="Begin from the start; removes checkpoints and result.")
@options(_checkpoint_option, _trust_option, _events_option, _solution_option, _json_option)
@options(_cluster_option, insecure_option, _host_option, config_option, checked_option, debug_option)
@click.pass_context
def resume(
    context: click.Context,
    /,
    folder: str,
    backend: Any,
    devices: list[str] | None,
    events: str | None,
    solution: Path | None,
    json_output: IO[str] | None,
    config_file: str | None,
    cluster: str | None,
    host: str | None,
    **arguments: Any,
) -> int:
    """Resume the run in the folder DIR from its last checkpoint, by default on the devices it was started with."""
    _require_folder(solution)
    owner = adopt_standby(engine_to_resume(folder, backend, devices, config_file, cluster, host))

    def start(observers: list[Observer]) -> Run:
        return owner.resume(folder, on_event=observers, **arguments)

    return _conduct(owner, start, events, context.obj, solution, json_output)


def _patience() -> float:
    """How long after a stop or the time limit a C snippet may continue before this process ends."""
    return far_run.WATCHDOG_SECONDS + _PATIENCE


def _end_process(lines: JsonLines | None) -> None:
    """End the process at once: a C snippet that does not return cannot be ended in any other way."""
    message = f"the C snippet did not return within {_patience():g} s after the run was to end"
    with contextlib.suppress(OSError):
        if lines is not None:
            lines(Failed(time=0.0, error="DeviceError", message=message, exit_code=DeviceError.exit_code))
        print(f"error: {message}", file=sys.stderr, flush=True)
    os._exit(DeviceError.exit_code)


def _conduct(
    owner: Engine,
    start: Callable[[list[Observer]], Run],
    events: str | None,
    lines: JsonLines | None,
    solution: Path | None,
    json_output: IO[str] | None,
) -> int:
    """Start a run, show it, pass the user's requests on, and print its result."""
    with Controls() as controls, _observers(events, lines, controls) as observers, owner:
        with controls.starting():
            running = start(observers)
            controls.attach(running)
        if lines is not None:
            controls.listen()
        while not running.join(0.5):  # a wait without an end would not let Ctrl-C through on Windows
            if running.overdue > _patience() and running.problem.native_code is not None:
                _end_process(lines)
        result = running.outcome()
    saved = [running.folder.path] if running.folder is not None and running.is_saved else []
    unwritten = None if running.is_saved else OutputError("the result is not in the run folder")
    try:
        if solution is not None and _write_solution(solution, running.problem, result):
            saved.append(solution)
    except OutputError as error:
        unwritten = error
    if lines is None and json_output is not None:
        print(json.dumps(_as_dict(running.problem, result, saved)), file=json_output)
    elif lines is None:
        tables.describe_result(running.problem, result, saved)
    if unwritten is not None:
        raise unwritten
    return 0 if _is_answer(result) else _NO_ANSWER


@contextlib.contextmanager
def _observers(events: str | None, lines: JsonLines | None, controls: Controls) -> Iterator[list[Observer]]:
    """The observers: JSON lines on standard output, or a progress bar and JSON lines to a file if one is named."""
    if lines is not None:
        yield [_until_broken(lines, controls)]
        return
    with contextlib.ExitStack() as stack:
        watching: list[Observer] = []
        if events is not None:
            try:
                stream = open(events, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - see _close
            except OSError as error:
                raise OptionError(f"cannot write the events to {events}: {reason_of(error)}") from error
            watching.append(JsonLines(stream))
            stack.callback(_close, stream)
        bar = ProgressBar()
        stack.callback(bar.close)
        yield [*watching, bar]


def _close(stream: IO[str]) -> None:
    """Close a file of events; if the disk is full, the observer that writes to it has said so."""
    with contextlib.suppress(OSError):
        stream.close()


def _until_broken(lines: JsonLines, controls: Controls) -> Observer:
    """An observer that stops the run when the reader of its events has closed the pipe."""

    def write(event: Event) -> None:
        if controls.detached:
            lines.ended = True
            return
        try:
            lines(event)
        except BrokenPipeError:
            lines.ended = True
            if not controls.detached_within(_UNTIL_DETACHED):
                controls.stop()

    return write


def _is_answer(result: Result) -> bool:
    """Whether the run ended by itself, or has something to show for its time."""
    found = result.objective is not None or result.solution is not None or bool(result.arrays)
    return found or result.status in ("optimal", "complete") or result.status.excludes_solutions


def _require_folder(path: Path | None) -> None:
    """Check before the run that the solution can be written."""
    if path is None:
        return
    try:
        fault = "it is a folder" if path.is_dir() else "" if path.parent.is_dir() else "there is no such folder"
    except OSError as error:  # such as a name that is too long
        fault = reason_of(error)
    if fault:
        raise OptionError(f"cannot write the solution to {path}: {fault}")


def _write_solution(path: Path, problem: Problem, result: Result) -> bool:
    """Write the solution, or what proves that there is none; whether there was anything to write."""
    certified = result.solution is None and result.status.excludes_solutions
    if result.solution is None and not certified:
        print(f"warning: there is no solution to write to {path}", file=sys.stderr)
        return False
    if path.suffix.lower() == ".json":
        text = json.dumps(_as_dict(problem, result)) + "\n"
    elif certified:
        text = f"# {result.status}\n" + "".join(f"# {name}\n{_rows(array)}" for name, array in result.arrays.items())
    else:
        text = _rows(result.solution)
    try:
        write_to(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write the solution to {path}: {reason_of(error)}") from error
    return True


def _rows(array: Any) -> str:
    rows = np.atleast_1d(array).tolist()
    return "".join(" ".join(map(str, row if isinstance(row, list) else [row])) + "\n" for row in rows)


def _as_dict(problem: Problem, result: Result, saved: Sequence[Path] = ()) -> dict[str, Any]:
    """The result as plain JSON values: numbers that JSON does not have are null, texts are in UTF-8."""
    content: dict[str, Any] = {"problem": problem.name, "kind": problem.kind, **result.to_dict(), **result.texts}
    content["solution"] = None if result.solution is None else result.solution.tolist()
    if result.solution is None:
        content["certificate"] = {name: array.tolist() for name, array in result.arrays.items()}
    if saved:
        content["saved"] = [str(path) for path in saved]
    finite: dict[str, Any] = _finite(content)
    return finite


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, str):
        return in_utf8(value)
    return [_finite(entry) for entry in value] if isinstance(value, list) else value


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--speed", type=click.FloatRange(min=0), default=1.0, show_default=True, help="0 or inf: all at once.")
@options(_trust_option, _events_option, debug_option)
@click.pass_context
def replay(context: click.Context, /, folder: str, speed: float, events: str | None, trust: bool) -> int:
    """Replay the run in the folder DIR at its original speed."""
    if math.isnan(speed):
        raise OptionError("--speed must be a number of 0 or more; got nan")
    recorded = RunFolder.open(folder)
    recorded.first_event()
    lines: JsonLines | None = context.obj
    with Controls() as controls, _observers(events, lines, controls) as observers:
        again = Replay(recorded.events(), observers, speed)
        controls.attach(again)
        if lines is not None:
            controls.listen()
        again.play()
    result = recorded.result()
    if lines is None and result is not None and not controls.interrupted:
        tables.describe_result(recorded.problem(trust=trust), result, [])
    return 0
