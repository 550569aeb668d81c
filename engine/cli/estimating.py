"""``quintet estimate``: an estimate of the work that solving a problem would take."""

import json
from dataclasses import asdict
from typing import IO, Any

import click

from ..api.engine import Engine
from ..base.estimate import Estimate
from ..formats.source import limited
from ..settings import config
from ..util.text import number_text, seconds_text
from .options import backend_option, config_option, debug_option, devices_option, json_option, kind_option, options
from .reading import read
from .solver_options import NoProblem, SolverCommand, problem_file

_LONG = 1e15


@click.command(cls=SolverCommand, epilog="The solver's own options are --NAME VALUE; quintet solvers NAME lists them.")
@click.argument("file", required=False)
@options(kind_option, backend_option, devices_option)
@click.option("--seed", metavar="N", help="Seed of the random sample.")
@click.option(
    "--time-limit", metavar="SECONDS", help="About how long the estimate may take; a shorter one is less exact."
)
@click.option("--trust", is_flag=True, help="Allow code that the file contains, now and later.")
@json_option("Print the estimate as JSON.")
@options(config_option, debug_option)
@click.pass_context
def estimate(
    context: click.Context,
    /,
    file: str | None,
    kind: str | None,
    config_file: str | None,
    trust: bool,
    json_output: IO[str] | None,
    **arguments: Any,
) -> int:
    """Estimate the work that solving the problem in FILE would take on these devices."""
    path, config_file = problem_file(file, config_file)
    resolved = config.resolve(arguments, file=config_file)
    path = resolved.problem if path is None else path
    if path is None:
        raise NoProblem
    with limited(resolved.settings.max_read_bytes):
        problem = read(path, context.meta["quintet.reading"], trust, kind)
    with Engine(arguments.pop("backend"), arguments.pop("devices"), config_file=config_file) as owner:
        found = owner.estimate(problem, **arguments, **context.meta["quintet.options"])
    as_json = json_output is not None
    text = json.dumps({**asdict(found), "seconds": found.seconds}) if as_json else _sentences(problem.describe(), found)
    print(text, file=json_output)
    return 0


def _sentences(description: str, found: Estimate) -> str:
    if found.high == 0:
        return f"{description}\n0 {found.unit}: there is nothing to search"
    exact = found.low == found.high
    amount = f"{_rounded(found.amount)} {found.unit}"
    lines = [description, f"{amount}{'' if exact else ' (mean of independent estimates)'}"]
    if not exact:
        lines.append(f"probably between {_rounded(found.low)} and {_rounded(found.high)}")
    rate = f"{_rounded(found.rate)} {found.unit}/s"
    lines.append(f"about {seconds_text(found.seconds)} at {rate}, as measured on these devices")
    return "\n".join(lines)


def _rounded(value: float) -> str:
    """Two digits are what an estimate is good for; the others are zeros, or left out where there are many."""
    text = f"{value:.2g}"
    return number_text(int(float(text)), grouped=True) if value < _LONG else text
