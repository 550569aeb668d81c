"""Many runs on one engine, one after the other or together: the work behind :func:`engine.map`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..base.batch import Batch, BatchControl, Failure, Item
from ..base.problem import Problem
from ..base.result import Result
from ..base.solver import Solver, SolverOptions
from ..errors import InputError, OutOfDeviceMemory, QuintetError, QuintetWarning
from ..events import Event, Notice, Progress
from ..runs.folder.run_folder import read_problem
from ..runs.publisher import Observer
from ..settings import config
from ..solvers import solver_for

if TYPE_CHECKING:
    from .engine import Engine

Entries = dict[int, Result | Failure]

_PROGRESS_SECONDS = 0.1


def check_options(items: Sequence[Item], common: dict[str, Any]) -> None:
    """Refuse options that no run of the batch could have; for problems that are yet to be read, when they are."""
    checked: set[Any] = set()
    for item in items:
        if isinstance(item.problem, Problem):
            key = (type(item.problem), _text(item.options))
            if key not in checked:
                checked.add(key)
                _options(item, item.problem, common)


def _text(options: dict[str, Any]) -> str:
    """Options as a text that differs where they do; that of a long array is shortened by NumPy."""
    if not options:
        return ""
    plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in options.items()}
    return repr(sorted(plain.items()))


def _options(item: Item, problem: Problem[Any], common: dict[str, Any]) -> SolverOptions:
    return config.solver_options(solver_for(problem), None, {**common, **item.options}, type(problem))


def solve_items(
    engine: Engine, items: Sequence[Item], common: dict[str, Any], time_limit: float | None, report: BatchProgress
) -> Entries:
    """Solve the items on an engine: those that a solver takes together first, the others one after the other."""
    options = {name: value for name, value in common.items() if name != "seed"}
    entries: Entries = {}
    try:
        read = read_items(items, entries)
        if time_limit is None:
            for solver, chosen, group in _groups(read, options):
                entries |= _together(engine, solver, chosen, group, common.get("seed") or 0, report)
        for item, problem in read:
            if report.ended():
                break
            if item.index not in entries:
                entries[item.index] = _alone(engine, item, problem, common, time_limit)
            report.at(len(entries))
    except KeyboardInterrupt:  # what is done is returned
        pass
    return entries


def read_items(items: Sequence[Item], entries: Entries) -> list[tuple[Item, Problem[Any]]]:
    """The problems of the items, files read; what cannot be read is a failure among the entries."""
    found = []
    for item in items:
        try:
            problem = item.problem if isinstance(item.problem, Problem) else read_problem(Path(item.problem))
            found.append((item, problem))
        except Exception as error:
            entries[item.index] = Failure(item.name, error)
    return found


def _groups(
    read: Sequence[tuple[Item, Problem[Any]]], common: dict[str, Any]
) -> Iterator[tuple[Solver, SolverOptions, list[tuple[Item, Problem[Any]]]]]:
    """Items with the same problem class and options, of solvers that solve many problems together."""
    groups: dict[Any, tuple[Solver, SolverOptions, list[tuple[Item, Problem[Any]]]]] = {}
    for item, problem in read:
        key = (type(problem), _text(item.options))
        if key not in groups:
            try:
                solver = solver_for(problem)
                groups[key] = (solver, _options(item, problem, common), [])
            except QuintetError:  # reported when the item is solved alone
                continue
        groups[key][2].append((item, problem))
    for solver, options, group in groups.values():
        if solver.solve_batch is not None and len(group) > 1:
            yield solver, options, group


def _together(
    engine: Engine,
    solver: Solver,
    options: SolverOptions,
    group: Sequence[tuple[Item, Problem[Any]]],
    seed: int,
    report: BatchProgress,
) -> Entries:
    """The results of the problems that the solver could solve together; empty if it refuses them all."""
    assert solver.solve_batch is not None
    seeds = tuple(seed if item.seed is None else item.seed for item, _ in group)
    control = BatchControl(seeds, engine.backend, report.within)
    try:
        with engine.exclusive() as pool:
            found = solver.solve_batch([problem for _, problem in group], options, pool, control)
    except (InputError, OutOfDeviceMemory):  # whichever problem it is, is found when they are solved alone
        return {}
    except QuintetError as error:
        message = f"{len(group)} problems are solved one after the other, as solving them together failed: {error}"
        warnings.warn(message, QuintetWarning, stacklevel=2)
        return {}
    report.at(report.done + len(found))
    return {group[place][0].index: result for place, result in found.items()}


def _alone(
    engine: Engine, item: Item, problem: Problem[Any], common: dict[str, Any], time_limit: float | None
) -> Result | Failure:
    arguments = {**common, **item.options}
    if item.seed is not None:
        arguments["seed"] = item.seed
    try:
        run = engine.start(problem, time_limit=time_limit, **arguments)
    except Exception as error:
        return Failure(item.name, error)
    try:
        result: Result = run.wait()
        return result
    except KeyboardInterrupt:
        run.stop()
        raise
    except Exception as error:
        return Failure(item.name, error)


class BatchProgress:
    """Emits how many items are done, some ten times a second, on the caller's thread; ``what`` they are."""

    def __init__(self, total: int, observers: Sequence[Observer], what: str = "problems") -> None:
        self.total, self.done, self._what = total, 0, what
        self.ended: Callable[[], bool] = lambda: False
        self._observers = observers
        self._began = time.monotonic()
        self._emitted_at = -float("inf")

    def at(self, done: int) -> None:
        """So many are done."""
        self.done = done
        self._emit(done)

    def within(self, more: int) -> None:
        """So many of a group that is being solved together are done, besides those before it."""
        self._emit(min(self.total, self.done + more))

    def _emit(self, done: int) -> None:
        now = time.monotonic()
        if self._observers and (now - self._emitted_at >= _PROGRESS_SECONDS or done >= self.total):
            self._emitted_at = now
            time_taken, what = now - self._began, self._what
            self._publish(Progress(time=time_taken, phase=what, done=done, total=self.total, unit=what))

    def notice(self, message: str, level: Literal["info", "warning"] = "info") -> None:
        """A message about the batch, on the caller's thread."""
        self._publish(Notice(time=time.monotonic() - self._began, level=level, message=message))

    def _publish(self, event: Event) -> None:
        for observer in self._observers:
            observer(event)


def as_batch(items: Sequence[Item], entries: Entries, missing: Callable[[], Exception]) -> Batch:
    """Entries in the order of the items; what is missing is a failure."""
    return Batch(items, [entries.get(item.index) or Failure(item.name, missing()) for item in items])
