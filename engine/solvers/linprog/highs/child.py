"""HiGHS behind a small set of functions, and a child process that runs them, or sparse factorisations and orders.

As a script it imports nothing of this package, so that ``python -P child.py`` starts quickly; the parent's side is
:mod:`engine.solvers.linprog.highs.process`. A linear program is a dictionary of its arrays, always a minimization:
``c``, ``lower``, ``upper`` (n,), ``row_lower``, ``row_upper`` (m,), ``starts`` (n + 1,), ``rows`` and ``values`` (the
matrix in compressed columns), and ``offset``.

Messages are pickled tuples of a name and its arguments; the child answers each request with one message.
"""

from __future__ import annotations

import importlib.util
import math
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

import highspy
import numpy as np

Model = dict[str, Any]
Point = dict[str, Any]
_SMALLEST_ENTRY = 1e-12  # the least that HiGHS allows; it drops what is smaller
_kept = threading.local()
_MOST_ENTRIES = (1 << 31) - 1  # of HiGHS's integers
_INTERIOR_ITERATIONS, _LAST_ITERATIONS = 40, 10  # of most programs, and that are expected at any time
_FIRST_SECONDS = 0.05  # of the interior-point method, after which it is known how long an iteration takes
_PAUSE = 0.02  # seconds between two looks whether a pause is over
_COLUMNWISE = _MINIMIZE = 1  # as HiGHS numbers them
# of presolve: the search for dependent equations takes up to two thirds of its time, and no method needs it
_WITHOUT_RULES = {"presolve_rule_off": 1 << 10}
NO_OPTIMUM = ("infeasible", "unbounded", "unbounded or infeasible")


def _module(path: str) -> Any:
    """The module at a path."""
    specification = importlib.util.spec_from_file_location("loaded", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    quiet_highs = _module(str(Path(__file__).parents[3] / "util" / "quirks" / "highspy_banner.py")).quiet_highs
else:
    from ....util.quirks.highspy_banner import quiet_highs


_PRESOLVE_STATUSES = {
    highspy.HighsPresolveStatus.kNotReduced: "not_reduced",
    highspy.HighsPresolveStatus.kReduced: "reduced",
    highspy.HighsPresolveStatus.kReducedToEmpty: "empty",
    highspy.HighsPresolveStatus.kInfeasible: "infeasible",
    highspy.HighsPresolveStatus.kUnboundedOrInfeasible: "unbounded_or_infeasible",
}


def quiet(**options: Any) -> Any:
    """A HiGHS instance without output, which drops no entry of a matrix that it can keep."""
    return quiet_highs(**{"small_matrix_value": _SMALLEST_ENTRY, **options})


def has_hipo() -> bool:
    """Whether HiGHS takes its method HiPO; where it does not, it solves by another one."""
    return bool(quiet().setOptionValue("solver", "hipo") == highspy.HighsStatus.kOk)


def to_highs(model: Model) -> Any:
    """The program as HiGHS's ``HighsLp``."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model["c"]), len(model["row_lower"])
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model["c"], model["lower"], model["upper"]
    lp.row_lower_, lp.row_upper_, lp.offset_ = model["row_lower"], model["row_upper"], model["offset"]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = model["starts"], model["rows"], model["values"]
    return lp


def pass_model(highs: Any, model: Model) -> Any:
    """Give a program to a HiGHS instance; arrays are passed whole where that is possible, not number by number."""
    n, m, entries = len(model["c"]), len(model["row_lower"]), len(model["values"])
    if not m or not entries or entries > _MOST_ENTRIES:
        return highs.passModel(to_highs(model))
    columns, sides = (model["c"], model["lower"], model["upper"]), (model["row_lower"], model["row_upper"])
    matrix = model["starts"].astype(np.int32), model["rows"].astype(np.int32), model["values"]
    sizes, continuous = (n, m, entries, _COLUMNWISE, _MINIMIZE, model["offset"]), np.zeros(n, np.int32)
    return highs.passModel(*sizes, *columns, *sides, *matrix, continuous)


def from_highs(lp: Any) -> Model:
    """The inverse of :func:`to_highs`, for a minimization with its matrix in columns."""
    if lp.a_matrix_.format_ != highspy.MatrixFormat.kColwise:
        raise RuntimeError("HiGHS returned a matrix that is not in compressed columns")
    return {
        "c": np.array(lp.col_cost_, np.float64),
        "lower": np.array(lp.col_lower_, np.float64),
        "upper": np.array(lp.col_upper_, np.float64),
        "row_lower": np.array(lp.row_lower_, np.float64),
        "row_upper": np.array(lp.row_upper_, np.float64),
        "starts": np.array(lp.a_matrix_.start_, np.int64)[: lp.num_col_ + 1],
        "rows": np.array(lp.a_matrix_.index_, np.int64),
        "values": np.array(lp.a_matrix_.value_, np.float64),
        "offset": float(lp.offset_),
    }


class Presolved:
    """A presolved program, the way back, and its simplex optimum; :meth:`restore` and :meth:`stop` from any thread."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._highs = quiet(**_WITHOUT_RULES, **options)
        self._simplex: Any = None
        self._stopped = False
        self._lock = threading.Lock()  # of `_highs` and what it returns, after presolve
        self.interior_left = 0.0  # seconds of a core that the interior-point method takes still; 0 until that is known
        self.paused_until = 0.0, 0.0  # processor time of this process, and time, from which that method goes on
        self.status = "failed"  # or "reduced", "not_reduced", "empty", "infeasible", "unbounded_or_infeasible"
        self.model: Model | None = None  # the reduced program

    def run(self, model: Model) -> Presolved:
        """Presolve a program."""
        highs = self._highs
        if pass_model(highs, model) != highspy.HighsStatus.kError:
            highs.presolve()
            self.status = _PRESOLVE_STATUSES.get(highs.getModelPresolveStatus(), "failed")
            if self.status == "reduced":
                self.model = from_highs(highs.getPresolvedLp())
        return self

    def stop(self) -> None:
        """Let the work end soon: HiGHS looks at its time limit in presolve and in the simplex method."""
        self._stopped = True
        for highs in (self._highs, self._simplex):
            if highs is not None:
                highs.setOptionValue("time_limit", 0.0)

    def solve(self) -> Point:
        """Solve by the simplex method; what :func:`solve` returns."""
        if self.status == "empty":
            nothing = np.zeros(0)
            point = dict.fromkeys(("x", "reduced_costs", "activities", "row_duals"), nothing)
            return {"status": "optimal", "iterations": 0, **self.restore(point)}
        status = self.status.replace("_", " ")
        if status == "reduced":
            reduced = self._new_simplex(self._highs.getPresolvedLp(), presolve="off")
            reduced.run()
            status, iterations = _status(reduced), int(max(0, reduced.getInfo().simplex_iteration_count))
            if status == "optimal":
                return self._from_basis(reduced, iterations)
            if self._stopped:
                return {"status": status, "iterations": iterations, **self._latest(reduced)}
        highs = self._new_simplex(self._highs.getLp(), presolve="off" if status == "not reduced" else "choose")
        if status not in NO_OPTIMUM:
            highs.run()
            found = outcome(highs)
            if found["status"] not in NO_OPTIMUM:
                return found
        return _rays(highs)

    def solve_interior(self, options: dict[str, Any], stopped: threading.Event) -> Point:
        """Solve by an interior-point method without crossover, beside :meth:`solve`; nothing if nothing is left."""
        if self.status not in ("reduced", "not_reduced"):
            return {"status": self.status, "iterations": 0}
        highs, began = quiet(**{"solver": "ipm", **options}, run_crossover="off", presolve="off"), time.thread_time()
        iterations = 1

        def look(event: Any) -> None:
            nonlocal iterations
            iterations = max(iterations, event.data_out.ipm_iteration_count)  # it is -1 at most looks
            gone = time.thread_time() - began
            if gone >= _FIRST_SECONDS:
                still = max(_INTERIOR_ITERATIONS - iterations, _LAST_ITERATIONS)
                self.interior_left = gone / iterations * still
            works, ends = self.paused_until
            while time.process_time() < works and time.perf_counter() < ends and not stopped.wait(_PAUSE):
                pass
            if self._stopped or stopped.is_set():
                event.interrupt()

        highs.cbIpmInterrupt += look
        with self._lock:
            highs.passModel(self._highs.getPresolvedLp() if self.status == "reduced" else self._highs.getLp())
        highs.run()
        found = outcome(highs)
        if "x" in found and self.status == "reduced":
            with self._lock:
                self._highs.postsolve(highs.getSolution())
                found |= from_solution(self._highs)
        highs.clearCallbacks()
        return found

    def _new_simplex(self, lp: Any, **options: Any) -> Any:
        """Another instance with a program, for the simplex method; it ends at once if the work has been stopped."""
        highs = self._simplex = quiet(**self._options | {"solver": "simplex"} | options)
        if self._stopped:
            highs.setOptionValue("time_limit", 0.0)
        highs.passModel(lp)
        return highs

    def _latest(self, reduced: Any) -> Point:
        """The point of the program as given where the simplex method has been stopped; empty if it has none."""
        solution = reduced.getSolution()
        if not (solution.value_valid and solution.dual_valid):
            return {}
        with self._lock:
            self._highs.postsolve(solution)
            return from_solution(self._highs)

    def _from_basis(self, reduced: Any, iterations: int) -> Point:
        """The optimum of the program as given, from an optimal basis of the reduced one."""
        with self._lock:
            highs = self._highs
            highs.postsolve(reduced.getSolution(), reduced.getBasis())
            found, info, basis = outcome(highs), highs.getInfo(), highs.getBasis()
        if found["status"] != "optimal" or info.num_primal_infeasibilities or info.num_dual_infeasibilities:
            again = self._new_simplex(self._highs.getLp(), presolve="off")
            if basis.valid:
                again.setBasis(basis)
            again.run()
            found = outcome(again)
        return found | {"iterations": found["iterations"] + iterations}

    def restore(self, point: Point) -> Point:
        """The point of the original program that belongs to a point of the reduced one."""
        with self._lock:
            self._highs.postsolve(to_solution(point))
            return from_solution(self._highs)


def to_solution(point: Point) -> Any:
    """A primal and dual point as HiGHS's ``HighsSolution``."""
    solution = highspy.HighsSolution()
    solution.col_value, solution.col_dual = point["x"].tolist(), point["reduced_costs"].tolist()
    solution.row_value, solution.row_dual = point["activities"].tolist(), point["row_duals"].tolist()
    solution.value_valid = solution.dual_valid = True
    return solution


def from_solution(highs: Any) -> Point:
    """HiGHS's present point."""
    solution = highs.getSolution()
    return {"x": np.array(solution.col_value, np.float64), "row_duals": np.array(solution.row_dual, np.float64)}


def solve(model: Model, options: dict[str, Any]) -> Point:
    """``status``, ``seconds``, ``iterations``; if found ``x``, ``row_duals``, and ``farkas`` (m,), ``ray`` (n,)."""
    began = time.perf_counter()
    highs = quiet(**_WITHOUT_RULES, **options)
    if pass_model(highs, model) == highspy.HighsStatus.kError:
        return {"status": "failed", "seconds": 0.0, "iterations": 0}
    highs.run()
    found = outcome(highs)
    if found["status"] in NO_OPTIMUM:
        found |= _rays(highs)
    return found | {"seconds": time.perf_counter() - began}


def _status(highs: Any) -> str:
    status = str(highs.modelStatusToString(highs.getModelStatus())).lower()
    return {"primal infeasible or unbounded": "unbounded or infeasible"}.get(status, status)


def outcome(highs: Any) -> Point:
    """Status, objective, iterations, and the point if there is one."""
    info = highs.getInfo()
    found: Point = {"status": _status(highs), "objective": float(info.objective_function_value)}
    found["iterations"] = int(max(0, info.simplex_iteration_count) + max(0, info.ipm_iteration_count))
    if highs.getSolution().value_valid:
        point = from_solution(highs)
        if point["row_duals"].size != highs.getNumRow():
            point["row_duals"] = np.zeros(highs.getNumRow())
        found |= point
    return found


def _rays(highs: Any) -> Point:
    """Certificates of the program as given: the simplex method without presolve has them."""
    highs.clearSolver()
    for name, value in (("presolve", "off"), ("solver", "simplex")):
        highs.setOptionValue(name, value)
    highs.run()
    found = outcome(highs)
    _, there, farkas = highs.getDualRay()
    if there:
        found["farkas"] = np.array(farkas, np.float64)
    _, there, ray = highs.getPrimalRay()
    if there:
        found["ray"] = np.array(ray, np.float64)
    return found


def vertex(model: Model, point: Point | None, ranging: bool = False) -> Point:
    """A basic optimal point, and HiGHS's basis: by crossover from an optimal point, or by the simplex method.

    As :func:`solve`, with ``column_status`` (n,) and ``row_status`` (m,): 0 at the lower bound, 1 basic, 2 at the upper
    bound, 3 free and zero, 4 nonbasic. With ``ranging`` also where costs and sides may lie while it stays optimal.
    """
    options = {"solver": "simplex", "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    highs = quiet(**({} if point is not None else options))
    if point is not None:
        highs.run()  # of nothing: the crossover of HiGHS 1.16 ends the process in a thread in which nothing has run
    if pass_model(highs, model) == highspy.HighsStatus.kError:
        return {"status": "failed"}
    crossed = 0
    if point is not None:
        highs.crossover(to_solution(point))
        crossed = int(max(0, highs.getInfo().crossover_iteration_count))
        highs.setOptionValue("presolve", "off")
    highs.run()  # from the basis of the crossover; no iterations are left if that was optimal
    found = outcome(highs)
    found["crossover_iterations"] = crossed if point is not None else found["iterations"]
    return found | _basis(highs, ranging)


def _basis(highs: Any, ranging: bool) -> Point:
    """The status of each column and row, and ranges, where HiGHS has a basis."""
    basis = highs.getBasis()
    if not basis.valid:
        return {}
    parts = {"column_status": basis.col_status, "row_status": basis.row_status}
    found: Point = {name: np.array([int(entry) for entry in part], np.int8) for name, part in parts.items()}
    if not ranging:
        return found
    status, ranges = highs.getRanging()
    if status == highspy.HighsStatus.kOk and ranges.valid:
        n, m = highs.getNumCol(), highs.getNumRow()
        found["cost_from"] = np.array(ranges.col_cost_dn.value_[:n], np.float64)
        found["cost_to"] = np.array(ranges.col_cost_up.value_[:n], np.float64)
        found["side_from"] = np.array(ranges.row_bound_dn.value_[:m], np.float64)
        found["side_to"] = np.array(ranges.row_bound_up.value_[:m], np.float64)
    return found


def simplex(
    model: Model,
    options: dict[str, Any],
    basis: Any = None,
    ranging: bool | None = None,
    keeps_basis: bool = False,
    time_left: float = math.inf,
) -> Point:
    """As :func:`vertex`, by the simplex method from a ``HighsBasis`` or statuses of variables and rows, if given.

    The option ``time_limit`` is in seconds of this thread, while ``time_left`` lasts.
    """
    highs = _kept_highs(options)
    try:
        found = _simplex(highs, model, basis, ranging, options.get("time_limit", math.inf), time_left)
        return found | {"kept_basis": highs.getBasis()} if keeps_basis and found["status"] == "optimal" else found
    finally:
        highs.clearModel()


def _kept_highs(options: dict[str, Any]) -> Any:
    """The HiGHS instance of this thread for these options: making one takes longer than a small program."""
    found: dict[tuple[str, ...], Any] = _kept.__dict__.setdefault("highs", {})
    names = tuple(options)
    if names not in found:
        found[names] = quiet(**options)
        return found[names]
    highs = found[names]
    for name, value in options.items():  # HiGHS's clock runs on
        value = value + highs.getRunTime() if name == "time_limit" else value
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refuses {name} = {value}")
    return highs


def _simplex(highs: Any, model: Model, basis: Any, ranging: bool | None, seconds: float, time_left: float) -> Point:
    if pass_model(highs, model) == highspy.HighsStatus.kError:
        return {"status": "failed", "iterations": 0}
    if isinstance(basis, highspy.HighsBasis):
        highs.setBasis(basis)
    elif basis is not None:
        known = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}
        given = highspy.HighsBasis()
        given.col_status, given.row_status = ([known[int(entry)] for entry in part] for part in basis)
        given.valid = given.alien = True  # HiGHS mends one that is singular, or of another number of basic entries
        highs.setBasis(given)
    began, worked = time.perf_counter(), time.thread_time()
    highs.run()
    # its clock goes on while the thread waits for a processor: as long again, until the thread has had half its seconds
    while highs.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        gone = time.perf_counter() - began
        more = min(gone, time_left - gone)
        if more <= 0.0 or time.thread_time() - worked >= 0.5 * seconds:
            break
        highs.setOptionValue("time_limit", highs.getRunTime() + more)
        highs.run()
    found = outcome(highs)
    if found["status"] in NO_OPTIMUM:
        return _rays(highs) | {"iterations": found["iterations"]}
    return found if ranging is None or found["status"] != "optimal" else found | _basis(highs, ranging)


class MixedInteger:
    """HiGHS's branch and bound; another thread may call :meth:`stop` and read ``latest`` meanwhile."""

    def __init__(self, model: Model, options: dict[str, Any], start: Any = None) -> None:
        self._highs = quiet(**options)
        self._model, self._start = model, start
        self._stopped = False
        self.latest: tuple[Any, float] = (None, -math.inf)  # the best point, and the bound as of a minimization
        self._highs.cbMipImprovingSolution += self._take_point
        self._highs.cbMipInterrupt += self._look

    def _take_point(self, event: Any) -> None:
        x = np.array(event.data_out.mip_solution)[: len(self._model["c"])]  # semi-continuous ones have columns more
        self.latest = x, max(self.latest[1], float(event.data_out.mip_dual_bound))

    def _look(self, event: Any) -> None:
        self.latest = self.latest[0], max(self.latest[1], float(event.data_out.mip_dual_bound))
        if self._stopped:
            event.interrupt()

    def stop(self) -> None:
        """Let the work end soon; it returns what it has."""
        self._stopped = True
        self._highs.setOptionValue("time_limit", 0.0)

    def run(self) -> Point:
        """Solve the program."""
        highs, model = self._highs, self._model
        lp = to_highs(model)
        lp.integrality_ = [highspy.HighsVarType(int(kind)) for kind in model["integrality"]]
        if highs.passModel(lp) == highspy.HighsStatus.kError:
            return {"status": "failed", "iterations": 0, "nodes": 0, "bound": -math.inf}
        if self._start is not None:
            solution = highspy.HighsSolution()
            solution.col_value, solution.value_valid = self._start.tolist(), True
            highs.setSolution(solution)
        if self._stopped:
            highs.setOptionValue("time_limit", 0.0)
        highs.run()
        info = highs.getInfo()
        found = outcome(highs) | {"nodes": int(max(0, info.mip_node_count)), "bound": float(info.mip_dual_bound)}
        highs.clearCallbacks()
        return found


def _serve() -> None:
    """Answer requests until the parent closes its end."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    quiet_output = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet_output, 1)
    presolved: Presolved | None = None
    factors: Any = None
    while True:
        try:
            name, *arguments = pickle.load(requests)
        except EOFError:
            return
        answer: Any = True
        if name == "presolve":
            presolved = Presolved().run(*arguments)
            answer = {"status": presolved.status, "model": presolved.model}
        elif name == "restore" and presolved is not None:
            answer = presolved.restore(*arguments)
        elif name == "solve":
            answer = solve(*arguments)
        elif name == "vertex":
            answer = vertex(*arguments)
        elif name == "analyse":
            path, kind, *pattern = arguments
            factors = getattr(_module(path), kind)(*pattern)
        elif name == "load":
            _module(*arguments).load()
        elif name == "order":
            path, function, *pattern = arguments
            answer = getattr(_module(path), function)(*pattern)
        elif name == "factor":
            answer = factors.factor(*arguments), factors.nonzeros
        elif name == "picture_of_factor":
            answer = factors.picture()
        elif name == "solve_factor":
            answer = factors.solve(*arguments)
        else:
            raise RuntimeError(f"unknown request '{name}'")
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    try:
        _serve()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
