"""The linear programming solver for PuLP: ``problem.solve(engine.PulpSolver())``.

Imported when it is first asked for, since PuLP is optional.
"""

from typing import Any

import numpy as np
from pulp import LpSolver, constants

from ..base.result import Status
from ..runs.observers import ProgressBar
from ..solvers.linprog.arguments import sp
from ..solvers.linprog.problem import LinearProgram
from .kept_engine import solve_kept

# PuLP's status of the problem and of the solution
_STATUS = {Status.OPTIMAL: (1, 1), Status.INFEASIBLE: (-1, -1), Status.UNBOUNDED: (-2, -2)}
_POINT = (1, 2)  # LpStatusOptimal, LpSolutionIntegerFeasible: what it says of a point at a limit
_NOTHING = (0, 0)  # LpStatusNotSolved, LpSolutionNoSolutionFound


class PulpSolver(LpSolver):  # type: ignore[misc]
    """A solver for ``LpProblem.solve`` of PuLP 3 or 4; variables may be integer.

    Variables get values and reduced costs (``dj``), constraints slacks and prices (``pi``): by what the objective as it
    is written changes as a side moves up by one (the signs of CBC). With a point at a limit, PuLP's status of the
    solution is ``LpSolutionIntegerFeasible``; without any the status is ``Not Solved``.

    Parameters
    ----------
    mip : bool
        Whether integer variables are so; False relaxes them.
    msg : bool
        Whether to show a progress bar.
    timeLimit : float, optional
        Seconds.
    **options
        As for :func:`engine.solve` for linear programs: ``backend``, ``devices``, ``method``, ``seed`` and others.

    Examples
    --------
    >>> import engine, pulp
    >>> problem = pulp.LpProblem("mix", pulp.LpMaximize)
    >>> x, y = problem.add_variable("x", 0), problem.add_variable("y", 0)
    >>> problem += x + 2 * y
    >>> problem += x + y <= 4
    >>> problem += x + 3 * y <= 6
    >>> pulp.LpStatus[problem.solve(engine.PulpSolver())], round(problem.objective.value(), 6)
    ('Optimal', 5.0)
    """

    name = "QUINTET"

    def __init__(self, mip: bool = True, msg: bool = False, timeLimit: float | None = None, **options: Any) -> None:
        super().__init__(mip=mip, msg=msg, timeLimit=timeLimit, **options)

    def available(self) -> bool:
        """True: the solver needs nothing else."""
        return True

    def actualSolve(self, lp: Any) -> int:
        """Solve PuLP's problem, and give its variables and constraints their values."""
        variables, sign = lp.variables(), -1.0 if lp.sense == constants.LpMaximize else 1.0
        rows = lp.constraints() if callable(lp.constraints) else list(lp.constraints.values())
        options = dict(self.optionsDict, time_limit=self.timeLimit)
        if self.msg:
            options["on_event"] = [ProgressBar()]
        result = solve_kept(self._program(lp, sign, variables, rows), options)
        status, solution_status = _STATUS.get(result.status, _NOTHING if result.solution is None else _POINT)
        if result.solution is not None:
            prices = result.arrays.get("row_duals")  # none with integer variables
            for variable, value in zip(variables, result.solution.tolist(), strict=True):
                variable.varValue = round(value) if self.mip and variable.cat == constants.LpInteger else value
            for index, row in enumerate(rows):
                row.slack = -row.value() if row.sense == constants.LpConstraintLE else row.value()
                if prices is not None:
                    row.pi = sign * float(prices[index])
            for variable, cost in zip(variables, result.arrays.get("reduced_costs", ()), strict=False):
                variable.dj = sign * float(cost)
        lp.assignStatus(status, solution_status)
        return int(status)

    def _program(self, lp: Any, sign: float, variables: list[Any], rows: list[Any]) -> LinearProgram:
        """PuLP's problem as a minimization."""
        column = {hash(variable): index for index, variable in enumerate(variables)}  # PuLP 4 makes objects anew
        costs = np.zeros(len(variables))
        for variable, value in () if lp.objective is None else lp.objective.items():
            costs[column[hash(variable)]] = sign * value
        triples = [
            (value, row, column[hash(variable)]) for row, terms in enumerate(rows) for variable, value in terms.items()
        ]
        values, i, j = (np.array(part) for part in zip(*triples, strict=True)) if triples else (np.zeros(0),) * 3
        matrix = sp.csr_array((values, (i.astype(np.int64), j.astype(np.int64))), shape=(len(rows), len(variables)))
        integrality = [self.mip and variable.cat == constants.LpInteger for variable in variables]
        return LinearProgram.of_rows(
            costs,
            matrix,
            *(_sides([row.getLb() for row in rows], -np.inf), _sides([row.getUb() for row in rows], np.inf)),
            *(_sides([v.lowBound for v in variables], -np.inf), _sides([v.upBound for v in variables], np.inf)),
            name=lp.name,
            integrality=integrality if any(integrality) else None,
        )


def _sides(values: list[float | None], infinity: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([infinity if value is None else value for value in values], np.float64)
