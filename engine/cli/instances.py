"""``quintet demo | generate``: the bundled samples, and random instances."""

import contextlib
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..base.option_models import Given, validated
from ..base.problem import Problem
from ..base.solver import Generator
from ..devices import select
from ..devices.host import host_cores
from ..errors import InputError, OptionError, QuintetError, nearest
from ..events import Event
from ..runs.observers import ProgressBar
from ..runs.run import Run
from ..settings import config
from ..solvers import discover
from ..util.files import reason_of
from ..util.paths import folder_of
from ..util.text import number_text, printable
from . import tables
from .control import Controls
from .options import (
    backend_option,
    debug_option,
    devices_option,
    options,
    own_options,
    positionals,
    split_options,
    time_limit_option,
)
from .samples import Outcome, load, samples

_POLL_SECONDS = 0.05


@click.command()
@options(backend_option, devices_option, time_limit_option, debug_option)
def demo(**arguments: Any) -> int:
    """Solve the bundled samples, one per solver, and check the answers: as many at a time as there are cores."""
    paths = samples()
    settings = config.resolve(arguments).settings
    select(settings.backend, settings.devices)  # no device is one trouble, not one for each sample
    shown = sorted(paths, key=_bytes_of_kernels, reverse=True)  # what compiles longest begins first
    waiting, begun = iter(shown), dict[Path, _Demonstration]()

    def begin_more(controls: Controls, stack: contextlib.ExitStack) -> None:
        while sum(not one.has_ended() for one in begun.values()) < host_cores():
            path = next(waiting, None)
            if path is None or controls.interrupted:
                return
            with controls.starting():
                begun[path] = _Demonstration(path, arguments)
            stack.push(begun[path].close)

    with Controls() as controls, contextlib.ExitStack() as stack:
        for path in shown:
            begin_more(controls, stack)
            if path in begun:
                begun[path].show(controls)
                while not begun[path].has_ended(_POLL_SECONDS):
                    begin_more(controls, stack)
    outcomes = [begun[path].outcome() if path in begun else Outcome(path.stem, None, None, "not run") for path in paths]
    tables.print_table(
        ("sample", "solver", "status", "objective", "known optimum", "seconds", ""),
        [_outcome_row(outcome) for outcome in outcomes],
    )
    return 0 if all(outcome.right for outcome in outcomes) else 1


def _bytes_of_kernels(sample: Path) -> int:
    """Of the templates of a sample's solver, after which it is called."""
    return sum(path.stat().st_size for path in (folder_of("kernels") / sample.stem).glob("*.mako"))


class _Demonstration:
    """One sample, which is being solved; its progress bar begins when it is the one that is shown."""

    def __init__(self, path: Path, arguments: dict[str, Any]) -> None:
        self._name = path.stem
        self._problem: Problem | None = None
        self._error = ""
        self._run: Run | None = None
        self._engine: Engine | None = None
        self._bar: ProgressBar | None = None
        self._events: list[Event] = []  # before it is shown
        self._lock = threading.Lock()
        with self._noting_errors():
            self._problem, resolved = load(path, arguments)
            settings = resolved.settings
            self._engine = Engine(settings.backend, settings.devices, config_file=path)
            self._run = self._engine.start(self._problem, on_event=self._note, time_limit=settings.time_limit)

    @contextlib.contextmanager
    def _noting_errors(self) -> Iterator[None]:
        try:
            yield
        except QuintetError as error:
            self._error = str(error)
        except Exception as error:  # one sample's bug must not hide the others' answers
            traceback.print_exception(error)
            self._error = f"{type(error).__name__}: {error}"

    def _note(self, event: Event) -> None:
        with self._lock:
            if self._bar is None:
                self._events.append(event)
            else:
                self._bar(event)

    def show(self, controls: Controls) -> None:
        if self._problem is not None:
            print(printable(f"{self._name}: {self._problem.describe()}"), file=sys.stderr, flush=True)
        if self._run is not None:
            controls.attach(self._run)
        with self._lock:
            self._bar = ProgressBar()
            for event in self._events:
                self._bar(event)

    def has_ended(self, timeout: float = 0.0) -> bool:
        return self._run is None or self._run.join(timeout)

    def outcome(self) -> Outcome:
        result = None
        with self._noting_errors():
            result = None if self._run is None else self._run.outcome()
        return Outcome(self._name, self._problem, result, self._error)

    def close(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._engine is not None:
            self._engine.__exit__(*error)


def _outcome_row(outcome: Outcome) -> tuple[str, ...]:
    result = outcome.result
    verdict = "right" if outcome.right else outcome.error or "wrong or missing"
    if outcome.right and outcome.optimum is None:
        verdict = "answered"
    return (
        outcome.problem.name if outcome.problem is not None else outcome.name,
        outcome.name,
        str(result.status).replace("_", " ") if result is not None else "-",
        number_text(result.objective) if result is not None else "-",
        number_text(outcome.optimum),
        f"{result.seconds:.2f}" if result is not None else "-",
        verdict,
    )


class _GeneratorCommand(click.Command):
    """A command with the options of the kind of instance that is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        kinds, own = _generators(), own_options(self)
        certain, possible = positionals(args, own)
        name = certain[0] if certain else next((word for word in possible if word in kinds), None)
        if name is not None and name not in kinds:
            raise OptionError(f"unknown kind '{name}'{nearest(name, kinds)} (known: {', '.join(kinds)})")
        models = [] if name is None else [kinds[name].options]
        if name is not None and {"-h", "--help"} & set(args):
            tables.describe_model(models[0])
            ctx.exit()
        ctx.meta["quintet.options"] = {}
        if name is not None:
            args, ctx.meta["quintet.options"] = split_options(args, own, models)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (kind, f"for {solver.name}: {', '.join(generator.options.model_fields)}")
            for solver in discover().values()
            for kind, generator in solver.generators.items()
        ]
        with formatter.section("Kinds"):
            formatter.write_dl(rows)
        formatter.write_paragraph()
        formatter.write_text(f"{ctx.command_path} KIND --help lists the options of a kind.")


def _generators() -> dict[str, Generator]:
    return {kind: generator for solver in discover().values() for kind, generator in solver.generators.items()}


@click.command(cls=_GeneratorCommand)
@click.argument("kind")
@click.option("--output", metavar="FILE", help="Where to write it; by default, or with -, standard output.")
@debug_option
@click.pass_context
def generate(context: click.Context, /, kind: str, output: str | None) -> int:
    """Write a random instance of the family KIND."""
    if output is None and sys.stdout.isatty():
        raise OptionError("a file is needed for the instance: --output FILE; or --output - to see it here")
    generator = _generators()[kind]
    given = {name: Given(value) for name, value in context.meta["quintet.options"].items()}
    problem = generator.make(validated(generator.options, given, what="option", of=f" of {kind}"))
    if output is not None and output != "-":
        try:
            generator.write(problem, Path(output))
        except OSError as error:
            raise InputError(f"cannot write {output}: {reason_of(error)}") from error
        print(printable(f"{problem.describe()} -> {output}"), file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="quintet-") as folder:
        path = Path(folder) / "instance"
        generator.write(problem, path)
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                sys.stdout.write(line)
    return 0
