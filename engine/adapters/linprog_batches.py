"""``engine.solve_many``: many linear programs, those of equal shape together on each device."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import config
from engine.devices import Backend
from engine.engine import Engine
from engine.errors import ProblemError
from engine.events import Progress
from engine.publisher import as_observers
from engine.results import Result
from engine.solvers import solver_named
from engine.solvers.linprog.batches.solve import batches, solve_batch
from engine.solvers.linprog.problem import LinearProgram

if TYPE_CHECKING:
    from engine.run import Observer

__all__ = ["solve_many"]

_PROGRESS_SECONDS = 0.1


def solve_many(
    problems: Sequence[LinearProgram],
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    **options: Any,
) -> list[Result]:
    """Solve many linear programs; dense and small sparse ones of equal shape together on each device.

    All programs of a batch take each step together, by the method ``mpc`` (without centrality correctors) with batched
    products and factors. Only fixed variables, and rows and columns without entries, are removed first, so programs of
    equal shape stay so; others form batches of their own.

    Programs that do not reach an audited optimum in their batch are then solved one after the other, as
    :func:`engine.solve` does: programs that are infeasible or unbounded (with checked certificates), or hard. So are
    sparse programs of more than 40 000 entries, zeros counted, and all programs if the options ask for another method
    or linear solver, a basis, or an initial point.

    Parameters
    ----------
    problems : sequence of LinearProgram
    backend, devices : optional
        As for :func:`engine.solve`; the programs of a batch are distributed evenly.
    on_event : callable or sequence of callables, optional
        Called with an :class:`engine.events.Progress` (programs done, of all) some ten times a second, on this thread.
    **options
        The solver's own, as for :func:`engine.solve`.

    Returns
    -------
    list of Result
        In the order of the problems, each with the statuses, audit, arrays and certificates of a single solving. A
        program solved in a batch has no ``history``; ``seconds``, ``factorizations`` and ``refinements`` are those of
        the batch.

    Raises
    ------
    engine.errors.ProblemError
        If an entry is not a linear program.
    engine.errors.OptionError
        If an option is unknown or not allowed.
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    """
    chosen: Any = config.solver_options(solver_named("linprog"), None, options)
    if isinstance(problems, LinearProgram):
        raise ProblemError("problems must be a sequence of linear programs; got a single one, for engine.solve")
    for index, problem in enumerate(problems):
        if not isinstance(problem, LinearProgram):
            raise ProblemError(f"entry {index} of problems must be a LinearProgram; got {type(problem).__name__}")
    report = _ProgressReport(len(problems), as_observers(on_event))
    results: dict[int, Result] = {}
    with Engine(backend, devices) as owner:
        report.emit(0)
        alone = chosen.basis or chosen.ranging or chosen.initial is not None
        if chosen.method in ("auto", "mpc") and chosen.linear_solver in ("auto", "cholesky") and not alone:
            for batch in batches(problems, chosen):
                before = report.done
                pool = owner._open()
                results |= solve_batch(pool, batch, chosen, owner.backend, functools.partial(report.add, before))
        for index, problem in enumerate(problems):
            if index not in results:
                results[index] = owner.solve(problem, **options)
                report.emit(report.done + 1)
    return [results[index] for index in range(len(problems))]


class _ProgressReport:
    """Emits how many programs are done."""

    def __init__(self, total: int, observers: Sequence[Observer]) -> None:
        self._total = total
        self._observers = observers
        self._began = time.monotonic()
        self._emitted_at = -np.inf
        self.done = 0

    def add(self, before: int, done: int) -> None:
        """So many of a batch are done, after those before it."""
        self.emit(before + done)

    def emit(self, done: int) -> None:
        """So many are done."""
        self.done = done
        now = time.monotonic()
        if now - self._emitted_at >= _PROGRESS_SECONDS or done >= self._total:
            self._emitted_at = now
            event = Progress(time=now - self._began, phase="programs", done=done, total=self._total, unit="programs")
            for observer in self._observers:
                observer(event)
