"""The linear programming solver for CVXPY: ``cvxpy.Problem(...).solve(solver=engine.QUINTET)``.

Imported when it is first asked for, since CVXPY is optional.
"""

from typing import Any, ClassVar

import cvxpy.settings as names
import numpy as np
from cvxpy.constraints import NonNeg, Zero
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from ..base.result import Result, Status
from ..runs.observers import ProgressBar
from ..solvers.linprog.arguments import sp
from ..solvers.linprog.problem import LinearProgram
from .kept_engine import solve_kept

_VERTEX_NONZEROS = 100_000  # up to which optima are vertices
_STATUS = {
    Status.OPTIMAL: names.OPTIMAL,
    Status.INFEASIBLE: names.INFEASIBLE,
    Status.UNBOUNDED: names.UNBOUNDED,
    Status.TIME_LIMIT: names.USER_LIMIT,
    Status.ITERATION_LIMIT: names.USER_LIMIT,
    Status.INTERRUPTED: names.USER_LIMIT,
}


class CvxpySolver(ConicSolver):  # type: ignore[misc]
    """A solver that CVXPY's ``Problem.solve`` takes, for affine constraints and objectives; variables may be integer.

    Keywords of ``solve`` other than CVXPY's own are options of :func:`engine.solve` for linear programs: ``backend``,
    ``devices``, ``time_limit``, ``seed``, and the solver's options; the option ``method`` is called ``solver_method``,
    since CVXPY keeps ``method`` for itself. With ``verbose=True`` a progress bar is shown. Constraints get their dual
    values, also those of a certificate of infeasibility. At a limit the variables get the best point there is, with the
    status ``user_limit``; without any, ``cvxpy.error.SolverError`` says so. Devices stay open for the next problem. Of
    problems with at most 100 000 nonzeros the optimum is a vertex, and the next solve of the same problem, with other
    values of its parameters, begins with its basis (``warm_start=False``: anew).

    Examples
    --------
    >>> import cvxpy, engine
    >>> x = cvxpy.Variable(2, nonneg=True)
    >>> problem = cvxpy.Problem(cvxpy.Maximize(x[0] + 2 * x[1]), [x[0] + x[1] <= 4, x[0] + 3 * x[1] <= 6])
    >>> round(float(problem.solve(solver=engine.QUINTET)), 6)
    5.0
    """

    MIP_CAPABLE = True
    MI_SUPPORTED_CONSTRAINTS: ClassVar[list[Any]] = [Zero, NonNeg]
    BOUNDED_VARIABLES = True
    SUPPORTED_CONSTRAINTS: ClassVar[list[Any]] = [Zero, NonNeg]

    def name(self) -> str:
        return "QUINTET"

    def import_solver(self) -> None:
        """CVXPY's check that the solver is installed."""

    def cite(self, data: Any) -> str:
        return ""

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """CVXPY's data, with the columns of boolean and integer variables."""
        data, inverse_data = super().apply(problem)
        data[names.BOOL_IDX] = [int(index[0]) for index in problem.x.boolean_idx]
        data[names.INT_IDX] = [int(index[0]) for index in problem.x.integer_idx]
        return data, inverse_data

    def solve_via_data(
        self,
        data: dict[str, Any],
        warm_start: bool,
        verbose: bool,
        solver_opts: dict[str, Any],
        solver_cache: dict[str, Any] | None = None,
    ) -> Result:
        """Minimize ``c x`` with ``A x = b`` in the first rows, ``A x <= b`` in the others; the cache has the basis."""
        options = dict(solver_opts)
        if "solver_method" in options:
            options["method"] = options.pop("solver_method")
        problem = _program(data, self.DIMS)
        small = problem.nonzeros <= _VERTEX_NONZEROS
        if problem.integrality is None and options.get("method", "auto") == "auto":
            options.setdefault("basis", small)
            kept = None if solver_cache is None or not warm_start else solver_cache.get(self.name())
            if kept is not None and len(kept) == problem.n + problem.m:
                options.setdefault("initial_basis", kept)
        if verbose:
            options["on_event"] = [ProgressBar()]
        result = solve_kept(problem, options)
        if solver_cache is not None and "column_status" in result.arrays:
            statuses = np.concatenate([result.arrays["column_status"], result.arrays["row_status"]])
            solver_cache[self.name()] = tuple(statuses.tolist())
        return result

    def invert(self, solution: Result, inverse_data: dict[str, Any]) -> Any:
        """The result as CVXPY's ``Solution``."""
        status = _STATUS.get(solution.status, names.SOLVER_ERROR)
        attributes = {names.SOLVE_TIME: solution.seconds, names.NUM_ITERS: int(solution.counters.get("iterations", 0))}
        constraints = inverse_data[self.EQ_CONSTR] + inverse_data[self.NEQ_CONSTR]

        def duals(values: Any) -> Any:
            return utilities.get_dual_values(-values, utilities.extract_dual_value, constraints)

        if status == names.USER_LIMIT and solution.solution is None:
            ended = str(solution.status.value).replace("_", " ")
            raise SolverError(f"QUINTET has ended ({ended}) before it had a point; allow it more time or iterations")
        if status in (names.OPTIMAL, names.USER_LIMIT):
            primal = {inverse_data[self.VAR_ID]: solution.solution}
            objective = float(solution.objective or 0.0) + inverse_data[names.OFFSET]
            prices = solution.arrays.get("row_duals")  # none with integer variables
            return Solution(status, objective, primal, {} if prices is None else duals(prices), attributes)
        farkas = solution.arrays.get("farkas")
        failed = failure_solution(status, attributes)
        if farkas is not None:
            failed.dual_vars = duals(farkas)
        return failed


def _program(data: dict[str, Any], dims: str) -> LinearProgram:
    """CVXPY's data as a linear program."""
    costs, matrix = np.asarray(data[names.C], np.float64), data[names.A]
    sides, n = np.asarray(data[names.B], np.float64), costs.size
    if matrix.shape != (sides.size, n):  # without constraints
        matrix = sp.csr_array((sides.size, n))
    low = sides.copy()
    low[int(data[dims].zero) :] = -np.inf
    lower, upper = data[names.LOWER_BOUNDS], data[names.UPPER_BOUNDS]
    low_bounds = np.full(n, -np.inf) if lower is None else np.array(lower, np.float64)
    high_bounds = np.full(n, np.inf) if upper is None else np.array(upper, np.float64)
    boolean, integrality = data[names.BOOL_IDX], None
    if boolean or data[names.INT_IDX]:
        integrality = np.zeros(n, np.uint8)
        integrality[boolean + data[names.INT_IDX]] = 1
        low_bounds[boolean] = np.maximum(low_bounds[boolean], 0.0)
        high_bounds[boolean] = np.minimum(high_bounds[boolean], 1.0)
    return LinearProgram.of_rows(costs, matrix, low, sides, low_bounds, high_bounds, "CVXPY's problem", integrality)


QUINTET = CvxpySolver()
