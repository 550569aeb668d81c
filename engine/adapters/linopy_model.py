"""Models of linopy (and so of PyPSA): ``engine.solve_linopy(model)``.

linopy's list of solvers is closed, so this is a function and not a name for ``Model.solve``. Imported when it is first
asked for, since linopy is optional.
"""

from typing import Any

import numpy as np
from linopy.constants import Result, Solution, SolverReport
from linopy.constants import Status as LinopyStatus

from ..base.result import Status
from ..errors import ProblemError
from ..solvers.linprog.arguments import sp
from ..solvers.linprog.problem import LinearProgram
from .kept_engine import solve_kept

_CONDITION = {
    Status.OPTIMAL: "optimal",
    Status.INFEASIBLE: "infeasible",
    Status.UNBOUNDED: "unbounded",
    Status.TIME_LIMIT: "time_limit",
    Status.ITERATION_LIMIT: "iteration_limit",
    Status.INTERRUPTED: "user_interrupt",
}


def solve_linopy(model: Any, **options: Any) -> tuple[str, str]:
    """Solve a linear model of linopy, and give its variables and constraints their solutions and duals.

    Parameters
    ----------
    model : linopy.Model
        With affine constraints and objective; variables may be integer or binary. Of a PyPSA network it is
        ``network.optimize.create_model()``.
    **options
        As for :func:`engine.solve` for linear programs: ``backend``, ``devices``, ``method``, ``time_limit`` and
        others.

    Returns
    -------
    status, condition : str
        As ``linopy.Model.solve`` returns them: ``("ok", "optimal")``, ``("warning", "infeasible")`` and so on.

    Raises
    ------
    ProblemError
        If the model is quadratic, or has special ordered sets or indicator constraints.

    Examples
    --------
    >>> import engine, linopy
    >>> model = linopy.Model()
    >>> x, y = model.add_variables(lower=0, name="x"), model.add_variables(lower=0, name="y")
    >>> _ = model.add_constraints(x + y <= 4, name="total")
    >>> _ = model.add_constraints(x + 3 * y <= 6, name="mixed")
    >>> _ = model.add_objective(x + 2 * y, sense="max")
    >>> engine.solve_linopy(model), round(float(model.objective.value), 6)
    (('ok', 'optimal'), 5.0)
    """
    quadratic = model.is_quadratic and "a quadratic objective"
    unknown = quadratic or (model.variables.sos and "special ordered sets")
    unknown = unknown or (model.indicator_constraints and "indicator constraints")
    if unknown:
        raise ProblemError(f"the model has {unknown}; linear programs have affine objectives and constraints only")
    parts = model.matrices
    sign = -1.0 if model.objective.sense == "max" else 1.0
    matrix = sp.csr_array((0, len(parts.vlabels))) if parts.A is None else sp.csr_array(parts.A)
    integrality = np.select([np.isin(parts.vtypes, ("B", "I")), parts.vtypes == "S"], [1, 2], 0)
    problem = LinearProgram.of_rows(
        sign * parts.c,
        matrix,
        np.where(parts.sense == "<", -np.inf, parts.b),
        np.where(parts.sense == ">", np.inf, parts.b),
        np.where(parts.vtypes == "B", np.maximum(parts.lb, 0.0), parts.lb),
        np.where(parts.vtypes == "B", np.minimum(parts.ub, 1.0), parts.ub),
        name="linopy's model",
        integrality=integrality if integrality.any() else None,
    )
    result = solve_kept(problem, options)
    solution = None
    if result.solution is not None:
        duals = result.arrays.get("row_duals")  # none with integer variables
        solution = Solution(
            _by_label(result.solution, parts.vlabels, model.variables),
            np.zeros(0) if duals is None else _by_label(sign * duals, parts.clabels, model.constraints),
            sign * float(result.objective or 0.0),
        )
    condition = _CONDITION.get(result.status, "unknown")
    report = SolverReport(runtime=result.seconds, dual_bound=None if result.bound is None else sign * result.bound)
    status: tuple[str, str] = model.assign_result(
        Result(LinopyStatus.from_termination_condition(condition), solution, None, "quintet", report)
    )
    return status


def _by_label(values: Any, labels: Any, parts: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values by linopy's labels, NaN where there is none."""
    every = np.full(max((part.range[1] for _, part in parts.items()), default=0), np.nan)
    every[labels] = values
    return every
