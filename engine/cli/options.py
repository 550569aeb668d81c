"""Options of commands: those that several share, and those of solvers and generators, taken from their models."""

import contextlib
import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, TypeVar, cast

import click
from pydantic import BaseModel

from ..base.option_models import is_flag
from ..devices.backends import backends
from ..errors import OptionError, OutputError, nearest
from ..util.files import reason_of

F = TypeVar("F", bound=Callable[..., Any])


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first on top."""
    return lambda function: functools.reduce(lambda made, decorate: decorate(made), reversed(decorators), function)


debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from.")


def _check_kernels(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        os.environ["QUINTET_CHECKED"] = "1"  # child processes check theirs, too


def _allow_insecure(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        os.environ["QUINTET_INSECURE"] = "1"


insecure_option = click.option(
    "--insecure",
    is_flag=True,
    expose_value=False,
    callback=_allow_insecure,
    help="Connect to the Dask scheduler of another host without TLS, too.",
)
checked_option = click.option(
    "--checked",
    is_flag=True,
    expose_value=False,
    callback=_check_kernels,
    help="Check that kernels stay within their buffers, and end the run if one does not.",
)
config_option = click.option("--config", "config_file", metavar="FILE", help="Read this TOML file, not quintet.toml.")
backend_option = click.option("--backend", metavar="NAME", help="auto, cuda or opencl.")


@contextlib.contextmanager
def own_output() -> Iterator[IO[str]]:
    """A stream to standard output that nothing else reaches: what libraries and drivers print goes to standard error.

    Where ``sys.stdout`` is not the descriptor 1, as in a test, it is the stream.
    """
    try:
        is_real = sys.stdout.fileno() == 1
    except (OSError, ValueError):
        is_real = False
    if not is_real:
        yield sys.stdout
        return
    sys.stdout.flush()
    own = os.dup(1)
    with contextlib.suppress(OSError):  # standard error is closed
        os.dup2(2, 1)
    try:
        with open(own, "w", encoding="utf-8", errors="backslashreplace", newline="\n", closefd=False) as stream:
            yield stream
    except BrokenPipeError:
        pass
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {reason_of(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            _flush_c()
        os.dup2(own, 1)
        os.close(own)


def _flush_c() -> None:
    """Write out what C libraries have printed, which may be buffered until the process ends."""
    import ctypes

    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)


def json_option(text: str) -> Callable[[F], F]:
    """``--json``, given to the command as ``json_output``: a stream of :func:`own_output`, or None without it."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def guarded(*arguments: Any, as_json: bool, **named: Any) -> Any:
            with own_output() if as_json else contextlib.nullcontext() as stream:
                return function(*arguments, json_output=stream, **named)

        option: Callable[[F], F] = click.option("--json", "as_json", is_flag=True, help=text)
        return option(cast("F", guarded))

    return decorate


def _names(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> list[str] | None:
    return [name for part in value for name in part.split(",")] or None


devices_option = click.option(
    "--devices",
    metavar="NAME",
    multiple=True,
    callback=_names,
    help="Devices by id, index, part of the name or UUID; may be repeated, and separated by commas.",
)
kind_option = click.option("--as", "kind", metavar="KIND", help="Read FILE as this kind of problem, such as Knapsack.")
time_limit_option = click.option("--time-limit", metavar="SECONDS", help="End with the best so far after this time.")


def pool_options(devices: str, backend: str | None = None) -> Callable[[F], F]:
    """``--backend`` and ``--devices`` of a solver's own command, given to it as ``backend`` and ``names``."""
    choice = click.Choice(["auto", *backends()])
    return options(
        click.option("--backend", type=choice, default=backend, help="What the kernels run through."),
        click.option("--devices", "names", metavar="NAME", multiple=True, callback=_names, help=devices),
    )


def run_command(command: click.Command, name: str, arguments: Sequence[str], given: Any = None) -> int:
    """Run a solver's own command, called ``name`` in its help, and return its exit code; ``given`` is its ``obj``."""
    return int(command.main(list(arguments), prog_name=name, standalone_mode=False, obj=given) or 0)


def bench_command(solver: str) -> Callable[[Callable[..., Any]], Callable[[Sequence[str]], int]]:
    """Make a function ``quintet bench SOLVER``, which is called with its arguments; its docstring is the help."""
    return lambda function: functools.partial(run_command, click.command(solver)(function), f"quintet bench {solver}")


def own_options(command: click.Command) -> dict[str, bool]:
    """The options a command lists itself, and for each whether a value follows."""
    return {
        name: not (parameter.is_flag or parameter.count)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help": False, "-h": False}


def positionals(arguments: Sequence[str], own: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Words that are certainly positional, and those that are unless the unknown option before them takes a value."""
    certain: list[str] = []
    possible: list[str] = []
    tokens = deque(arguments)
    while tokens:
        token = tokens.popleft()
        if token == "--":
            certain += tokens
            break
        option, has_value, _ = token.partition("=")
        if option in own:
            if own[option] and not has_value and tokens:
                tokens.popleft()
        elif not token.startswith("--"):
            certain.append(token)
        elif not has_value and tokens and not tokens[0].startswith("--"):
            possible.append(tokens.popleft())
    return certain, possible


def has_foreign_options(arguments: Sequence[str], own: Mapping[str, bool]) -> bool:
    """Whether there is an option that is not the command's own."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(word.startswith("--") and word.partition("=")[0] not in own for word in before)


def split_options(
    arguments: Sequence[str],
    own: Mapping[str, bool],
    models: Iterable[type[BaseModel]],
    hint: Callable[[str], str] = lambda name: "",
) -> tuple[list[str], dict[str, Any]]:
    """Separate fields of models (``--name value``, ``--name=value``, ``--no-name``) from a command's own arguments.

    ``hint``: the end of the message for an unknown name; the nearest known option by default. Returns what belongs to
    the command, and the texts or bools by field.
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
        elif name.startswith("no_") and flags.get(name[3:]):
            if has_value:
                raise OptionError(f"the option '{option}' takes no value; got '{value}'")
            given[name[3:]] = False
        else:
            raise OptionError(f"unknown option '{option}'{hint(name) or nearest(option, _known(own, flags))}")
    return rest, given


def _known(own: Mapping[str, bool], flags: Mapping[str, bool]) -> list[str]:
    return [*own, *map(_written, flags), *(f"--no-{_dashed(name)}" for name, flag in flags.items() if flag)]


def _value_of(option: str, tokens: deque[str]) -> str:
    if not tokens or tokens[0].startswith("--"):
        raise OptionError(f"the option '{option}' needs a value")
    return tokens.popleft()


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _written(name: str) -> str:
    return f"--{_dashed(name)}"
