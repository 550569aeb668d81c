"""HiGHS's presolve, solves and crossover: in child processes, small programs in this one, which is sooner."""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import ProblemError
from ..data import KeptBasis
from ..problem import LinearProgram
from .model import Model, Scaling, model_of, program_of, scaled_model
from .process import ChildError, ChildProcess, new_child
from .threads import call_in_thread, start_in_kept_thread, wait_for

Vector = NDArray[np.float64]
_IN_PROCESS = 1_000_000  # nonzeros of a program that is presolved, or solved, in a thread of this process
_PATIENT = 300_000  # and of one whose presolve may be given up, which only a process obeys
_AT_ONCE = 5_000  # and of one that is presolved without looking at the run's controls meanwhile
_SIMPLEX_HERE = 20_000  # and of one whose vertex the simplex method finds here
_MOST_PAUSE = 5.0  # times the processor time that a pause takes, in which little else has been done if it is not over
_REFUSALS = RuntimeError, TypeError, ValueError, MemoryError  # what HiGHS, or its interface, fails with


def child_module() -> ModuleType:
    """The functions of the child, to be called here; :class:`ChildError` if HiGHS cannot be imported."""
    try:
        return importlib.import_module(f"{__package__}.child")
    except ImportError as error:
        raise ChildError(f"HiGHS cannot be imported: {error}") from error


@functools.cache
def has_hipo() -> bool:
    """Whether HiGHS has its method HiPO: the package ``highspy-extras`` of the same version as ``highspy``."""
    return bool(child_module().has_hipo())


class HighsHere:
    """HiGHS's presolve and simplex method in this process, for a thread."""

    scaling: Scaling  # of the program that it works on; set with `presolved`

    def __init__(self) -> None:
        self.presolved: Future[Any] = Future()
        self._work: Any = None
        self._stopped = False

    def run(self, problem: LinearProgram, options: dict[str, Any]) -> dict[str, Any]:
        """Presolve and solve a program; see :func:`highs_outcome`."""
        try:
            try:
                work = self._presolve(problem, options)
            except BaseException as error:
                self.presolved.set_exception(_child_error(error))
                raise
            self.presolved.set_result(work)
            return self.scaling.back(work.solve())
        except _REFUSALS as error:
            raise _child_error(error) from error

    def solve_interior(self, options: dict[str, Any], stopped: threading.Event) -> dict[str, Any]:
        """Solve what presolve leaves by an interior-point method, beside :meth:`run`, with the same errors."""
        work = self.presolved.result()
        try:
            return self.scaling.back(work.solve_interior(options, stopped))
        except _REFUSALS as error:
            raise _child_error(error) from error

    @property
    def interior_left(self) -> float:
        """Seconds of a core that the interior-point method is expected to take still; 0 until that is known."""
        return 0.0 if self._work is None else float(self._work.interior_left)

    def pause_interior(self, seconds: float) -> None:
        """Let the interior-point method wait until this process has worked so long, or is idle, or it is stopped."""
        if self._work is not None:
            self._work.paused_until = time.process_time() + seconds, time.perf_counter() + _MOST_PAUSE * seconds

    def _presolve(self, problem: LinearProgram, options: dict[str, Any]) -> Any:
        self._work = work = child_module().Presolved(**options)
        if self._stopped:
            work.stop()
        self.scaling, model = scaled_model(problem)
        return work.run(model)

    def stop(self) -> None:
        """Let the work end soon; its result is of no use then."""
        self._stopped = True
        if self._work is not None:
            self._work.stop()


def _child_error(error: BaseException) -> BaseException:
    return ChildError(f"HiGHS has failed: {error}") if isinstance(error, _REFUSALS) else error


def highs_outcome(problem: LinearProgram, options: dict[str, Any], poll: Callable[[], None]) -> dict[str, Any]:
    """Solve with HiGHS: by the simplex method in a thread of this process, or, a large program, in a child process."""
    if problem.nonzeros <= _IN_PROCESS:
        work = HighsHere()
        return call_in_thread(lambda: work.run(problem, options), poll, work.stop)
    scaling, model = scaled_model(problem)
    with new_child() as process:
        return scaling.back(process.call(poll, "solve", model, options))


def simplex_here(
    problem: LinearProgram,
    options: dict[str, Any],
    basis: tuple[NDArray[np.int8], NDArray[np.int8]] | None,
    ranging: bool | None,
    poll: Callable[[], None] | None,
    kept: KeptBasis | None = None,
    time_left: float = math.inf,
) -> dict[str, Any]:
    """Solve by HiGHS's simplex method in this process; see ``simplex`` of the child for its limits."""
    scaling, model = scaled_model(problem)
    begin = kept.basis if kept is not None and basis is None else basis
    asked = None if scaling.changes else ranging
    work = functools.partial(child_module().simplex, model, options, begin, asked, kept is not None, time_left)
    try:
        found = scaling.back(work() if poll is None else wait_for(start_in_kept_thread(work), poll))
    except _REFUSALS as error:
        raise _child_error(error) from error
    if kept is not None:
        kept.keep(found.pop("kept_basis", None))
    return found


def to_vertex(
    problem: LinearProgram, point: dict[str, Any], poll: Callable[[], None], ranging: bool = False
) -> dict[str, Any]:
    """A vertex and its basis, by crossover in a child process; by the simplex method here if the program is small."""
    model = model_of(problem)
    if model["values"].size <= _SIMPLEX_HERE:
        found: dict[str, Any] = child_module().vertex(model, None, ranging)
        if found["status"] == "optimal":
            return found
    with new_child() as process:
        answer: dict[str, Any] = process.call(poll, "vertex", model, point, ranging)
        return answer


class Presolve:
    """HiGHS's presolve of a program, here or in a process of its own, and the way back."""

    def __init__(
        self,
        problem: LinearProgram,
        poll: Callable[[], None],
        here: HighsHere | None = None,
        patience: float = math.inf,
    ) -> None:
        self.problem = problem
        self._until = time.perf_counter() + patience
        self._poll = poll
        self._process: ChildProcess | None = None
        self._local: Any = None  # what has the way back in this process
        if here is not None:
            self._local = wait_for(here.presolved, poll)
            self._scaling = here.scaling
            self.status, reduced = self._local.status, self._local.model
        else:
            self.status, reduced = self._presolve()
        self.program = None
        if reduced is not None:
            with contextlib.suppress(ProblemError):  # it has given rows an upper side of -inf
                self.program = program_of(reduced, problem.name)

    def _presolve(self) -> tuple[str, Model | None]:
        """How it ends, and the reduced model."""
        self._scaling, model = scaled_model(self.problem)
        if model["values"].size <= (_PATIENT if self._until < math.inf else _IN_PROCESS):
            self._local = presolved = child_module().Presolved()
            work = functools.partial(presolved.run, model)
            work() if model["values"].size <= _AT_ONCE else call_in_thread(work, self._poll, presolved.stop)
            return presolved.status, presolved.model
        self._process = new_child()
        try:
            answer = self._process.call(self._poll_patiently, "presolve", model)
        except BaseException:
            self.close()
            raise
        return answer["status"], answer["model"]

    def _poll_patiently(self) -> None:
        self._poll()
        if time.perf_counter() >= self._until:
            raise TimeoutError

    def __enter__(self) -> Presolve:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def restore(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """The point of the original program, as a minimization, that belongs to one of the reduced program."""
        empty = np.zeros(0)
        point = {"x": empty, "reduced_costs": empty, "activities": empty, "row_duals": empty}
        if self.program is not None:
            matrix = self.program.A
            point = {"x": x, "reduced_costs": self.program.c - matrix.T @ y, "activities": matrix @ x, "row_duals": y}
        if self._process is not None:
            found = self._process.call(self._poll, "restore", point)
        else:
            found = self._local.restore(point)
        found = self._scaling.back(found)
        return found["x"], found["row_duals"]
