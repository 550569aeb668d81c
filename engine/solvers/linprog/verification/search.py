"""Proofs that a linear program has no optimum, found by other programs and checked against the one that was given."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ....devices import DevicePool
from ..forms.standard import NoOptimum, Prepared, ShardData, Standard, prepare, shard_data
from ..interior.driver import Counters, add_counters, iterate, new_method, open_system
from ..interior.method import LEAST_GOAL
from ..options import Options
from ..problem import LinearProgram, sp
from .audit import infeasibility_of_sides
from .outcome import AuditedPoint, Proof, proof_of_infeasibility, proof_of_unboundedness
from .rays import cleaned

Vector = NDArray[np.float64]
_LARGEST_CONE = 4000
_CERTIFICATE_GOAL, _CERTIFICATE_ITERATIONS = 1e-8, 200


class Certificates:
    """The search for a proof, on the devices of a run; its work is added to ``counters``."""

    def __init__(
        self, problem: LinearProgram, options: Options, pool: DevicePool, run: RunContext, counters: Counters
    ) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.counters = counters

    def proof(self, prepared: Prepared, best: AuditedPoint | None, limited: bool) -> Proof | None:
        """Look for a proof that there is no optimum, by the least sum of what rows lack, then the steepest descent.

        The two programs surely have an optimum, and iterations of their own; they are solved more and more closely.
        """
        if self.options.max_iterations == 0:
            return None
        feasible = best is not None and infeasibility_of_sides(self.problem, best.x) <= self.options.acceptable
        if not (limited and feasible):
            lacking = shard_data(replace(prepared.standard, c=np.zeros(prepared.standard.n)), elastic=True)
            found: Proof | None = None

            def decides(x: Vector, y: Vector) -> bool:
                nonlocal found, feasible
                found = proof_of_infeasibility(self.problem, prepared.duals(y))
                values, _ = prepared.from_standard(x[: prepared.standard.n], y)
                error = infeasibility_of_sides(self.problem, values)
                feasible = feasible or error <= self.options.acceptable
                return found is not None or error <= self.options.tolerance

            self._auxiliary(lacking, prepared.standard.b, "certificate of infeasibility", decides)
            if found is not None:
                return found
        if feasible and not (limited and best is not None and best.audit.dual_infeasibility <= self.options.acceptable):
            found = self._unbounded(prepared)
            if found is not None:
                return found
        return None if limited and feasible else self._inner_proof()

    def _unbounded(self, prepared: Prepared) -> Proof | None:
        """An unbounded direction of descent, without rounding errors in its zero entries."""
        directions, columns, shift = _directions(prepared.standard)
        if directions is None:
            return None
        found: Proof | None = None

        def decides(x: Vector, _: Vector) -> bool:
            nonlocal found
            direction = np.zeros(prepared.standard.n)
            direction[columns] = x[: columns.size] - shift
            for scaled in cleaned(direction)[1:] or [direction]:
                found = proof_of_unboundedness(self.problem, prepared.ray(scaled))
                if found is not None:
                    return True
            return False

        self._auxiliary(shard_data(directions), directions.b, "certificate of unboundedness", decides)
        return found

    def _inner_proof(self) -> Proof | None:
        """A Farkas ray from inside the cone of all of them, where no sign is violated, if the cone has an inside."""
        if self.problem.n > _LARGEST_CONE or not self.problem.m:
            return None
        cone, rows, signs = _cone(self.problem)
        prepared = prepare(cone)
        if isinstance(prepared, NoOptimum):
            return None
        found: Proof | None = None

        def decides(x: Vector, y: Vector) -> bool:
            nonlocal found
            weights = prepared.from_standard(x[: prepared.standard.n], y)[0]
            farkas = np.zeros(self.problem.m)
            np.add.at(farkas, rows, signs * weights[: rows.size])
            found = proof_of_infeasibility(self.problem, farkas)
            return found is not None

        self._auxiliary(shard_data(prepared.standard), prepared.standard.b, "proof of infeasibility", decides)
        return found

    def _auxiliary(self, data: ShardData, b: Vector, phase: str, decides: Callable[[Vector, Vector], bool]) -> None:
        """Solve a program until its point (x, y) decides the question, with smaller and smaller errors."""
        most = _CERTIFICATE_ITERATIONS
        goal = min(self.options.tolerance, _CERTIFICATE_GOAL)
        changes = {"method": "mpc", "linear_solver": "auto", "tolerance": goal}
        options = self.options.model_copy(update=changes)
        notice = self.run.notice
        with open_system(data, options, self.pool, self.pool.members, self.counters, notice) as system:
            method = new_method(system, b, options)
            system.run(method.start)
            while True:
                self.run.poll()
                system.run(lambda: iterate(method, most))
                self.run.progress(phase, method.state.iteration, most, "iterations", limit=True)
                ended = method.stuck or method.state.iteration >= most
                if not (method.done or ended):
                    continue
                if not method.done:
                    system.run(method.return_to_best)
                if decides(system.run(system.get_point)[0], method.state.y):
                    break
                if ended or method.goal <= LEAST_GOAL:
                    break
                method.goal *= 0.01
            add_counters(self.counters, system, method)


def _cone(problem: LinearProgram) -> tuple[LinearProgram, NDArray[np.int64], Vector]:
    """A program whose first x, prices of rows' sides (which row, with which sign), proves infeasibility; no costs."""
    equal = problem.row_lower == problem.row_upper
    below = np.flatnonzero(np.isfinite(problem.row_lower))
    above = np.flatnonzero(np.isfinite(problem.row_upper) & ~equal)
    lower, upper = np.flatnonzero(np.isfinite(problem.lower)), np.flatnonzero(np.isfinite(problem.upper))
    matrix = sp.csr_array(problem.A)
    unit = sp.csr_array(sp.eye_array(problem.n))
    columns = sp.vstack([matrix[below], -matrix[above], unit[lower], -unit[upper]])
    prices = np.concatenate(
        [problem.row_lower[below], -problem.row_upper[above], problem.lower[lower], -problem.upper[upper]]
    )
    largest = max(1.0, float(np.abs(prices).max(initial=0.0)))
    rows = sp.csr_array(sp.hstack([columns, sp.csr_array(prices[:, None] / largest)]).T)
    free = np.zeros(prices.size, bool)
    free[: below.size] = equal[below]
    bounds = np.column_stack([np.where(free, -np.inf, 0.0), np.full(free.size, np.inf)])
    cone = LinearProgram(
        np.zeros(free.size), A_eq=rows, b_eq=np.concatenate([np.zeros(problem.n), [1.0]]), bounds=bounds
    )
    return cone, np.concatenate([below, above]), np.concatenate([np.ones(below.size), -np.ones(above.size)])


def _directions(standard: Standard) -> tuple[Standard | None, NDArray[np.int64], Vector]:
    """Minimize c d over A d + slacks = 0, 0 <= d <= 1 (free ones -1 <= d <= 1) where nothing ends x; d + shift >= 0."""
    columns = np.flatnonzero(~np.isfinite(standard.upper))
    if not columns.size:
        return None, columns, np.zeros(0)
    matrix = sp.csr_array(standard.A[:, columns]) if sp.issparse(standard.A) else np.asarray(standard.A)[:, columns]
    shift = np.where(standard.free[columns], 1.0, 0.0)
    directions = Standard(
        A=matrix,
        b=np.asarray(matrix @ shift),
        c=standard.c[columns],
        upper=1.0 + shift,
        free=np.zeros(columns.size, bool),
        sign=np.where(np.isfinite(standard.slack_upper), 0.0, standard.sign),
        slack_upper=np.full(standard.m, np.inf),
    )
    return directions, columns, shift
