"""``quintet demo | generate``: the bundled samples, and random instances."""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..base.option_models import Given, validated
from ..base.problem import Problem
from ..base.solver import Generator
from ..devices import select
from ..errors import InputError, OptionError, QuintetError, nearest
from ..runs.observers import ProgressBar
from ..settings import config
from ..solvers import discover
from ..util.files import reason_of
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


@click.command()
@options(backend_option, devices_option, time_limit_option, debug_option)
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
        print(printable(f"{path.stem}: {problem.describe()}"), file=sys.stderr, flush=True)
        settings = resolved.settings
        with Engine(settings.backend, settings.devices, config_file=path) as owner:
            with controls.starting():
                running = owner.start(problem, on_event=bar, time_limit=settings.time_limit)
                controls.attach(running)
            while not running.join(0.5):
                pass
            return Outcome(path.stem, problem, running.outcome())
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
        """Write the kinds of instances there are."""
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
