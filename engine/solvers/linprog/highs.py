"""HiGHS in child processes: presolve and postsolve, whole solves, crossover.

Small programs are handled in this process, which takes less time than the start of a child.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.child_process import ChildError, ChildProcess
from engine.solvers.linprog.problem import LinearProgram, sp

__all__ = ["Presolve", "Scaling", "highs_outcome", "model_of", "program_of", "to_vertex"]

Vector = NDArray[np.float64]
Model = dict[str, Any]
_IN_PROCESS = 100_000  # nonzeros of a program that is presolved in this process
_SMALL_ENTRY, _LARGE_ENTRY = 1e-8, 1e10  # of a matrix that HiGHS gets as it is
_ALL_TINY, _ALL_HUGE = 1e-2, 1e5  # bounds, or costs, that are all below or above are scaled
_SOLVE_IN_PROCESS = 2_000  # of one that is solved,
_IN_PROCESS_CROSSOVER = 20_000  # and of one whose optimum is moved to a vertex


def _highs() -> ModuleType:
    """The functions of the child, to be called here.

    Raises
    ------
    ChildError
        If HiGHS cannot be imported.
    """
    try:
        return importlib.import_module("engine.solvers.linprog.child")
    except ImportError as error:
        raise ChildError(f"HiGHS cannot be imported: {error}") from error


def model_of(problem: LinearProgram) -> Model:
    """The program as a minimization, in the form of :mod:`engine.solvers.linprog.child`."""
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


class Scaling:
    """Powers of two that bring a badly scaled model into the range that HiGHS's absolute tolerances are made for.

    Rows are scaled by their largest entries where some entry is tiny (HiGHS drops entries below 1e-9) or huge; bounds
    and costs where all of them are. Other models are left as they are. Columns are not scaled: that would move their
    costs to other sizes. A value of the program is ``x / bound``, a row's dual ``row * y / cost``, for x and y of the
    scaled model.
    """

    def __init__(self, model: Model) -> None:
        self.row = np.ones(model["row_lower"].size)
        sizes = np.abs(model["values"])
        if sizes.size and (sizes.min() < _SMALL_ENTRY or sizes.max() > _LARGE_ENTRY):
            largest = np.zeros(self.row.size)
            np.maximum.at(largest, model["rows"], sizes)
            self.row = np.exp2(-np.round(np.log2(np.where(largest > 0.0, largest, 1.0))))
        sides = (self.row * model["row_lower"], self.row * model["row_upper"])
        self.bound = _power_of_two(np.concatenate([*sides, model["lower"], model["upper"]]))
        self.cost = _power_of_two(model["c"])

    def scaled(self, model: Model) -> Model:
        """The scaled model."""
        if self.bound == self.cost == 1.0 and (self.row == 1.0).all():
            return model
        return model | {
            "c": self.cost * model["c"],
            "lower": self.bound * model["lower"],
            "upper": self.bound * model["upper"],
            "row_lower": self.bound * self.row * model["row_lower"],
            "row_upper": self.bound * self.row * model["row_upper"],
            "values": model["values"] * self.row[model["rows"]],
            "offset": self.bound * self.cost * model["offset"],
        }

    def back(self, found: dict[str, Any]) -> dict[str, Any]:
        """Points and rays of the scaled model as those of the program."""
        out = dict(found)
        for name, factor in (
            ("x", 1.0 / self.bound),
            ("row_duals", self.row / self.cost),
            ("farkas", self.row),
        ):
            if name in out:
                out[name] = out[name] * factor
        return out


def _power_of_two(values: Vector) -> float:
    """The factor for numbers that are all tiny, or all huge; 1 for others, and if there is none.

    A few huge numbers among others are left: scaled down, the others would fall below HiGHS's tolerances.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    if not sizes.size:
        return 1.0
    size = float(sizes.max()) if sizes.max() < _ALL_TINY else float(sizes.min()) if sizes.min() > _ALL_HUGE else 1.0
    return float(np.exp2(-np.round(np.log2(size))))


def highs_outcome(problem: LinearProgram, options: dict[str, Any], poll: Callable[[], None]) -> dict[str, Any]:
    """Solve with HiGHS, here if the program is small and else in a process of its own.

    Returns
    -------
    dict
        See :func:`engine.solvers.linprog.child.solve`.

    Raises
    ------
    ChildError
        If HiGHS cannot be used.
    """
    model = model_of(problem)
    scaling = Scaling(model)
    model = scaling.scaled(model)
    if model["values"].size <= _SOLVE_IN_PROCESS:
        return scaling.back(_highs().solve(model, options))
    with ChildProcess() as process:
        return scaling.back(process.call(poll, "solve", model, options))


def to_vertex(problem: LinearProgram, point: dict[str, Any], poll: Callable[[], None]) -> dict[str, Any]:
    """Crossover from an optimal point: see :func:`engine.solvers.linprog.child.crossover`.

    Raises
    ------
    ChildError
        If HiGHS cannot be used.
    """
    model = model_of(problem)
    if model["values"].size <= _IN_PROCESS_CROSSOVER:
        found: dict[str, Any] = _highs().crossover(model, point, {})
        return found
    with ChildProcess() as process:
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
        See :class:`engine.solvers.linprog.child.Presolved`.
    program : LinearProgram or None
        The reduced program (a minimization), if it was reduced to one that is not empty.

    Raises
    ------
    ChildError
        If HiGHS cannot be used.
    """

    def __init__(self, problem: LinearProgram, poll: Callable[[], None]) -> None:
        self.problem = problem
        self._poll = poll
        self._process: ChildProcess | None = None
        self._local: Any = None
        model = model_of(problem)
        self._scaling = Scaling(model)
        model = self._scaling.scaled(model)
        if model["values"].size <= _IN_PROCESS:
            self._local = _highs().Presolved(model)
            self.status, reduced = self._local.status, self._local.model
        else:
            self._process = ChildProcess()
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
        found = self._scaling.back(found)
        return found["x"], found["row_duals"]
