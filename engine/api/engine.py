"""The class :class:`Engine`: opened devices, and the runs that take turns on them."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack, cast

from ..base.batch import Batch, items_of
from ..base.estimate import Estimate
from ..base.problem import Problem, R
from ..base.result import Result
from ..base.solver import Solver, SolverOptions
from ..devices import Backend, DeviceInfo, DevicePool, backend_of
from ..errors import InputError
from ..runs.executor import Executor, Local
from ..runs.folder.run_folder import RunFolder
from ..runs.observers import EventLog
from ..runs.publisher import Observer, as_observers, require_other_thread
from ..runs.question import AlreadyEnded, Fresh, Question, Start
from ..runs.run import Run, wait_or_stop
from ..settings import config
from ..solvers import discover, solver_for
from ..util.display import Display, Displayed
from .map import BatchProgress, as_batch, check_options, solve_items
from .on_host import solved_on_host
from .places import executor_of
from .resume import description, earlier_result, event_log_of, resumed_settings, start_of

if TYPE_CHECKING:
    from .on_host import RunArguments
    from .option_types import AnyOptions, BatchOptions

_CLOSED = "the engine is closed; use it inside its with block, or make another"


class Engine(Displayed):
    """Opened devices with their compiled kernels, reused from one run to the next.

    Runs of one engine take turns: :meth:`start` returns at once, and the run begins when the one before has ended.

    Parameters
    ----------
    backend : {"auto", "cuda", "opencl"}, optional
        By default what the configuration says (see :mod:`engine.settings.config`), else ``"auto"``.
    devices : sequence of str, optional
        Names of devices (see :func:`engine.devices.select`); the same may be named twice. By default every GPU of the
        backend, or its first device if there is no GPU.
    config_file : path-like, optional
        A TOML file to read instead of ``quintet.toml``.
    cluster : str, path-like or distributed.Client, optional
        Where to run instead of this process: ``tcp://HOST:PORT`` or ``tls://HOST:PORT`` of a Dask scheduler,
        ``local:N`` for N worker processes on this host, a TOML file (see :mod:`engine.execution.dask.jobs`), or a
        client. ``backend`` and ``devices`` then hold for every worker; by default each has its own configuration.
        Needs the extra ``cluster``. Short for the ``executor`` :class:`engine.execution.dask.executor.Dask`.
    host : str, optional
        Another host to run on over ssh, where Quintet is installed: ``[USER@]HOST``, or the name of a saved one (see
        :mod:`engine.execution.hosts`). ``backend`` and ``devices`` then hold for the host; by default it has its
        own configuration. Short for the ``executor`` :class:`engine.execution.ssh.Ssh`.
    executor : Executor, optional
        Where to run instead of this process, in general; see :class:`engine.runs.executor.Executor`.

    Raises
    ------
    engine.errors.OptionError
        If the configuration is wrong. The devices themselves are looked for when they are first needed.
    engine.errors.InputError
        If more than one of cluster, host and executor are given.
    engine.errors.ClusterError
        If the extra ``cluster`` is needed and not installed.

    Examples
    --------
    >>> import engine
    >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
    >>> with engine.Engine() as owner:
    ...     one = owner.solve(problem)
    ...     run = owner.start(problem)  # returns at once
    ...     other = run.wait()
    >>> one.objective, other.objective
    (220, 220)
    """

    def __init__(
        self,
        backend: Backend | None = None,
        devices: Sequence[str] | None = None,
        *,
        config_file: str | Path | None = None,
        cluster: Any = None,
        host: str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._resolved = config.resolve({"backend": backend, "devices": devices}, file=config_file)
        settings = self._resolved.settings
        places = {"cluster": cluster, "host": host, "executor": executor}
        self.executor = executor_of(places, backend, devices) or Local(settings.backend, settings.devices)
        self._turn = threading.Lock()
        self._opening = threading.RLock()
        self._runs: list[Run] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(wait=kind is None or not issubclass(kind, KeyboardInterrupt))

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Engine cannot be pickled, since it owns open devices: make one in each process")

    def display(self) -> Display:
        """What is shown of it: its devices, without looking for them, and what it does."""
        settings = self._resolved.settings
        devices = "default" if settings.devices is None else ", ".join(settings.devices)
        running = sum(run.state != "ended" for run in list(self._runs))
        facts = [("devices", devices)] if isinstance(self.executor, Local) else list(self.executor.describe().items())
        facts += [*([("runs", str(running))] if running else [])]
        title = f"Engine {settings.backend}" if isinstance(self.executor, Local) else "Engine"
        return Display(title, [*facts, ("state", "closed" if self._closed else "open")])

    def same_config(self, other: Engine) -> bool:
        """Whether both have the same devices and settings, from the same sources."""
        return self._resolved == other._resolved and self.executor.describe() == other.executor.describe()

    @property
    def is_open(self) -> bool:
        """Whether devices have been opened, and not closed since."""
        return isinstance(self.executor, Local) and self.executor.is_open

    @property
    def device_infos(self) -> list[DeviceInfo]:
        """The devices this engine uses, described."""
        return self.executor.device_infos

    @property
    def backend(self) -> str:
        """What runs are labelled with: ``"cuda"``, ``"opencl"``, or ``"mixed"``."""
        return backend_of(self.device_infos)

    def close(self, wait: bool = True) -> None:
        """Stop what still runs, and close the devices; without ``wait``, leave that to the end of the program.

        Raises
        ------
        RuntimeError
            If an observer of one of its runs calls it: the run ends only after its observers have returned.
        """
        with self._opening:
            runs = list(self._runs)
            for run in runs:
                run.require_other_thread()
            self._closed = True
        for run in runs:
            run.stop()
        if not wait:
            return
        for run in runs:
            run.join()
        self.executor.close(any(run.was_stopped for run in runs))

    def start(
        self,
        problem: Problem[R],
        *,
        time_limit: float | None = None,
        seed: int | None = None,
        on_event: Observer | Sequence[Observer] | None = None,
        run_folder: str | Path | None = None,
        checkpoint_interval: float | None = None,
        **options: Unpack[AnyOptions],
    ) -> Run[R]:
        """Begin to solve a problem and return its :class:`engine.runs.run.Run` at once.

        Parameters
        ----------
        problem : Problem
        time_limit : float, optional
            Seconds of work, from when the devices are open and it is the run's turn; the best found by then is
            the result.
        on_event : callable or sequence of callables, optional
            Called with each :mod:`engine.events` event, on a thread of the run.
        seed, run_folder, checkpoint_interval, **options
            As for :func:`engine.solve`.

        Raises
        ------
        engine.errors.InputError
            If an option is unknown or not allowed, or no solver takes the problem.
        engine.errors.DeviceError
            If a device cannot be opened.

        Examples
        --------
        >>> import engine
        >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
        >>> events = []
        >>> with engine.Engine() as owner:
        ...     result = owner.start(problem, on_event=events.append, run_folder="first").wait()
        >>> type(events[0]).__name__, type(events[-1]).__name__
        ('Started', 'Finished')
        """
        arguments = {"time_limit": time_limit, "seed": seed, "checkpoint_interval": checkpoint_interval}
        place = None if run_folder is None else str(run_folder)
        resolved = self._resolved.with_arguments({**arguments, "run_folder": place})
        solver = solver_for(problem)
        chosen = config.solver_options(solver, resolved, options, type(problem))
        settings = resolved.settings
        observers = as_observers(on_event)
        path = settings.run_folder
        if path is not None:
            RunFolder.require_free(path)
        self._require_open()
        self.executor.validate(solver, problem, chosen)
        pool = self._open()
        question = self._question(problem, solver, chosen, settings)
        if path is None:
            return cast("Run[R]", self._begin(question, pool, Fresh(), observers))
        folder = RunFolder.create(path, problem, description(solver, chosen, settings, self.executor))
        try:
            folder.acquire()
            return cast("Run[R]", self._begin(question, pool, Fresh(), observers, folder, event_log_of(folder)))
        except BaseException:  # the engine was closed meanwhile, or the folder was taken
            with contextlib.suppress(OSError):
                folder.discard()
            folder.release()
            raise

    def resume(
        self,
        run_folder: str | Path,
        *,
        problem: Problem | None = None,
        time_limit: float | None = None,
        checkpoint_interval: float | None = None,
        on_event: Observer | Sequence[Observer] | None = None,
        trust: bool = False,
        from_start: bool = False,
    ) -> Run:
        """Resume a run that was stopped or killed from its last checkpoint, on this engine's devices.

        A run that has ended is not run again: the :class:`engine.runs.run.Run` returns the result it had. A run
        that wrote no checkpoint begins from the start, with a warning.

        Parameters
        ----------
        run_folder : path-like
        problem : Problem, optional
            Needed where the folder cannot keep all of it: a Python function.
        time_limit : float, optional
            Seconds, counted from the run's first start; the run's former limit no longer holds.
        checkpoint_interval, on_event
            As in :meth:`start`.
        trust : bool
            Whether code that the folder brings may be executed; remembered for exactly that code.
        from_start : bool
            Begin from the start; the run's checkpoints and result are removed.

        Raises
        ------
        engine.errors.RunFolderError
            If the folder is none, is damaged, is of another problem, or is in use by another run.
        engine.errors.UntrustedCode
            If the folder brings code that is not trusted.
        engine.errors.InputError, engine.errors.OutOfDeviceMemory
            If the run does not fit this engine's devices.

        Examples
        --------
        >>> import engine
        >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
        >>> with engine.Engine() as owner:
        ...     result = owner.start(problem, run_folder="first").wait()
        ...     again = owner.resume("first").wait()  # it has ended, so it is not run again
        >>> again.objective
        220
        """
        folder = RunFolder.open(run_folder)
        settings = resumed_settings(folder, time_limit, checkpoint_interval)
        observers = as_observers(on_event)
        solver, instance = folder.solver, folder.problem(problem, trust)
        chosen = config.solver_options(solver, None, folder.description.get("options", {}), type(instance))
        finished, damage = (None, None) if from_start else earlier_result(folder)
        if finished is not None and not finished.status.stopped:
            question = replace(self._question(instance, solver, chosen, settings), backend=finished.backend)
            event_log = None if folder.has_ended() else event_log_of(folder)
            return self._begin(question, DevicePool([]), AlreadyEnded(finished), observers, folder, event_log)
        self._require_open()
        self.executor.validate(solver, instance, chosen)
        folder.acquire()
        try:
            if from_start:
                folder.restart()
            start = start_of(folder, damage, from_start)
            question = self._question(instance, solver, chosen, settings)
            return self._begin(question, self._open(), start, observers, folder, event_log_of(folder))
        except BaseException:
            folder.release()
            raise

    def solve(self, problem: Problem[R], **arguments: Unpack[RunArguments]) -> R:
        """Start a run and wait for its result; Ctrl-C stops the run and returns its best solution so far.

        Parameters
        ----------
        problem : Problem
        **arguments
            As for :meth:`start`.

        Returns
        -------
        Result
            Of the class that the problem declares.

        Examples
        --------
        >>> import engine
        >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
        >>> with engine.Engine() as owner:
        ...     result = owner.solve(problem, variant="dense", time_limit=60)
        >>> result.objective
        220
        """
        self._require_open()
        local = isinstance(self.executor, Local)
        found = solved_on_host(self._resolved, self.is_open, problem, {**arguments}) if local else None
        if isinstance(found, Result):
            return cast(R, found)
        with contextlib.nullcontext() if found is None else contextlib.closing(found):
            return cast(R, wait_or_stop(self.start(problem, **arguments)))

    def map(
        self,
        problems: Problem | str | Path | Iterable[Problem | str | Path],
        *,
        each: Sequence[Mapping[str, Any]] | None = None,
        seeds: Sequence[int] | None = None,
        time_limit: float | None = None,
        on_event: Observer | Sequence[Observer] | None = None,
        **options: Unpack[BatchOptions],
    ) -> Batch:
        """Solve many problems, or one with many options or seeds; see :func:`engine.map`.

        Parameters
        ----------
        problems, each, seeds, time_limit, on_event, **options
            As for :func:`engine.map`.

        Returns
        -------
        Batch

        Examples
        --------
        >>> import engine
        >>> problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
        >>> with engine.Engine() as owner:
        ...     batch = owner.map(problem, seeds=[0, 1])
        >>> [result.objective for result in batch.results]
        [220, 220]
        """
        self._require_open()
        items = items_of(problems, each, seeds)
        check_options(items, {name: value for name, value in options.items() if name != "seed"})
        report = BatchProgress(len(items), as_observers(on_event))
        require_other_thread(self._turn)
        with self._turn:
            found = self.executor.solve_items(items, {**options}, time_limit, report)
        entries, fault = found or (solve_items(self, items, {**options}, time_limit, report), None)
        interrupted = InputError("the batch was interrupted before this problem was solved")
        return as_batch(items, entries, lambda: fault or interrupted)

    def reopen(self) -> None:
        """Close the devices, unless a run works on them; they are opened again when they are needed."""
        require_other_thread(self._turn)
        with self._turn:
            self.executor.close()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[DevicePool]:
        """The opened devices, while no run of this engine works."""
        self._require_open()
        require_other_thread(self._turn)
        with self._turn:
            yield self._idle_pool()

    def estimate(
        self,
        problem: Problem,
        *,
        seed: int | None = None,
        time_limit: float | None = None,
        **options: Unpack[AnyOptions],
    ) -> Estimate:
        """Estimate the work that :meth:`solve` would take on this engine's devices, in a few seconds.

        Parameters
        ----------
        problem : Problem
        seed : int, optional
            Seed of the samples; 0 by default.
        time_limit : float, optional
            Seconds that the estimate itself may take, besides compiling; it is less exact then.
        **options
            Options of the solver.

        Raises
        ------
        engine.errors.InputError
            If the problem's solver makes no estimates, or an option is unknown or not allowed.
        """
        resolved = self._resolved.with_arguments({"seed": seed, "time_limit": time_limit})
        limit = None if time_limit is None else resolved.settings.time_limit  # not that of a file, which is for runs
        solver = solver_for(problem)
        if not isinstance(self.executor, Local):
            raise InputError("estimates are made in this process; leave out the cluster, host or executor")
        if solver.estimate is None:
            able = ", ".join(name for name, other in discover().items() if other.estimate is not None)
            raise InputError(f"the solver {solver.name} makes no estimates (those that do: {able})")
        chosen = config.solver_options(solver, resolved, options, type(problem))
        self._require_open()
        self.executor.validate(solver, problem, chosen)
        return solver.estimate(
            problem, chosen, self._idle_pool(), resolved.settings.seed, math.inf if limit is None else limit
        )

    def _require_open(self) -> None:
        if self._closed:
            raise InputError(_CLOSED)

    def open(self) -> None:
        """Open the devices now, not when the first run starts.

        Raises
        ------
        engine.errors.DeviceError
            If a device cannot be opened.
        """
        for member in self._open().members:
            member.opened.result()

    def adopt_devices(self, other: Engine) -> None:
        """Take over the opened devices of another engine, if they are the same; the other one is closed."""
        if isinstance(self.executor, Local) and isinstance(other.executor, Local) and not self._closed:
            self.executor.take_over(other.executor)
        other.close()

    def _open(self) -> DevicePool:
        """The opened devices; an engine that is closed opens none, but for a run that it waits for."""
        with self._opening:
            self._require_open()
            return self.executor.pool()

    def _idle_pool(self) -> DevicePool:
        """The opened devices, once what the run before has left behind has ended."""
        pool = self._open()
        pool.drain()
        return pool

    def _question(self, problem: Problem, solver: Solver, options: SolverOptions, own: config.Settings) -> Question:
        limits = (own.seed, own.time_limit, own.checkpoint_interval)
        return Question(problem, solver, options, self.backend, *limits)

    def _begin(
        self,
        question: Question,
        pool: DevicePool,
        start: Start,
        observers: list[Observer],
        folder: RunFolder | None = None,
        event_log: EventLog | None = None,
    ) -> Run:
        question.solver.load()
        how: dict[str, Any] = {"folder": folder, "observers": observers, "event_log": event_log}
        run: Run = Run(question, pool, start, turn=self._turn, executor=self.executor, **how)
        if not isinstance(start, AlreadyEnded):
            self.executor.prepare(run)
        with self._opening:
            if not self._closed:
                self._runs = [other for other in self._runs if other.state != "ended"]
                self._runs.append(run)
                return run.start()
        if event_log is not None:
            event_log.close()
        raise InputError(_CLOSED)
