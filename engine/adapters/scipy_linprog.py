"""``engine.linprog``: the arguments and the result of ``scipy.optimize.linprog``."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.result import Result, Status
from ..devices import Backend
from ..errors import OptionError, ProblemError
from ..events import Metric, Progress
from ..solvers.linprog.arguments import BoundsLike, MatrixLike, bounds_of, infinite_from, vector
from ..solvers.linprog.options import Options
from ..solvers.linprog.problem import LinearProgram
from ..solvers.linprog.schema import SCHEMA
from .kept_engine import KEPT

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    class Sensitivities(OptimizeResult):  # type: ignore[misc, unused-ignore]  # stubs for SciPy may be missing
        """Residuals and dual values of rows or bounds."""

        residual: NDArray[np.float64]
        marginals: NDArray[np.float64]

    class LinprogResult(OptimizeResult):  # type: ignore[misc, unused-ignore]
        """What SciPy's result holds, for type checkers: as in the stubs for SciPy, as if there is an optimum."""

        x: NDArray[np.float64]
        fun: float
        slack: NDArray[np.float64]
        con: NDArray[np.float64]
        success: bool
        status: int
        message: str
        nit: int
        ineqlin: Sensitivities
        eqlin: Sensitivities
        lower: Sensitivities
        upper: Sensitivities
        crossover_nit: int
        mip_node_count: int
        mip_dual_bound: float
        mip_gap: float


_METHODS = ("mpc", "pdas", "pdhg", "race", "highs", "highs-ds", "highs-ipm")
_LEGACY = ("interior-point", "revised simplex", "simplex")
_STATUS = {
    Status.OPTIMAL: (0, "Optimization terminated successfully."),
    Status.ITERATION_LIMIT: (1, "The iteration limit was reached."),
    Status.TIME_LIMIT: (1, "The time limit was reached."),
    Status.INTERRUPTED: (1, "The run was stopped."),
    Status.INFEASIBLE: (2, "The problem is infeasible."),
    Status.UNBOUNDED: (3, "The problem is unbounded."),
}
_IGNORED = ("autoscale", "rr")
_TOLERANCES = ("tol", "primal_feasibility_tolerance", "dual_feasibility_tolerance", "ipm_optimality_tolerance")
_NO_TIME = 1e-9  # seconds; a run's limit is above zero
_VERTEX_ENTRIES = 20_000  # of the matrices, up to which SciPy's methods end at a vertex


def linprog(
    c: ArrayLike,
    A_ub: MatrixLike | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: MatrixLike | None = None,
    b_eq: ArrayLike | None = None,
    bounds: BoundsLike | None = (0, None),
    method: Literal["mpc", "pdas", "pdhg", "race", "highs", "highs-ds", "highs-ipm"] = "highs",
    callback: Callable[[LinprogResult], object] | None = None,
    options: dict[str, Any] | None = None,
    x0: ArrayLike | None = None,
    integrality: ArrayLike | None = None,
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
) -> LinprogResult:
    """Minimize a linear objective, as ``scipy.optimize.linprog`` does.

    Parameters
    ----------
    c, A_ub, b_ub, A_eq, b_eq, bounds
        As for SciPy (and :class:`LinearProgram`). Note SciPy's default: variables are not negative.
    method : str
        A method of the solver (``"mpc"``, ``"pdas"``, ``"pdhg"``, ``"race"``), which ends at an inner point of the
        optimal face; or one of SciPy's HiGHS methods: the solver chooses, and ends at a vertex if the matrices have at
        most 20 000 entries.
    callback : callable, optional
        Called with an :class:`~scipy.optimize.OptimizeResult` (``x`` None, ``fun``, ``nit``, ``phase``, ``message``,
        ``success`` False) while the program is solved, for the solver's own methods. SciPy's HiGHS methods support
        none.
    options : dict, optional
        SciPy's ``maxiter``, ``tol``, ``primal_feasibility_tolerance``, ``dual_feasibility_tolerance``,
        ``ipm_optimality_tolerance`` (the smallest counts), ``presolve``, ``time_limit`` and ``disp``, and any option of
        the solver. Unknown ones are ignored with a warning.
    x0 : array-like, optional
        Where ``"mpc"`` and ``"pdhg"`` begin, shape (n,). Ignored with a warning by the other methods, as by SciPy's.
    integrality : array-like, optional
        0 for continuous variables, 1 integer, 2 semi-continuous, 3 semi-integer; HiGHS's branch and bound solves such
        programs.
    backend, devices : optional
        As for :func:`engine.solve`. CPU devices stay open for the next call, until the program ends.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x``, ``fun``, ``slack``, ``con``, ``success``, ``status`` (0 optimal, 1 a limit, 2 infeasible, 3 unbounded, 4
        numerical difficulties), ``message``, ``nit``, and ``ineqlin``, ``eqlin``, ``lower``, ``upper`` with
        ``residual`` and ``marginals``. Without an optimum ``x`` and what follows from it is None. With SciPy's methods
        also its ``crossover_nit``, and for an optimum ``mip_node_count``, ``mip_dual_bound`` and ``mip_gap``, which are
        zero for continuous programs. With integer variables there are no marginals.

    Raises
    ------
    ValueError
        If the arguments do not fit together (:class:`engine.errors.ProblemError`), or an option or the method is
        unknown.

    Examples
    --------
    >>> import engine
    >>> found = engine.linprog([-1, 4], A_ub=[[-3, 1], [1, 2]], b_ub=[6, 4], bounds=[(None, None), (-3, None)])
    >>> found.status, found.fun, found.x
    (0, -22.0, array([10., -3.]))
    """
    from scipy.optimize import OptimizeWarning

    if method in _LEGACY:
        raise OptionError(f"method '{method}' is not offered; SciPy deprecates it (known: {', '.join(_METHODS)})")
    if method not in _METHODS:
        raise OptionError(f"unknown method '{method}' (known: {', '.join(_METHODS)})")
    if callback is not None and method.startswith("highs"):
        raise NotImplementedError("SciPy's HiGHS methods support no callback; use method = 'mpc'")
    if x0 is not None and method not in ("mpc", "pdhg"):
        _initial(x0, c)
        warnings.warn("x0 is not used and is ignored", OptimizeWarning, stacklevel=2)
    if options is not None and not isinstance(options, dict):
        raise OptionError(f"options must be a dictionary; got {type(options).__name__}")
    given = dict(options or {})
    show = bool(_taken(given, "disp", lambda value: isinstance(value, (bool, np.bool_))))
    chosen = _solver_options(given)
    for name in given:
        warnings.warn(f"unrecognized option '{name}' is ignored", OptimizeWarning, stacklevel=2)
    if method.startswith("highs"):
        chosen.setdefault("basis", _size(A_ub) + _size(A_eq) <= _VERTEX_ENTRIES)
    else:
        chosen["method"] = method
        if x0 is not None and method in ("mpc", "pdhg"):
            chosen["initial"] = _initial(x0, c)
    problem = _problem(c, A_ub, b_ub, A_eq, b_eq, _nan_is_no_bound(bounds), integrality)
    if problem is None:
        return cast("LinprogResult", _crossed_bounds())
    if problem.integrality is not None and method.startswith("highs"):
        del chosen["basis"]
        if chosen.pop("max_iterations", None) is not None:
            warnings.warn("maxiter is ignored with integer variables", OptimizeWarning, stacklevel=2)
            chosen.pop("method")
    on_event = None if callback is None else _CallbackObserver(callback)
    with KEPT.lent(backend, devices) as owner:
        result = owner.solve(problem, on_event=on_event, **chosen)
    found = scipy_result(problem, result)
    if method.startswith("highs") and found.x is not None:
        found.mip_node_count, found.mip_dual_bound, found.mip_gap = _mip_fields(problem, result)
    if method == "highs-ipm":
        to_vertex = result.counters.get("crossover_iterations", result.counters.get("highs_iterations", 0))
        found.crossover_nit = int(to_vertex)  # iterations that have led to the vertex, whatever the method
    if show:
        print(f"{found.message}\n  objective: {found.fun}\n  iterations: {found.nit}")
    return found


def _mip_fields(problem: LinearProgram, result: Result) -> tuple[int, float, float]:
    """SciPy's number of nodes, bound and gap; zeros for continuous programs."""
    if problem.integrality is None:
        return 0, 0.0, 0.0
    objective, bound = float(result.objective or 0.0), -np.inf if result.bound is None else float(result.bound)
    distance = abs(objective - bound)
    gap = distance / abs(objective) if objective else 0.0 if distance == 0.0 else np.inf
    return int(result.counters["nodes"]), bound, gap


def _initial(x0: Any, c: Any) -> list[float]:
    """The values of a point to begin with; as for SciPy, also those of a method that ignores them are checked."""
    try:
        values = np.asarray(x0, np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise _ArgumentError("x0 must be numbers, one for each variable") from error
    if values.size != np.size(c) or not np.isfinite(values).all():
        raise ProblemError(f"x0 must be {np.size(c)} finite numbers, one for each variable; got {values.size} values")
    return values.tolist()


def _nan_is_no_bound(bounds: Any) -> Any:
    """Bounds in which NaN is None, as for SciPy; what is no array of numbers stays as it is."""
    try:
        array = np.array(bounds, np.float64)
    except (TypeError, ValueError):
        return bounds
    if array.ndim != 2 or array.shape[1] != 2 or not np.isnan(array).any():
        return bounds
    return [[None if np.isnan(entry) else entry for entry in pair] for pair in array.tolist()]


class _ArgumentError(ProblemError, TypeError):
    """An argument that is not made of numbers; SciPy raises ``TypeError``."""


def _size(matrix: Any) -> int:
    """Entries of a matrix that may be sparse, missing or malformed."""
    if matrix is None:
        return 0
    return int(matrix.nnz) if hasattr(matrix, "nnz") else int(np.size(np.asarray(matrix, object)))


def _problem(c: Any, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any, integrality: Any) -> LinearProgram | None:
    """The program; None if a lower bound is above its upper bound, which SciPy calls infeasible."""
    try:
        costs = vector(c, "c")
        lower, upper = (infinite_from(part) for part in bounds_of(bounds, costs.size))
        crossed = bool(((lower > upper) | np.isposinf(lower) | np.isneginf(upper)).any())
        given = (None, None) if crossed else np.stack([lower, upper], axis=1)
        problem = LinearProgram(costs, A_ub, b_ub, A_eq, b_eq, given, integrality=integrality)
    except ProblemError as error:
        if isinstance(error.__cause__, (TypeError, ValueError)):
            raise _ArgumentError(str(error)) from error
        raise
    return None if crossed else problem


def _solver_options(given: dict[str, Any]) -> dict[str, Any]:
    """Options of the solver for SciPy's; known ones are removed from ``given``, invalid ones ignored with a warning."""
    chosen: dict[str, Any] = {}
    for name, ours, valid in (
        ("maxiter", "max_iterations", lambda value: isinstance(value, (int, np.integer)) and value >= 0),
        ("mip_rel_gap", "mip_gap", lambda value: isinstance(value, numbers.Real) and 0 <= float(value) < 1),
        ("presolve", "presolve", lambda value: isinstance(value, (bool, np.bool_))),
        ("time_limit", "time_limit", lambda value: isinstance(value, numbers.Real) and float(value) >= 0),
    ):
        value = _taken(given, name, valid)
        if value is not None:
            chosen[ours] = value
    if chosen.get("time_limit") == 0:  # which SciPy takes
        chosen["time_limit"] = _NO_TIME
    positive: Callable[[Any], bool] = lambda value: isinstance(value, numbers.Real) and float(value) > 0  # noqa: E731
    tolerances = [_taken(given, name, positive) for name in _TOLERANCES]
    smallest = min((float(value) for value in tolerances if value is not None), default=None)
    if smallest is not None:
        chosen["tolerance"] = min(max(smallest, 1e-12), 1e-3)
        chosen["acceptable"] = max(chosen["tolerance"], 1e-6)
    _taken(given, "simplex_dual_edge_weight_strategy", lambda value: value in ("dantzig", "devex", "steepest"))
    for name in _IGNORED:
        given.pop(name, None)
    for name in [name for name in given if name in Options.model_fields]:
        chosen[name] = given.pop(name)
    if "max_iterations" in chosen:
        chosen.setdefault("method", "mpc")  # a race has no common count of iterations
    return chosen


def _taken(given: dict[str, Any], name: str, valid: Callable[[Any], Any]) -> Any:
    """An option, removed from ``given``; None, with a warning, if its value is not valid."""
    from scipy.optimize import OptimizeWarning

    value = given.pop(name, None)
    if value is None or bool(valid(value)):
        return value
    warnings.warn(f"unrecognized value {value!r} of option '{name}' is ignored", OptimizeWarning, stacklevel=4)
    return None


def _crossed_bounds() -> Any:
    """SciPy's result for a lower bound above its upper bound."""
    kind = _result_type()
    found = kind(status=2, success=False, nit=0, crossover_nit=0, x=None, fun=None, slack=None, con=None)
    found.message = "The problem is infeasible: a lower bound is above its upper bound."
    for name in ("ineqlin", "eqlin", "lower", "upper"):
        found[name] = kind(residual=None, marginals=None)
    return found


class _CallbackObserver:
    """Calls a SciPy callback for each iteration that is reported."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback
        self._objective = float("nan")

    def __call__(self, event: Any) -> None:
        if isinstance(event, Metric) and event.name == "primal_objective":
            self._objective = event.value
        elif isinstance(event, Progress) and event.unit == "iterations":
            kind = _result_type()
            self._callback(
                kind(x=None, fun=self._objective, nit=int(event.done), phase=2, success=False, status=4, message="")
            )


def scipy_result(problem: LinearProgram, result: Result) -> LinprogResult:
    """A result of :func:`engine.solve` or :func:`engine.solve_many` in the form of SciPy's ``linprog``.

    Parameters
    ----------
    problem : LinearProgram
        The program that was solved. Rows of a program read from a file, which may have two sides, are all reported in
        ``eqlin`` and ``con``; their residual is the distance to the nearer finite side.
    result : Result

    Returns
    -------
    scipy.optimize.OptimizeResult
        As :func:`linprog` returns.

    Examples
    --------
    >>> import engine
    >>> problem = engine.LinearProgram([-1, 4], A_ub=[[-3, 1], [1, 2]], b_ub=[6, 4], bounds=[(None, None), (-3, None)])
    >>> found = engine.scipy_result(problem, engine.solve(problem))
    >>> found.success, round(found.fun, 6)
    (True, -22.0)
    """
    kind = _result_type()
    status, message = _STATUS.get(result.status, (4, "Numerical difficulties encountered."))
    found = kind(status=status, success=status == 0, message=message, nit=_iterations(result))
    found.crossover_nit = 0
    known = result.solution is not None and status == 0
    x = result.solution if known else None
    m = problem.m_ub
    found.x = x
    found.fun = result.objective if known else None

    def side(residual: Any, marginals: Any) -> Any:
        return kind(residual=residual, marginals=marginals)

    if not known or x is None:
        found.slack = found.con = None
        found.ineqlin, found.eqlin, found.lower, found.upper = (side(None, None) for _ in range(4))
        return cast("LinprogResult", found)
    duals, reduced = result.arrays.get("row_duals"), result.arrays.get("reduced_costs")
    if reduced is not None and "column_status" in result.arrays:  # a basic variable's is zero but for rounding errors
        reduced = np.where(result.arrays["column_status"] == 1, 0.0, reduced)
    activities = result.arrays["activities"]
    rest = problem.row_upper - activities
    below = activities - problem.row_lower
    rest[m:] = np.where(np.abs(rest[m:]) <= np.abs(below[m:]), rest[m:], -below[m:])
    found.slack, found.con = rest[:m], rest[m:]
    found.ineqlin = side(rest[:m], None if duals is None else duals[:m])
    found.eqlin = side(rest[m:], None if duals is None else duals[m:])
    found.lower = side(x - problem.lower, None if reduced is None else np.maximum(reduced, 0.0))
    found.upper = side(problem.upper - x, None if reduced is None else np.minimum(reduced, 0.0))
    return cast("LinprogResult", found)


def _iterations(result: Result) -> int:
    """Iterations of the method that has solved it; those of the search for a certificate do not count."""
    history = SCHEMA.column(result, "iteration")
    counters = result.counters
    return int(history[-1]) if history.size else int(counters["iterations"] or counters.get("highs_iterations", 0))


def _result_type() -> Any:
    from scipy.optimize import OptimizeResult

    return OptimizeResult
