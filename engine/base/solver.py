"""What a solver declares: its problems, options, metrics, results, checks and commands.

A package ``engine/solvers/<name>/`` is a solver if it defines ``SOLVER``, an instance of :class:`Solver`. The command
line, the configuration section, the options form and the generic dashboard are built from that declaration alone.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import BaseModel, ConfigDict

from .problem import Problem

if TYPE_CHECKING:
    from ..devices.info import DeviceInfo
    from ..devices.pool.pool import DevicePool
    from .batch import BatchControl
    from .context import RunContext
    from .division import Division
    from .estimate import Estimate
    from .result import Result
    from .schema import Schema


class Begun(Protocol):
    """Work for a run that has not started yet."""

    def close(self) -> None:
        """End the work, unless the run has taken it over."""


class SolverOptions(BaseModel):
    """Base of options models: unknown names are errors, values are frozen; built when first used, as a run has one."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


@dataclass(frozen=True)
class MetricSpec:
    """A live series that a solver emits, described so that a dashboard can draw it without knowing the solver."""

    name: str  # of the engine.events.Metric
    title: str
    unit: str = ""  # "share": from 0 to 1, shown in percent
    per_device: bool = False  # whether each device has a curve of its own
    log: bool = False  # whether the axis is logarithmic


@dataclass(frozen=True)
class Reproduction:
    """The measurements of a publication, repeated: ``quintet reproduce NAME ARGUMENTS`` calls ``run(arguments)``.

    ``run`` reads its own arguments (:func:`engine.reports.study.run_study` has those of all), and returns an exit code.
    """

    title: str
    run: Callable[[list[str]], int]


@dataclass(frozen=True)
class LazyImport:
    """An object, or a function to call, of a slow module or an optional package, which is imported when first used."""

    module: str
    name: str
    package: str | None = None  # that the module cannot be imported without
    obtain: str = ""  # what installs it

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        function: Any = self.load()
        return function(*arguments, **keywords)

    def load(self) -> object:
        if not self.is_usable():
            message = f"{self.name} needs the package {self.package}, which is not installed ({self.obtain})"
            raise ModuleNotFoundError(message, name=self.package)
        return getattr(importlib.import_module(self.module), self.name)

    def is_usable(self) -> bool:
        """Whether its optional package is installed, or needs none."""
        return self.package is None or importlib.util.find_spec(self.package) is not None


@dataclass(frozen=True)
class Generator:
    """A family of random instances: ``quintet generate KIND`` fills ``options`` and writes what ``make`` returns."""

    model: type[BaseModel] | LazyImport  # the options, or an import of them
    make: Callable[[Any], Problem]
    write: Callable[[Any, Path], None]
    suffix: str = ".txt"  # of the files that it writes

    @classmethod
    def of_module(cls, module: str, model: str, make: str, write: str, suffix: str = ".txt") -> Generator:
        """A generator by the names of its parts in a module, which is imported when one of them is first used."""
        return cls(LazyImport(module, model), LazyImport(module, make), LazyImport(module, write), suffix)

    @property
    def options(self) -> type[BaseModel]:
        return cast(type[BaseModel], self.model.load()) if isinstance(self.model, LazyImport) else self.model


@dataclass(frozen=True)
class Solver:
    """The declaration of one solver.

    Attributes
    ----------
    name, title : str
        The package's name, and one line for people.
    problems : tuple of Problem subclasses
        What it solves.
    options : SolverOptions subclass, or mapping of Problem subclass to SolverOptions subclass
        One options model for all problems, or one for each; see :meth:`options_model`.
    solve : callable
        ``solve(problem, options, pool, run) -> Result``.
    validate : callable, optional
        ``validate(problem, options, devices) -> None``, with a sequence of :class:`engine.devices.DeviceInfo`. Checks
        every rule that joins problem, options and devices, planned memory included. Called before a context, thread or
        folder exists, also before a run is resumed. Raises :class:`engine.errors.InputError` (or
        :class:`~engine.errors.OptionError`, :class:`~engine.errors.ProblemError`) or
        :class:`engine.errors.OutOfDeviceMemory`.
    solve_on_host : callable, optional
        ``solve_on_host(problem, options, time_limit, is_open) -> Result | Begun | None`` solves problems so small that
        no run is worth its start, or no device its opening unless ``is_open``; None leaves the problem to
        :attr:`solve`, and so does what has begun for it, which is closed after the run. Called by
        :meth:`engine.Engine.solve` where nobody names devices, watches, or keeps the run.
    schema : Schema, optional
        What its results and checkpoints contain; run folders check it when they read and write.
    estimate : callable, optional
        ``estimate(problem, options, pool, seed, seconds) -> Estimate`` estimates the work of :attr:`solve` within about
        so many seconds.
    solve_batch : callable, optional
        ``solve_batch(problems, options, pool, control) -> {place: Result}`` solves many problems of one class together,
        with the same options, for :func:`engine.map`; ``control`` is an :class:`engine.base.batch.BatchControl`.
        Problems that are missing in what it returns are solved alone, and so are all if it raises a
        :class:`engine.errors.QuintetError`.
    division : Division, optional
        How a run is divided among the workers of a cluster; None if it is not.
    metrics : tuple of MetricSpec
        The live series it emits.
    generators : dict of str to Generator
        Families of random instances by name.
    bench, tune : callable, optional
        ``bench(arguments) -> int`` runs ``quintet bench NAME``: it measures, checks, and returns an exit code.
        ``tune(arguments) -> int`` runs ``quintet tune NAME``: it searches for settings that solve a problem reliably.
    reproductions : dict of str to Reproduction
        What ``quintet reproduce`` offers of this solver, by name.
    verify : callable, optional
        ``verify(path, engine, seed, samples, whole)`` checks a proof file for ``quintet verify`` and yields what it has
        checked, one sentence each; it raises :class:`engine.errors.ProofError` if a check fails.
    usual_programs : int
        About how many kernel templates a run compiles, for its progress; 0 if that is not known.
    """

    name: str
    title: str
    problems: tuple[type[Problem], ...]
    options: type[SolverOptions] | Mapping[type[Problem], type[SolverOptions]]
    solve: Callable[[Any, Any, DevicePool, RunContext], Result]
    metrics: tuple[MetricSpec, ...] = ()
    generators: dict[str, Generator] = field(default_factory=dict)
    bench: Callable[[list[str]], int] | None = None
    tune: Callable[[list[str]], int] | None = None
    validate: Callable[[Any, Any, Sequence[DeviceInfo]], None] | None = None
    solve_on_host: Callable[[Any, Any, float | None, bool], Result | Begun | None] | None = None
    schema: Schema | None = None
    estimate: Callable[[Any, Any, DevicePool, int, float], Estimate] | None = None
    reproductions: dict[str, Reproduction] = field(default_factory=dict)
    verify: Callable[..., Iterable[str]] | None = None
    solve_batch: Callable[[Sequence[Any], Any, DevicePool, BatchControl], Mapping[int, Result]] | None = None
    division: Division | None = None
    usual_programs: int = 0

    def options_model(self, problem: type[Problem]) -> type[SolverOptions]:
        """The options model for problems of this class, or of the nearest base class that has one.

        Raises
        ------
        TypeError
            If the solver declares no options for this class.
        """
        if not isinstance(self.options, Mapping):
            return self.options
        for base in problem.__mro__:
            if base in self.options:
                return self.options[base]
        raise TypeError(f"the solver {self.name} declares no options for {problem.__name__}")

    @property
    def instance_classes(self) -> tuple[type[Problem], ...]:
        """The classes of :attr:`problems` that have instances, for lists of them: not base classes."""
        return tuple(kind for kind in self.problems if not inspect.isabstract(kind))

    def load(self) -> None:
        """Import the solving function now, if that was left for later, so that no run's clock counts it."""
        if isinstance(self.solve, LazyImport):
            self.solve.load()

    @functools.cached_property
    def option_models(self) -> tuple[type[SolverOptions], ...]:
        """All options models of this solver, each once, in the order of declaration."""
        models = self.options.values() if isinstance(self.options, Mapping) else (self.options,)
        return tuple(dict.fromkeys(models))

    @functools.cached_property
    def option_names(self) -> tuple[str, ...]:
        """The names of all options, of whatever problem class, each once."""
        return tuple(dict.fromkeys(name for model in self.option_models for name in model.model_fields))
