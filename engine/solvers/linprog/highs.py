"""HiGHS in child processes: presolve and postsolve, whole solves, crossover.

A call of HiGHS cannot always be interrupted, and its time limit is not always obeyed; a process can be ended at any
time. Programs of few nonzeros are presolved in this process, which takes less time than the child's start.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.problem import LinearProgram, sp

__all__ = ["HighsError", "HighsProcess", "Presolve", "highs_outcome", "model_of", "program_of", "to_vertex"]

Vector = NDArray[np.float64]
Model = dict[str, Any]
_CHILD = Path(__file__).with_name("highs_child.py")
_WAIT_SECONDS = 0.02
_IN_PROCESS = 100_000  # nonzeros of a program that is presolved in this process
_SOLVE_IN_PROCESS = 2_000  # of one that is solved,
_IN_PROCESS_CROSSOVER = 20_000  # and of one whose optimum is moved to a vertex


class HighsError(Exception):
    """HiGHS is missing, could not be started, or ended without an answer."""


def _highs() -> ModuleType:
    """The functions of the child, to be called here.

    Raises
    ------
    HighsError
        If HiGHS cannot be imported.
    """
    try:
        return importlib.import_module("engine.solvers.linprog.highs_child")
    except ImportError as error:
        raise HighsError(f"HiGHS cannot be imported: {error}") from error


def model_of(problem: LinearProgram) -> Model:
    """The program as a minimization, in the form of :mod:`engine.solvers.linprog.highs_child`."""
    sign = -1.0 if problem.maximize else 1.0
    columns = sp.csc_array(problem.A)
    columns.sort_indices()
    return {
        "c": sign * problem.c,
        "lower": problem.lower,
        "upper": problem.upper,
        "row_lower": problem.row_lower,
        "row_upper": problem.row_upper,
        "starts": columns.indptr,
        "rows": columns.indices,
        "values": columns.data,
        "offset": sign * problem.offset,
    }


def program_of(model: Model, name: str) -> LinearProgram:
    """The inverse of :func:`model_of`, with a sparse matrix."""
    shape = (model["row_lower"].size, model["c"].size)
    columns = sp.csc_array((model["values"], model["rows"], model["starts"]), shape=shape)
    rows = sp.csr_array(columns)
    names = ("c", "lower", "upper", "row_lower", "row_upper")
    arrays = {key: model[key] for key in names} | {"offset": np.array(model["offset"])}
    return LinearProgram.from_arrays(arrays | {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}, name)


class HighsProcess:
    """A child process that answers one request at a time.

    Use it as a context manager: the process is ended on leaving, whatever it is doing.

    Raises
    ------
    HighsError
        If the process cannot be started.
    """

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is for the parent, which ends its children
            )
        except OSError as error:
            raise HighsError(f"a process for HiGHS could not be started: {error}") from error
        self._requests: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._waiting: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=target, name="quintet-highs", daemon=True) for target in (self._read, self._write)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    def __enter__(self) -> HighsProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process now, and wait for its threads."""
        atexit.unregister(self.close)
        self._process.kill()
        self._process.wait()
        self._requests.put(None)
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                answer = pickle.load(stream)
                self._waiting.get().set_result(answer)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._process.wait()
        error = HighsError("the process of HiGHS ended without an answer")
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait().set_exception(error)

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):  # that the process has ended is noticed by the reader
            while (request := self._requests.get()) is not None:
                pickle.dump(request, stream, protocol=pickle.HIGHEST_PROTOCOL)
                stream.flush()

    def request(self, name: str, *arguments: Any) -> Future[Any]:
        """Send a request; the future has its answer, or :class:`HighsError` if the process ends before."""
        answer: Future[Any] = Future()
        self._waiting.put(answer)
        self._requests.put((name, *arguments))
        if not self._threads[0].is_alive() and not answer.done():
            answer.set_exception(HighsError("the process of HiGHS has ended"))
        return answer

    def call(self, poll: Callable[[], None], name: str, *arguments: Any) -> Any:
        """Send a request and wait for its answer; ``poll`` is called meanwhile and may raise."""
        answer = self.request(name, *arguments)
        while True:
            poll()
            with contextlib.suppress(TimeoutError):
                return answer.result(timeout=_WAIT_SECONDS)


def highs_outcome(problem: LinearProgram, options: dict[str, Any], poll: Callable[[], None]) -> dict[str, Any]:
    """Solve with HiGHS, here if the program is small and else in a process of its own.

    Returns
    -------
    dict
        See :func:`engine.solvers.linprog.highs_child.solve`.

    Raises
    ------
    HighsError
        If HiGHS cannot be used.
    """
    model = model_of(problem)
    if model["values"].size <= _SOLVE_IN_PROCESS:
        found: dict[str, Any] = _highs().solve(model, options)
        return found
    with HighsProcess() as process:
        answer: dict[str, Any] = process.call(poll, "solve", model, options)
        return answer


def to_vertex(problem: LinearProgram, point: dict[str, Any], poll: Callable[[], None]) -> dict[str, Any]:
    """Crossover from an optimal point: see :func:`engine.solvers.linprog.highs_child.crossover`.

    Raises
    ------
    HighsError
        If HiGHS cannot be used.
    """
    model = model_of(problem)
    if model["values"].size <= _IN_PROCESS_CROSSOVER:
        found: dict[str, Any] = _highs().crossover(model, point, {})
        return found
    with HighsProcess() as process:
        answer: dict[str, Any] = process.call(poll, "crossover", model, point, {})
        return answer


class Presolve:
    """HiGHS's presolve of a program, here or in a process of its own, and the way back.

    Parameters
    ----------
    problem : LinearProgram
    poll : callable
        Called while a process works; may raise to end it.

    Attributes
    ----------
    status : str
        See :class:`engine.solvers.linprog.highs_child.Presolved`.
    program : LinearProgram or None
        The reduced program (a minimization), if it was reduced to one that is not empty.

    Raises
    ------
    HighsError
        If HiGHS cannot be used.
    """

    def __init__(self, problem: LinearProgram, poll: Callable[[], None]) -> None:
        self.problem = problem
        self._poll = poll
        self._process: HighsProcess | None = None
        self._local: Any = None
        model = model_of(problem)
        if model["values"].size <= _IN_PROCESS:
            self._local = _highs().Presolved(model)
            self.status, reduced = self._local.status, self._local.model
        else:
            self._process = HighsProcess()
            try:
                answer = self._process.call(poll, "presolve", model)
            except BaseException:
                self.close()
                raise
            self.status, reduced = answer["status"], answer["model"]
        self.program = None if reduced is None else program_of(reduced, problem.name)

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
        """Values (n,) and row duals (m,) of the original program, as a minimization, for a point of the reduced one."""
        empty = np.zeros(0)
        point = {"x": empty, "reduced_costs": empty, "activities": empty, "row_duals": empty}
        if self.program is not None:
            matrix = self.program.A
            point = {"x": x, "reduced_costs": self.program.c - matrix.T @ y, "activities": matrix @ x, "row_duals": y}
        if self._process is not None:
            found = self._process.call(self._poll, "restore", point)
        else:
            found = self._local.restore(point)
        return found["x"], found["row_duals"]
