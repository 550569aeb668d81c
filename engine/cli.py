"""The command line: ``quintet solve | resume | replay | devices | solvers | demo | generate | bench | tune | gui``.

Exit codes: 0 solved, or stopped by a limit with an answer; 2 bad input or options; 3 device or driver trouble; 4 no
answer (infeasible is an answer); 130 after a second Ctrl-C; 1 for anything that should not happen.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import itertools
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import click

import engine
from engine import config, tables
from engine.api import Engine, engine_to_resume
from engine.cli_options import own_options, split_options
from engine.control import Controls
from engine.demo import Outcome, load, samples
from engine.devices import available, select
from engine.errors import InputError, OptionError, QuintetError, RunFolderError, nearest
from engine.events import Event, Failed
from engine.files import write_whole
from engine.folder import RunFolder, read_problem
from engine.models import Given, validated
from engine.observers import JsonLines, ProgressBar
from engine.problem import Problem
from engine.replay import Replay
from engine.results import Result
from engine.run import Observer, Run
from engine.solvers import Generator, discover, solver_named

__all__ = ["cli", "command_line", "main"]

F = TypeVar("F", bound=Callable[..., Any])

_NO_ANSWER = 4
_ABORTED = 130


# --- the whole -------------------------------------------------------------------------------------------------------


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
    return code


def _abort(debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("error: aborted", file=sys.stderr)
    return _ABORTED


class _ReaderGone(Exception):
    """Nobody reads standard output any more, as after ``| head``."""


class _Group(click.Group):
    """Commands in the order they are written here."""

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


def _options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first on top."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(decorators), function)


_debug = click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from.")
_config_file = click.option("--config", "config_file", metavar="FILE", help="Read this TOML file, not quintet.toml.")
_backend = click.option("--backend", metavar="NAME", help="auto, cuda or opencl.")
_devices = click.option(
    "--devices",
    metavar="NAME",
    multiple=True,
    callback=lambda context, parameter, value: [name for part in value for name in part.split(",")] or None,
    help="Devices by id, index, part of the name or UUID; may be repeated, and separated by commas.",
)
_time_limit = click.option("--time-limit", metavar="SECONDS", help="End with the best so far after this time.")
_checkpoint_interval = click.option("--checkpoint-interval", metavar="SECONDS", help="Between two checkpoints.")
_events = click.option(
    "--events",
    metavar="FILE",
    help="Write every event as a line of JSON to a file, or to standard output for -; "
    "then the lines pause, resume and stop are read from standard input.",
)
_solution = click.option(
    "--solution", metavar="FILE", type=click.Path(path_type=Path), help="Write the solution, as JSON for FILE.json."
)


# --- running ---------------------------------------------------------------------------------------------------------


class _SolverCommand(click.Command):
    """A command that takes every solver's options besides its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        models = [solver.options for solver in discover().values()]
        rest, ctx.meta["quintet.options"] = split_options(args, own_options(self), models)
        return super().parse_args(ctx, rest)


@cli.command(cls=_SolverCommand, epilog="The solver's own options are --NAME VALUE; quintet solvers NAME lists them.")
@click.argument("file", required=False)
@_options(_backend, _devices, _time_limit)
@click.option("--seed", metavar="N", help="Seed of every random choice.")
@click.option("--run-folder", metavar="DIR", help="Keep the run here, so that it can be resumed or replayed.")
@_options(_checkpoint_interval, _events, _solution, _config_file, _debug)
@click.pass_context
def solve(
    context: click.Context,
    /,
    file: str | None,
    events: str | None,
    solution: Path | None,
    config_file: str | None,
    **arguments: Any,
) -> int:
    """Solve the problem in FILE: an instance, a TOML file that names one with its settings, or a run folder."""
    if file is not None and file.lower().endswith(".toml"):
        if config_file is not None:
            raise OptionError(f"{file} and --config {config_file} are both configurations; give one of them")
        file, config_file = None, file
    resolved = config.resolve(arguments, file=config_file)
    path = resolved.problem if file is None else Path(file)
    if path is None:
        raise OptionError('no problem: name a FILE, or a configuration with a line problem = "FILE"')
    _require_folder(solution)
    problem = read_problem(path)
    owner = Engine(arguments.pop("backend"), arguments.pop("devices"), config_file=config_file)

    def start(observers: list[Observer]) -> Run:
        return owner.start(problem, on_event=observers, **arguments, **context.meta["quintet.options"])

    return _conduct(owner, start, events, context.obj, solution)


@cli.command()
@click.argument("folder", metavar="DIR")
@_options(_backend, _devices)
@click.option("--time-limit", metavar="SECONDS", help="End after this time, counted from the run's first start.")
@_options(_checkpoint_interval, _events, _solution, _config_file, _debug)
@click.pass_context
def resume(
    context: click.Context,
    /,
    folder: str,
    backend: Any,
    devices: list[str] | None,
    events: str | None,
    solution: Path | None,
    config_file: str | None,
    **arguments: Any,
) -> int:
    """Go on with the run in the folder DIR from its last checkpoint, by default on the devices it asked for."""
    _require_folder(solution)
    owner = engine_to_resume(folder, backend, devices, config_file)

    def start(observers: list[Observer]) -> Run:
        return owner.resume(folder, on_event=observers, **arguments)

    return _conduct(owner, start, events, context.obj, solution)


def _conduct(
    owner: Engine,
    start: Callable[[list[Observer]], Run],
    events: str | None,
    lines: JsonLines | None,
    solution: Path | None,
) -> int:
    """Start a run, show it, obey the user, and say what came of it."""
    with Controls() as controls, _observers(events, lines, controls) as observers, owner:
        running = start(observers)
        controls.attach(running)
        if lines is not None:
            controls.listen()
        while not running.join(0.5):
            pass  # a wait without an end would not let Ctrl-C through on Windows
        result = running.wait()
    saved = [running.folder.path] if running.folder is not None else []
    if solution is not None and _write_solution(solution, running.problem, result):
        saved.append(solution)
    if lines is None:
        tables.describe_result(running.problem, result, saved)
    return 0 if _is_answer(result) else _NO_ANSWER


@contextlib.contextmanager
def _observers(events: str | None, lines: JsonLines | None, controls: Controls) -> Iterator[list[Observer]]:
    """Who watches: JSON lines on standard output alone, or a progress bar, and JSON lines to a file if asked for."""
    if lines is not None:
        yield [_until_broken(lines, controls)]
        return
    with contextlib.ExitStack() as stack:
        watching: list[Observer] = []
        if events is not None:
            try:
                stream = stack.enter_context(open(events, "w", encoding="utf-8", errors="backslashreplace"))
            except OSError as error:
                raise OptionError(f"cannot write the events to {events}: {error.strerror or error}") from error
            watching.append(JsonLines(stream))
        bar = ProgressBar()
        stack.callback(bar.close)
        yield [*watching, bar]


def _until_broken(lines: JsonLines, controls: Controls) -> Observer:
    """Stop the run when nobody reads its events any more."""

    def write(event: Event) -> None:
        try:
            lines(event)
        except BrokenPipeError:
            lines.ended = True
            controls.stop()

    return write


def _is_answer(result: Result) -> bool:
    """Whether the run ended by itself, or has something to show for its time."""
    found = result.objective is not None or result.solution is not None or bool(result.arrays)
    return found or result.status in ("optimal", "infeasible", "unbounded", "complete")


def _require_folder(path: Path | None) -> None:
    """Find out before the run, not after it."""
    if path is not None and path.is_dir():
        raise OptionError(f"cannot write the solution to {path}: it is a folder")
    if path is not None and not path.parent.is_dir():
        raise OptionError(f"cannot write the solution to {path}: there is no such folder")


def _write_solution(path: Path, problem: Problem, result: Result) -> bool:
    """Write the solution, one entry a line or as JSON; whether there was one."""
    if result.solution is None:
        print(f"warning: there is no solution to write to {path}", file=sys.stderr)
        return False
    if path.suffix.lower() == ".json":
        content = {"problem": problem.name, **result.to_dict(), "solution": result.solution.tolist()}
        text = json.dumps(content, indent=None) + "\n"
    else:
        rows = [entry if isinstance(entry, list) else [entry] for entry in result.solution.tolist()]
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise OptionError(f"cannot write the solution to {path}: {error.strerror or error}") from error
    return True


@cli.command()
@click.argument("folder", metavar="DIR")
@click.option("--speed", type=click.FloatRange(min=0), default=1.0, show_default=True, help="0 or inf: all at once.")
@_options(_events, _debug)
@click.pass_context
def replay(context: click.Context, /, folder: str, speed: float, events: str | None) -> int:
    """Show the run in the folder DIR again, at the pace it had."""
    recorded = RunFolder.open(folder)
    first = next(recorded.events(), None)
    if first is None:
        raise RunFolderError(f"the run in {folder} has no events yet")
    lines: JsonLines | None = context.obj
    with Controls() as controls, _observers(events, lines, controls) as observers:
        again = Replay(recorded.events(), observers, speed)
        controls.attach(again)
        if lines is not None:
            controls.listen()
        again.play()
    result = recorded.result()
    if lines is None and result is not None and not controls.interrupted:
        tables.describe_result(recorded.problem(), result, [])
    return 0


# --- looking ---------------------------------------------------------------------------------------------------------


@cli.command()
@click.option("--explain", is_flag=True, help="Show every setting, its value and where that came from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_options(_backend, _devices, _config_file, _debug)
def devices(
    explain: bool, as_json: bool, backend: str | None, devices: list[str] | None, config_file: str | None
) -> int:
    """List the devices of this machine, and say why a backend has none."""
    resolved = config.resolve({"backend": backend, "devices": devices}, file=config_file)
    found, missing = available("auto")
    if as_json:
        print(
            json.dumps(
                {"devices": [{"id": d.id, **dataclasses.asdict(d)} for d in found], "missing": missing}, indent=2
            )
        )
        return 0 if found else 3
    tables.describe_devices(found, missing)
    if explain:
        print()
        print(f"configuration file: {resolved.file or 'none'}")
        tables.describe_settings(resolved)
    if found and (explain or backend or devices):
        chosen = select(resolved.settings.backend, resolved.settings.devices)
        print(f"\na run uses {', '.join(info.id for info in chosen)}")
    return 0 if found else 3


@cli.command()
@click.argument("name", required=False)
@_debug
def solvers(name: str | None) -> int:
    """List the solvers, or describe the one called NAME with its options."""
    if name is not None:
        tables.describe_solver(solver_named(name))
        return 0
    tables.print_table(
        ("solver", "title", "problems"),
        [
            (solver.name, solver.title, ", ".join(problem.__name__ for problem in solver.problems))
            for solver in discover().values()
        ],
    )
    return 0


# --- demo, generate, bench, tune -------------------------------------------------------------------------------------


@cli.command()
@_options(_backend, _devices, _time_limit, _debug)
def demo(**arguments: Any) -> int:
    """Solve the bundled samples, one per solver, and check the answers."""
    paths = samples()
    settings = config.resolve(arguments).settings
    select(settings.backend, settings.devices)  # no device is one trouble, not one for each sample
    outcomes: list[Outcome] = []
    with Controls() as controls:
        for path in paths:
            if controls.interrupted:
                outcomes.append(Outcome(path.stem, None, None, "not run"))
            else:
                outcomes.append(_demonstrate(path, arguments, controls))
    tables.print_table(
        ("sample", "solver", "status", "objective", "known optimum", "seconds", ""),
        [_outcome_row(outcome) for outcome in outcomes],
    )
    return 0 if all(outcome.right for outcome in outcomes) else 1


def _demonstrate(path: Path, arguments: dict[str, Any], controls: Controls) -> Outcome:
    """Solve one sample, with a progress bar."""
    problem: Problem | None = None
    bar = ProgressBar()
    try:
        problem, resolved = load(path, arguments)
        print(f"{path.stem}: {problem.describe()}", file=sys.stderr, flush=True)
        settings = resolved.settings
        with Engine(settings.backend, settings.devices, config_file=path) as owner:
            running = owner.start(problem, on_event=bar, time_limit=settings.time_limit)
            controls.attach(running)
            while not running.join(0.5):
                pass
            return Outcome(path.stem, problem, running.wait())
    except QuintetError as error:
        return Outcome(path.stem, problem, None, str(error))
    except Exception as error:  # one sample's bug must not hide the others' answers
        traceback.print_exception(error)
        return Outcome(path.stem, problem, None, f"{type(error).__name__}: {error}")
    finally:
        bar.close()


def _outcome_row(outcome: Outcome) -> tuple[str, ...]:
    result = outcome.result
    verdict = "right" if outcome.right else outcome.error or "wrong or missing"
    if outcome.right and outcome.optimum is None:
        verdict = "answered"
    return (
        outcome.problem.name if outcome.problem is not None else outcome.name,
        outcome.name,
        str(result.status).replace("_", " ") if result is not None else "-",
        tables.number_text(result.objective) if result is not None else "-",
        tables.number_text(outcome.optimum),
        f"{result.seconds:.2f}" if result is not None else "-",
        verdict,
    )


class _GeneratorCommand(click.Command):
    """A command that takes the options of the kind it is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        kinds = _generators()
        kind = next((kinds[word] for word in args if word in kinds), None)
        models = [generator.options for generator in kinds.values()] if kind is None else [kind.options]
        if kind is not None and {"-h", "--help"} & set(args):
            tables.describe_model(kind.options)
            ctx.exit()
        rest, ctx.meta["quintet.options"] = split_options(args, own_options(self), models)
        return super().parse_args(ctx, rest)


def _generators() -> dict[str, Generator]:
    return {kind: generator for solver in discover().values() for kind, generator in solver.generators.items()}


@cli.command(cls=_GeneratorCommand, epilog="quintet generate KIND --help lists the options of a kind.")
@click.argument("kind")
@click.option("--output", metavar="FILE", default="-", help="Where to write it; standard output by default.")
@_debug
@click.pass_context
def generate(context: click.Context, /, kind: str, output: str) -> int:
    """Make a random instance of the family KIND."""
    kinds = _generators()
    if kind not in kinds:
        raise OptionError(f"unknown kind '{kind}'{nearest(kind, kinds)} (known: {', '.join(kinds)})")
    generator = kinds[kind]
    given = {name: Given(value) for name, value in context.meta["quintet.options"].items()}
    problem = generator.make(validated(generator.options, given, what="option", of=f" of {kind}"))
    if output != "-":
        try:
            generator.write(problem, Path(output))
        except OSError as error:
            raise InputError(f"cannot write {output}: {error.strerror or error}") from error
        print(f"{problem.describe()} -> {output}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="quintet-") as folder:
        path = Path(folder) / "instance"
        generator.write(problem, path)
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                sys.stdout.write(line)
    return 0


@cli.command(
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


@cli.command(
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


@cli.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--data", metavar="DIR", help="Keep runs and settings here, not in the user's data folder.")
@_debug
def gui(files: tuple[str, ...], data: str | None) -> int:
    """Open the desktop app, with problem files or run folders if any are named."""
    app = importlib.import_module("gui.__main__")  # the app is a client of the command line, not a part of it
    if lack := app.missing():
        raise InputError(lack)
    return int(app.main([*(["--data", data] if data else []), "--", *files]))
