"""The engine from Python in functions: :func:`solve`, :func:`resume`, :func:`estimate`, and what this machine has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ..base.batch import Batch
from ..base.estimate import Estimate
from ..base.problem import Problem
from ..base.result import Result, read_result, result_class
from ..base.solver import Solver
from ..devices import Backend, DeviceInfo, available
from ..errors import InputError, RunFolderError
from ..runs.folder.run_folder import RunFolder
from ..runs.publisher import Observer
from ..runs.run import wait_or_stop
from ..solvers import discover, problem_classes
from ..util.files import reason_of
from .engine import Engine

if TYPE_CHECKING:
    from .option_types import AnyOptions, BatchOptions

R = TypeVar("R", bound=Result)


def solve(
    problem: Problem[R],
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    time_limit: float | None = None,
    seed: int | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    run_folder: str | Path | None = None,
    checkpoint_interval: float | None = None,
    config_file: str | Path | None = None,
    cluster: Any = None,
    host: str | None = None,
    **options: Unpack[AnyOptions],
) -> R:
    """Solve one problem: open the devices, run, close them.

    Parameters
    ----------
    problem : Problem
        An instance of one of the problem classes.
    backend : {"auto", "cuda", "opencl"}, optional
        See :class:`Engine`.
    devices : sequence of str, optional
        Names of devices; see :class:`Engine`.
    time_limit : float, optional
        Seconds after which the run ends with its best solution so far.
    seed : int, optional
        Seed of every random choice, 0 <= seed < 2^64; 0 by default.
    on_event : callable or sequence of callables, optional
        Called with each :mod:`engine.events` event.
    run_folder : path-like, optional
        Folder to keep the run in; it must not exist or be empty.
    checkpoint_interval : float, optional
        Seconds between checkpoints.
    config_file : path-like, optional
        A TOML file to read instead of ``quintet.toml``.
    cluster : str, path-like or distributed.Client, optional
    host : str, optional
        Where to run instead of this process: a Dask cluster, or another host over ssh; see :class:`Engine`.
    **options
        Options of the solver (``quintet solvers NAME`` lists them).

    Returns
    -------
    Result
        With at least status, objective, bound and solution; of the class that the problem declares.

    Raises
    ------
    engine.errors.InputError
        If an option or setting is wrong, or the problem cannot be solved on these devices.
    engine.errors.DeviceError
        If a device cannot be opened or fails.

    Examples
    --------
    >>> import engine
    >>> engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).objective
    220
    """
    with Engine(backend, devices, config_file=config_file, cluster=cluster, host=host) as owner:
        return owner.solve(
            problem,
            time_limit=time_limit,
            seed=seed,
            on_event=on_event,
            run_folder=run_folder,
            checkpoint_interval=checkpoint_interval,
            **options,
        )


def map(
    problems: Problem | str | Path | Iterable[Problem | str | Path],
    *,
    each: Sequence[Mapping[str, Any]] | None = None,
    seeds: Sequence[int] | None = None,
    time_limit: float | None = None,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    config_file: str | Path | None = None,
    cluster: Any = None,
    host: str | None = None,
    **options: Unpack[BatchOptions],
) -> Batch:
    """Solve many problems, or one problem with many options or seeds; a failure does not end the rest.

    Many problems of a solver that can solve them together (knapsacks, dense linear programs) share kernel launches.

    Parameters
    ----------
    problems : Problem, path-like, or iterable of these
        Instance files are read when their turn comes.
    each : sequence of mappings, optional
        Options of each run, on top of ``options``.
    seeds : sequence of int, optional
        The seed of each run. A single problem, option set or seed is
        reused for every run; otherwise the lengths must agree.
    time_limit : float, optional
        Seconds of each run.
    backend, devices, config_file, cluster, host : optional
        As for :func:`solve`.
    on_event : callable or sequence of callables, optional
        Called with an :class:`engine.events.Progress` (problems done, of all) some ten times a second; with a cluster
        also with an :class:`engine.events.Notice` about its workers.
    **options
        Options of every run: the solver's, and ``seed``.

    Returns
    -------
    Batch
        A sequence of results in the order of what was given. An :class:`engine.Failure` with its ``error`` stands in
        the place of a run that failed; ``table()`` has one row a run. After Ctrl-C, or when the scheduler of a cluster
        is lost, the runs that did not end are failures.

    Raises
    ------
    engine.errors.InputError
        If the numbers of problems, options and seeds differ, or an option is unknown or not allowed.
    engine.errors.DeviceError
        If no device can be opened.

    Examples
    --------
    >>> import engine
    >>> knapsack = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> [result.objective for result in engine.map([knapsack, knapsack])]
    [220, 220]
    """
    with Engine(backend, devices, config_file=config_file, cluster=cluster, host=host) as owner:
        arguments: dict[str, Any] = {"each": each, "seeds": seeds, "time_limit": time_limit, "on_event": on_event}
        return owner.map(problems, **arguments, **options)


def estimate(
    problem: Problem,
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    config_file: str | Path | None = None,
    **options: Unpack[AnyOptions],
) -> Estimate:
    """Estimate the work that :func:`solve` would take with the same arguments; see :meth:`Engine.estimate`.

    Parameters
    ----------
    problem : Problem
    backend, devices, seed, config_file : optional
        As for :func:`solve`.
    time_limit : float, optional
        Seconds that the estimate itself may take, besides compiling; it is less exact then.
    **options
        Options of the solver.

    Examples
    --------
    >>> import engine
    >>> estimate = engine.estimate(engine.Flowshop.taillard(21), upper_bound=2297)
    >>> estimate.unit, estimate.low <= estimate.amount <= estimate.high
    ('nodes', True)
    """
    with Engine(backend, devices, config_file=config_file) as owner:
        return owner.estimate(problem, seed=seed, time_limit=time_limit, **options)


def load(path: str | Path) -> Result:
    """Read a result: of a run folder, or of a file that :meth:`engine.Result.save` wrote.

    Raises
    ------
    engine.errors.RunFolderError
        If the folder is no run folder, is damaged, or its run has no result yet.
    engine.errors.InputError
        If the file cannot be read or is not a saved result.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50), run_folder="first")
    >>> engine.load("first") == result
    True
    """
    path = Path(path)
    if path.is_dir():
        folder = RunFolder.open(path)
        found = folder.result()
        if found is None:
            raise RunFolderError(f"the run in {path} has no result yet")
        name = folder.description.get("problem", {}).get("class")
        kind = next((result_class(kind) for kind in folder.solver.problems if kind.__name__ == name), Result)
        return kind(**{field.name: getattr(found, field.name) for field in dataclasses.fields(found)})
    classes = {result_class(problem) for problem in problem_classes().values()}
    try:
        return read_result(path, classes)
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from error
    except Exception as error:  # zipfile and NumPy raise many kinds for damaged files
        raise InputError(f"{path} is not a saved result, or damaged: {error}") from error


def resume(
    run_folder: str | Path,
    *,
    problem: Problem | None = None,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    time_limit: float | None = None,
    checkpoint_interval: float | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    trust: bool = False,
    from_start: bool = False,
    cluster: Any = None,
    host: str | None = None,
) -> Result:
    """Resume the run in a folder, and wait for its result; see :meth:`Engine.resume`.

    Parameters
    ----------
    run_folder : path-like
    problem, time_limit, checkpoint_interval, on_event, trust, from_start : optional
        As for :meth:`Engine.resume`.
    backend, devices : optional
        By default those that the run was started with.
    cluster, host : optional
        Where to resume it, instead of in this process; see :class:`Engine`.

    Returns
    -------
    Result

    Raises
    ------
    engine.errors.RunFolderError
        If the folder is no run folder, damaged, in use, or of another problem.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Queens(8)
    >>> engine.solve(problem, run_folder="board", time_limit=1e-9).status.stopped
    True
    >>> engine.resume("board").objective
    92
    """
    with engine_to_resume(run_folder, backend, devices, cluster=cluster, host=host) as owner:
        run = owner.resume(
            run_folder,
            problem=problem,
            time_limit=time_limit,
            checkpoint_interval=checkpoint_interval,
            on_event=on_event,
            trust=trust,
            from_start=from_start,
        )
        return wait_or_stop(run)


def engine_to_resume(
    run_folder: str | Path,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    config_file: str | Path | None = None,
    cluster: Any = None,
    host: str | None = None,
) -> Engine:
    """An engine for the run in a folder: what is not given is as that run was asked for."""
    description = RunFolder.open(run_folder).description
    kept = description.get("settings", {})
    elsewhere = cluster is not None or host is not None or not {"cluster", "host"}.isdisjoint(description)
    if backend is None and devices is None and not elsewhere:
        backend, devices = (None if kept.get("backend") == "auto" else kept.get("backend")), kept.get("devices")
    return Engine(backend, devices, config_file=config_file, cluster=cluster, host=host)


def available_devices(backend: Backend = "auto") -> list[DeviceInfo]:
    """The devices of this machine that a backend can use; an empty list if there is none.

    Parameters
    ----------
    backend : {"auto", "cuda", "opencl"}
        ``"auto"`` lists the devices of both.

    Examples
    --------
    >>> import engine
    >>> [device.id for device in engine.available_devices("opencl")]
    ['opencl:0'...]
    """
    return available(backend)[0]


def available_solvers() -> Mapping[str, Solver]:
    """The solvers by name, in alphabetical order.

    Examples
    --------
    >>> import engine
    >>> list(engine.available_solvers())
    ['boa', 'branch_and_bound', 'gibbs', 'knapsack', 'linprog']
    >>> [problem.__name__ for problem in engine.available_solvers()["linprog"].problems]
    ['LinearProgram']
    """
    return discover()
