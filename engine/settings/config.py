"""Settings: defaults < TOML file < environment < arguments, and where each value came from.

The file is the one that is named, else ``$QUINTET_CONFIG``, else ``quintet.toml`` in the current folder, else
``quintet.toml`` in the user's configuration folder::

    backend = "opencl"             # any field of Settings
    problem = "instance.txt"       # optional, relative to this file

    [knapsack]                     # one table per solver, with its options
    variant = "tiles"

In the environment a setting is ``QUINTET_<SETTING>`` and an option ``QUINTET_<SOLVER>_<OPTION>``.

pydantic-settings is not used: it merges its sources into one dictionary before validation, so that the origin and line
of a value are lost, and it passes over unknown variables. Checking names and origins is what most of this module does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..base.option_models import Given, Seed, validated
from ..base.problem import Problem
from ..base.solver import Solver, SolverOptions
from ..devices.backends import backends
from ..errors import OptionError, nearest
from ..formats.source import DEFAULT_LIMIT
from ..solvers import discover
from ..util.files import read_toml
from ..util.paths import user_folder

FILE_NAME = "quintet.toml"

_PREFIX = "QUINTET_"
_TEST_PREFIX = "QUINTET_TEST_"  # for the test suite
_OTHER_VARIABLES = {
    "QUINTET_CHECKED": "1 checks that kernels stay within their buffers",
    "QUINTET_CONFIG": "configuration file to read",
    "QUINTET_CACHE_MB": "most that compiled kernels take on disk; 500 if unset",
    "QUINTET_CPU_DRIVER": "OpenCL driver for CPUs: auto, intel or pocl",
    "QUINTET_DUMP_KERNELS": "folder to write rendered kernel sources to",
    "QUINTET_INSECURE": "1 allows Dask schedulers on other hosts without TLS",
}
_OF_RUNS = ("seed", "time_limit", "run_folder", "checkpoint_interval", "on_event")  # given beside options in a call


class Settings(BaseModel):
    """How to run, whatever is solved."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    backend: str = Field(
        default="auto", description="What the kernels run through; auto is CUDA where it can be used, else OpenCL."
    )
    devices: list[str] | None = Field(
        default=None,
        description="Devices by id, index, part of the name or UUID; the same may be named twice. "
        "By default every GPU of the backend, or its first device.",
    )
    time_limit: float | None = Field(
        default=None, gt=0, description="Seconds after which a run ends with its best so far; pauses do not count."
    )
    seed: Seed = Field(default=0, description="Seed of every random choice, below 2^64.")
    run_folder: str | None = Field(
        default=None, description="Folder to keep the run in, so that it can be resumed or replayed."
    )
    checkpoint_interval: float = Field(default=30.0, gt=0, description="Seconds between checkpoints in the run folder.")
    max_read_bytes: int = Field(
        default=DEFAULT_LIMIT, ge=1, le=2**62, description="Bytes of memory that reading a problem file may take."
    )

    @field_validator("backend")
    @classmethod
    def _known(cls, value: str) -> str:
        known = ["auto", *backends()]
        if value not in known:
            hint = nearest(value, known)
            names = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
            raise ValueError(f"must be {names}" + (f" ({hint.removeprefix('; ')})" if hint else ""))
        return value

    @field_validator("devices", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """An index may be written as a number, and one device as itself."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = [value]
        if not isinstance(value, (list, tuple)):
            return value
        return [str(name) if isinstance(name, int) and not isinstance(name, bool) else name for name in value]

    @field_validator("devices")
    @classmethod
    def _not_empty(cls, value: list[str] | None) -> list[str] | None:
        if value is not None and not (value and all(name.strip() for name in value)):
            raise ValueError("must be a list of at least one device name")
        return value


VARIABLES: dict[str, str] = {f"{_PREFIX}{name.upper()}": name for name in Settings.model_fields}
"""Environment variables of the settings, each with the setting's name."""


@dataclass(frozen=True)
class Resolved:
    """The settings and options the user has given, from all sources."""

    settings: Settings
    given: dict[str, Given] = field(default_factory=dict)  # those that are not defaults
    # of file and environment, by solver; not validated
    given_options: dict[str, dict[str, Given]] = field(default_factory=dict)
    problem: Path | None = None  # the instance that the file names
    file: Path | None = None  # that was read

    @property
    def origins(self) -> dict[str, str]:
        """For each setting ``"default"``, ``"file PATH"``, ``"environment NAME"`` or ``"argument"``."""
        return {name: self.given[name].origin if name in self.given else "default" for name in Settings.model_fields}

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """Values of the solver options, by solver."""
        return {
            solver: {name: given.value for name, given in options.items()}
            for solver, options in self.given_options.items()
        }

    def with_arguments(self, arguments: Mapping[str, Any]) -> Resolved:
        """The same with these settings on top; those that are None are left as they were."""
        more = _arguments(arguments)
        given = self.given | more
        return replace(self, settings=_settings(given), given=given) if more else self


def resolve(
    arguments: Mapping[str, Any] | None = None,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Resolved:
    """Combine defaults, file, environment and arguments."""
    variables = os.environ if environment is None else environment
    path = _find_file(file, variables)
    given: dict[str, Given] = {}
    options: dict[str, dict[str, Given]] = {}
    problem = None
    if path is not None:
        given, options, problem = _read_file(path)
    _add_environment(variables, given, options)
    given |= _arguments(arguments or {})
    return Resolved(_settings(given), given, options, problem, path)


def solver_options(
    solver: Solver,
    resolved: Resolved | None,
    arguments: Mapping[str, Any],
    problem: type[Problem] | None = None,
) -> SolverOptions:
    """The options of one run: those of ``resolved``, with ``arguments`` on top."""
    model = solver.options_model(problem or solver.problems[0])
    layers = resolved.given_options.get(solver.name, {}) if resolved is not None else {}
    elsewhere = set(solver.option_names) - set(model.model_fields) if layers else ()
    given = {name: value for name, value in layers.items() if name not in elsewhere}
    given |= {name: Given(value) for name, value in arguments.items()}
    known = [*model.model_fields, *_OF_RUNS]
    return validated(
        model,
        given,
        what="option",
        of=f" of {solver.name}",
        hint=lambda name: option_hint(name, solver, problem) or nearest(name, known),
    )


def option_hint(name: str, solver: Solver, problem: type[Problem] | None = None) -> str:
    """For the end of a message: what an option that the problem does not have belongs to; empty if no solver has it."""
    if name in solver.option_names:
        classes = [kind.__name__ for kind in solver.instance_classes if name in solver.options_model(kind).model_fields]
        return f"; it applies to {', '.join(classes)}, not to {problem.__name__}" if problem is not None else ""
    owners = [other.name for other in discover().values() if name in other.option_names]
    return f"; it is an option of {', '.join(owners)}" if owners else ""


def _arguments(arguments: Mapping[str, Any]) -> dict[str, Given]:
    return {name: Given(value) for name, value in arguments.items() if value is not None}


def _settings(given: Mapping[str, Given]) -> Settings:
    settings = validated(Settings, given, what="setting")
    folder = given.get("run_folder")
    if folder is not None and folder.origin.startswith("file ") and settings.run_folder is not None:
        _require_below_here(settings.run_folder, folder)
    return settings


def _require_below_here(run_folder: str, given: Given) -> None:
    """A file that somebody else may have written creates folders below the current one only."""
    try:
        inside = Path(run_folder).resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, ValueError, RuntimeError):  # such as a loop of links
        inside = False
    if not inside:
        raise OptionError(
            f"run_folder must be below the current folder when a file names it; got {run_folder!r}; "
            f"name it yourself: --run-folder, or run_folder= in Python{given.where}"
        )


def _find_file(file: str | Path | None, variables: Mapping[str, str]) -> Path | None:
    """The file to read, or None if there is none in the usual places."""
    if file is not None:
        return Path(file)
    if variables.get("QUINTET_CONFIG"):
        return Path(variables["QUINTET_CONFIG"])
    usual = (FILE_NAME, os.path.join(user_folder("config"), FILE_NAME))
    return next((Path(path) for path in usual if os.path.isfile(path)), None)  # strings: each engine looks here


def _read_file(path: Path) -> tuple[dict[str, Given], dict[str, dict[str, Given]], Path | None]:
    """Settings, solver options and problem of a file; names are checked, values are not yet."""
    content, text = read_toml(path, OptionError, "the configuration file ")
    origin = f"file {path}"
    given: dict[str, Given] = {}
    options: dict[str, dict[str, Given]] = {}
    problem: Path | None = None
    for name, value in content.items():
        line = _line_of(text, "", name)
        if isinstance(value, dict):
            options[name] = _read_table(path, text, name, value)
        elif name == "problem":
            if not isinstance(value, str) or not value:
                raise OptionError(f"problem must be the name of a file; got {value!r} ({origin}, line {line})")
            problem = path.parent / value
        elif name in Settings.model_fields:
            given[name] = Given(value, origin, line)
        else:
            known = [*Settings.model_fields, "problem", *discover()]
            raise OptionError(f"unknown setting '{name}'{nearest(name, known)}{Given(value, origin, line).where}")
    return given, options, problem


def _read_table(path: Path, text: str, name: str, table: Mapping[str, Any]) -> dict[str, Given]:
    """The options of one solver."""
    origin = f"file {path}"
    solver = discover().get(name)
    if solver is None:
        where = Given(table, origin, _line_of(text, name)).where
        raise OptionError(f"unknown solver '{name}'{nearest(name, discover())}{where}")
    options = {key: Given(value, origin, _line_of(text, name, key)) for key, value in table.items()}
    known = solver.option_names
    for key, value in options.items():
        if key not in known:
            hint = option_hint(key, solver) or nearest(key, known)
            raise OptionError(f"unknown option '{key}' of {name}{hint}{value.where}")
    return options


def _line_of(text: str, table: str, key: str | None = None) -> int | None:
    """The 1-based line of a table, or of a key in a table; ``""`` is the top of the file."""
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"""\s*\[\s*["']?([\w-]+)["']?\s*\]""", line):
            current = header[1]
            if key is None and current == table:
                return number
        elif (entry := re.match(r"""\s*["']?([\w-]+)["']?\s*=""", line)) and (current, entry[1]) == (table, key):
            return number
    return None


def _add_environment(
    variables: Mapping[str, str], given: dict[str, Given], options: dict[str, dict[str, Given]]
) -> None:
    """Add the settings and options given by environment variables, which override those of the file."""
    names = [name for name in variables if name.startswith(_PREFIX)]
    ours = {
        name: variables[name]
        for name in names
        if not name.startswith(_TEST_PREFIX) and name not in _OTHER_VARIABLES and variables[name]
    }
    others: dict[str, tuple[str, str]] = {}
    if any(name not in VARIABLES for name in ours):  # importing the solvers takes time
        others = {
            f"{_PREFIX}{solver.name}_{option}".upper(): (solver.name, option)
            for solver in discover().values()
            for option in solver.option_names
        }
    for name, value in ours.items():
        found = Given(value, f"environment {name}")
        if name in VARIABLES:
            given[VARIABLES[name]] = found
        elif name in others:
            solver_name, option = others[name]
            options.setdefault(solver_name, {})[option] = found
        else:
            known = [*VARIABLES, *_OTHER_VARIABLES, *others]
            raise OptionError(f"unknown environment variable '{name}'{nearest(name, known)}")
