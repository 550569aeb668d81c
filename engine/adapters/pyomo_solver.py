"""The linear programming solver for Pyomo: ``engine.PyomoSolver().solve(model)`` or ``SolverFactory("quintet")``.

Imported when it is first asked for, since Pyomo is optional; the name is registered then.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError, NoSolutionError
from pyomo.core.base import maximize
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from ..base.result import Result, Status
from ..runs.observers import ProgressBar
from ..solvers.linprog.problem import LinearProgram
from ..util.version import version
from .kept_engine import solve_kept

_STATUS = {
    Status.OPTIMAL: TerminationCondition.convergenceCriteriaSatisfied,
    Status.INFEASIBLE: TerminationCondition.provenInfeasible,
    Status.UNBOUNDED: TerminationCondition.unbounded,
    Status.TIME_LIMIT: TerminationCondition.maxTimeLimit,
    Status.ITERATION_LIMIT: TerminationCondition.iterationLimit,
    Status.INTERRUPTED: TerminationCondition.interrupted,
}


@SolverFactory.register("quintet", doc="Quintet: linear programs on GPUs and CPUs")
class PyomoSolver(SolverBase):  # type: ignore[misc]
    """A solver for Pyomo's models with affine constraints and one affine objective; variables may be integer.

    Keywords of the solver and of ``solve`` are Pyomo's (``time_limit``, ``load_solutions``, ``tee``: a progress bar);
    ``solver_options`` are options of :func:`engine.solve` for linear programs: ``backend``, ``devices``, ``method``,
    ``seed`` and others. Suffixes ``dual`` and ``rc`` are filled; a dual is what the objective changes by as the row's
    side moves up by one.

    Examples
    --------
    >>> import engine, pyomo.environ as pyo
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var([0, 1], within=pyo.NonNegativeReals)
    >>> model.cost = pyo.Objective(expr=model.x[0] + 2 * model.x[1], sense=pyo.maximize)
    >>> model.total = pyo.Constraint(expr=model.x[0] + model.x[1] <= 4)
    >>> model.mixed = pyo.Constraint(expr=model.x[0] + 3 * model.x[1] <= 6)
    >>> result = engine.PyomoSolver().solve(model)
    >>> round(pyo.value(model.cost), 6)
    5.0
    """

    CONFIG = SolverConfig()

    def available(self) -> Availability:
        """Always: the solver needs nothing else."""
        return Availability.FullLicense

    def version(self) -> tuple[int, ...]:
        """Quintet's."""
        return tuple(int(part) for part in version().split(".")[:3] if part.isdigit())

    def solve(self, model: Any, **kwds: Any) -> Results:
        """Solve the model, and load the solution into it unless ``load_solutions=False``.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel
            A linear model.
        **kwds
            Settings of :attr:`config`, for this call.

        Raises
        ------
        NoOptimalSolutionError, NoFeasibleSolutionError
            Pyomo's, if the result is not optimal and ``raise_exception_on_nonoptimal_result`` is left True, or there is
            nothing to load.
        """
        start = datetime.datetime.now(datetime.UTC)
        config = self.config(value=kwds, preserve_implicit=True)
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
        options = dict(config.solver_options.value(), time_limit=config.time_limit)
        if config.tee:
            options["on_event"] = [ProgressBar()]
        result = solve_kept(_program(form, str(model.name)), options)
        loader = _Loader(model, form, result)
        results = Results()
        results.solution_loader = loader
        results.termination_condition = _STATUS.get(result.status, TerminationCondition.unknown)
        optimal, found = result.status is Status.OPTIMAL, result.solution is not None
        if found:
            results.solution_status = SolutionStatus.optimal if optimal else SolutionStatus.feasible
            results.incumbent_objective = loader.sign * float(result.objective or 0.0)
        if result.bound is not None:
            results.objective_bound = loader.sign * float(result.bound)
        results.solver_name, results.solver_version, results.solver_config = self.name, self.version(), config
        results.timing_info.start_timestamp, results.timing_info.wall_time = start, result.seconds
        results.extra_info.iterations = int(result.counters.get("iterations", 0))
        if config.raise_exception_on_nonoptimal_result and not optimal:
            raise NoOptimalSolutionError()
        if config.load_solutions:
            if not found:
                raise NoFeasibleSolutionError()
            loader.load_solution()
        return results


class _Loader(SolutionLoader):  # type: ignore[misc]
    """The result in terms of Pyomo's variables and constraints."""

    def __init__(self, model: Any, form: Any, result: Result) -> None:
        super().__init__()
        self._pyomo_model, self._form, self._result = model, form, result  # the first is read by the base
        self.sign = _sign(form)

    def get_number_of_solutions(self) -> int:
        return int(self._result.solution is not None)

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        return self._of_columns(self._result.solution, vars_to_load)

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        costs = self._result.arrays.get("reduced_costs")
        return self._of_columns(None if costs is None else self.sign * costs, vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        prices = self._result.arrays.get("row_duals")
        if prices is None:
            raise NoSolutionError("there are no duals of a program with integer variables, or without an answer")
        duals: dict[Any, float] = {}
        for (row, _), price in zip(self._form.rows, (self.sign * prices).tolist(), strict=True):
            duals[row] = duals.get(row, 0.0) + price  # a row with two sides stands there twice
        return duals if cons_to_load is None else {row: duals[row] for row in cons_to_load}

    def _of_columns(self, values: Any, chosen: Sequence[Any] | None) -> Mapping[Any, float]:
        if values is None:
            raise NoSolutionError("there is nothing to load")
        every: Mapping[Any, float] = ComponentMap(zip(self._form.columns, np.asarray(values).tolist(), strict=True))
        if chosen is not None:
            every = ComponentMap((variable, every[variable]) for variable in chosen)
        return every


def _sign(form: Any) -> float:
    return -1.0 if form.objectives and form.objectives[0].sense == maximize else 1.0


def _program(form: Any, name: str) -> LinearProgram:
    """Pyomo's standard form as a minimization."""
    sign, n = _sign(form), len(form.columns)
    costs = sign * form.c.toarray()[0] if form.objectives else np.zeros(n)
    kinds = np.array([kind for _, kind in form.rows], np.int8)  # 1: at most, -1: at least, 0: equal
    integrality = np.array([variable.is_integer() or variable.is_binary() for variable in form.columns], np.uint8)
    bounds = [variable.bounds for variable in form.columns]
    problem = LinearProgram.of_rows(
        costs,
        form.A.tocsr(),
        np.where(kinds <= 0, form.rhs, -np.inf),
        np.where(kinds >= 0, form.rhs, np.inf),
        [-np.inf if low is None else low for low, _ in bounds],
        [np.inf if high is None else high for _, high in bounds],
        name=name,
        integrality=integrality if integrality.any() else None,
    )
    problem.offset = sign * float(form.c_offset[0]) if form.objectives else 0.0
    return problem
