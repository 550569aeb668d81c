"""Options of commands: those that several share, and those of solvers and generators, taken from their models."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click
from pydantic import BaseModel

from engine.errors import OptionError, nearest
from engine.models import is_flag

__all__ = [
    "backend_option",
    "config_option",
    "debug_option",
    "devices_option",
    "options",
    "own_options",
    "pool_options",
    "run_command",
    "split_options",
    "time_limit_option",
]

F = TypeVar("F", bound=Callable[..., Any])


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first on top."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(decorators), function)


debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from.")
config_option = click.option("--config", "config_file", metavar="FILE", help="Read this TOML file, not quintet.toml.")
backend_option = click.option("--backend", metavar="NAME", help="auto, cuda or opencl.")


def _names(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> list[str] | None:
    return [name for part in value for name in part.split(",")] or None


devices_option = click.option(
    "--devices",
    metavar="NAME",
    multiple=True,
    callback=_names,
    help="Devices by id, index, part of the name or UUID; may be repeated, and separated by commas.",
)
time_limit_option = click.option("--time-limit", metavar="SECONDS", help="End with the best so far after this time.")


def pool_options(devices: str, backend: str | None = None) -> Callable[[F], F]:
    """``--backend`` and ``--devices`` of a solver's own command, given to it as ``backend`` and ``names``.

    Parameters
    ----------
    devices : str
        Help for ``--devices``: what is done with them, and which are taken by default.
    backend : {"auto", "cuda", "opencl"}, optional
        The default; None leaves it to the configuration.
    """
    choice = click.Choice(["auto", "cuda", "opencl"])
    return options(
        click.option("--backend", type=choice, default=backend, help="What the kernels run through."),
        click.option("--devices", "names", metavar="NAME", multiple=True, callback=_names, help=devices),
    )


def run_command(command: click.Command, name: str, arguments: Sequence[str], given: Any = None) -> int:
    """Run a solver's own command, called ``name`` in its help, and return its exit code; ``given`` is its ``obj``."""
    return int(command.main(list(arguments), prog_name=name, standalone_mode=False, obj=given) or 0)


def own_options(command: click.Command) -> dict[str, bool]:
    """The options a command lists itself, and for each whether a value follows."""
    return {
        name: not (parameter.is_flag or parameter.count)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help": False, "-h": False}


def split_options(
    arguments: Sequence[str], own: Mapping[str, bool], models: Iterable[type[BaseModel]]
) -> tuple[list[str], dict[str, Any]]:
    """Part the fields of models from a command's own arguments.

    A field is written ``--name value`` or ``--name=value``, a true-or-false field ``--name`` or ``--no-name``;
    dashes and underscores are the same.

    Parameters
    ----------
    arguments : sequence of str
        The command line after the command's name.
    own : mapping of str to bool
        From :func:`own_options`.
    models : iterable of type
        Models whose fields may be given.

    Returns
    -------
    rest : list of str
        What belongs to the command.
    given : dict
        Values by field name: text, or a bool.

    Raises
    ------
    engine.errors.OptionError
        If an option is neither, with the nearest right one, or lacks its value.
    """
    flags: dict[str, bool] = {}
    for model in models:
        for name in model.model_fields:
            flags[name] = flags.get(name, True) and is_flag(model, name)
    rest: list[str] = []
    given: dict[str, Any] = {}
    tokens = deque(arguments)
    while tokens:
        token = tokens.popleft()
        if token == "--":
            rest += [token, *tokens]
            break
        option, has_value, value = token.partition("=")
        if not token.startswith("--") or option in own:
            rest.append(token)
            if own.get(option) and not has_value and tokens:
                rest.append(tokens.popleft())
            continue
        name = option[2:].replace("-", "_")
        if name in flags:
            if has_value or not flags[name]:
                given[name] = value if has_value else _value_of(option, tokens)
            else:
                given[name] = True
        elif name.startswith("no_") and flags.get(name[3:]) and not has_value:
            given[name[3:]] = False
        else:
            known = [
                *own,
                *(_written(name) for name in flags),
                *(f"--no-{_dashed(n)}" for n, flag in flags.items() if flag),
            ]
            raise OptionError(f"unknown option '{option}'{nearest(option, known)}")
    return rest, given


def _value_of(option: str, tokens: deque[str]) -> str:
    if not tokens or tokens[0].startswith("--"):
        raise OptionError(f"the option '{option}' needs a value")
    return tokens.popleft()


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _written(name: str) -> str:
    return f"--{_dashed(name)}"
