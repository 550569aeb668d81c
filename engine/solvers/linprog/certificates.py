"""Proofs that a linear program has no optimum, found by other programs and checked against the one that was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool
from engine.results import Status
from engine.run import Run
from engine.solvers.linprog.audit import (
    Audit,
    audit,
    polished,
    polished_ray,
    proves_infeasible,
    proves_unbounded,
    reach_is_enough,
)
from engine.solvers.linprog.forms import shard_data
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.prepare import prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.session import Counters, Systems, count, iterate, method_of
from engine.solvers.linprog.shard import ShardData
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.standard import Prepared, Settled, Standard

__all__ = ["Certificates", "Proof", "settled"]

Vector = NDArray[np.float64]
LEAST_GOAL = 1e-13
_LARGEST_CONE = 4000
_CERTIFICATE_GOAL, _CERTIFICATE_ITERATIONS = 1e-8, 200
_NOTHING = (1e-9, 1e-7, 1e-5)  # entries of a ray below this part of the largest may be rounding


@dataclass(frozen=True)
class Proof:
    """*Infeasible* by a Farkas ray (m,), which holds for all ``sum |x| <= reach``; or *unbounded* by a ray (n,)."""

    status: Status
    farkas: Vector | None = None
    ray: Vector | None = None
    reach: float = 0.0


def settled(problem: LinearProgram, found: Settled, proven: bool = True) -> Proof | None:
    """What preparation alone found, if its certificate holds."""
    if found.status == "infeasible" and found.farkas is not None:
        reach = proves_infeasible(problem, found.farkas)
        if reach_is_enough(problem, reach) or not proven:
            return Proof(Status.INFEASIBLE, farkas=found.farkas, reach=reach)
    if found.status == "unbounded" and found.ray is not None and proves_unbounded(problem, found.ray):
        return Proof(Status.UNBOUNDED, ray=found.ray)
    return None


class Certificates:
    """The search for a proof, on the devices of a run; ``counters`` get what it takes."""

    def __init__(
        self, problem: LinearProgram, options: Options, pool: DevicePool, run: Run, counters: Counters
    ) -> None:
        self.problem = problem
        self.options = options
        self.pool = pool
        self.run = run
        self.counters = counters

    def proof(self, prepared: Prepared, best: Audit | None, limited: bool) -> Proof | None:
        """Look for a proof that there is no optimum, by two programs that surely have one.

        The least sum of what the rows lack: if it is above zero, its duals prove that the program is infeasible. Then
        the steepest descent among directions that no row and no bound ends: below zero, it proves that it is unbounded
        if some point is feasible. These programs have iterations of their own, however few the method was allowed, and
        are solved more closely while what they give is not proof enough. If the method was ``limited``, only what the
        best point, of that audit, leaves open is asked.
        """
        if self.options.max_iterations == 0:
            return None
        feasible = best is not None and best.primal_infeasibility <= self.options.acceptable
        if not (limited and feasible):
            lacking = shard_data([_homogeneous_costs(prepared.standard)], elastic=True)
            found: Proof | None = None

            def settles(x: Vector, y: Vector) -> bool:
                nonlocal found, feasible
                found = self._infeasible_by(prepared.duals(y, np.zeros(self.problem.n)))
                values, duals = prepared.back(x[: prepared.standard.n], y)
                error = audit(self.problem, values, duals).primal_infeasibility
                feasible = feasible or error <= self.options.acceptable
                return found is not None or error <= self.options.tolerance

            self._auxiliary(lacking, prepared.standard.b, "certificate of infeasibility", settles)
            if found is not None:
                return found
        if feasible and not (limited and best is not None and best.dual_infeasibility <= self.options.acceptable):
            found = self._unbounded(prepared)
            if found is not None:
                return found
        return None if limited and feasible else self._inner_proof()

    def _unbounded(self, prepared: Prepared) -> Proof | None:
        """A direction of descent without end, cleared of what rounding left in it."""
        directions, columns, shift = _directions(prepared.standard)
        if directions is None:
            return None
        found: Proof | None = None

        def settles(x: Vector, _: Vector) -> bool:
            nonlocal found
            direction = np.zeros(prepared.standard.n)
            direction[columns] = x[: columns.size] - shift
            largest = float(np.abs(direction).max(initial=0.0))
            for nothing in _NOTHING:
                ray = prepared.ray(np.where(np.abs(direction) < nothing * largest, 0.0, direction))
                for candidate in (ray, polished_ray(self.problem, ray)):
                    if proves_unbounded(self.problem, candidate):
                        found = Proof(Status.UNBOUNDED, ray=candidate / np.abs(candidate).max())
                        return True
            return False

        self._auxiliary(shard_data([directions]), directions.b, "certificate of unboundedness", settles)
        return found

    def _infeasible_by(self, farkas: Vector) -> Proof | None:
        """The proof if a Farkas ray, or a better one near it, is proof enough."""
        for candidate in (farkas, polished(self.problem, farkas)):
            reach = proves_infeasible(self.problem, candidate)
            if reach_is_enough(self.problem, reach):
                return Proof(Status.INFEASIBLE, farkas=candidate, reach=reach)
        return None

    def _inner_proof(self) -> Proof | None:
        """A Farkas ray from inside the cone of all of them, where no sign is violated, if the cone has an inside."""
        if self.problem.n > _LARGEST_CONE or not self.problem.m:
            return None
        cone, rows, signs = _cone(self.problem)
        prepared = prepare(cone, presolve=False)
        if isinstance(prepared, Settled):
            return None
        found: Proof | None = None

        def settles(x: Vector, y: Vector) -> bool:
            nonlocal found
            weights = prepared.back(x[: prepared.standard.n], y)[0]
            farkas = np.zeros(self.problem.m)
            np.add.at(farkas, rows, signs * weights[: rows.size])
            found = self._infeasible_by(farkas)
            return found is not None

        self._auxiliary(shard_data([prepared.standard]), prepared.standard.b, "proof of infeasibility", settles)
        return found

    def _auxiliary(self, data: ShardData, b: Vector, phase: str, settles: Callable[[Vector, Vector], bool]) -> None:
        """Solve a program until its point (x, y) settles what is asked, more and more closely, or to its end."""
        most = _CERTIFICATE_ITERATIONS
        goal = min(self.options.tolerance, _CERTIFICATE_GOAL)
        changes = {"method": "mpc", "linear_solver": "cholesky", "tolerance": goal}
        with Systems(data, self.options, self.pool, self.run, self.counters) as system:
            method = method_of(system, b[None], self.options.model_copy(update=changes))
            system.run(method.start)
            while True:
                self.run.poll()
                system.run(lambda: iterate(method, most))
                self.run.progress(phase, method.state.iteration, most, "iterations")
                ended = bool(method.stuck[0]) or method.state.iteration >= most
                if not (method.done[0] or ended):
                    continue
                if not method.done[0]:
                    system.run(method.go_back)
                if settles(system.run(system.get_point)[0][0], method.state.y[0]):
                    break
                if ended or method.goal[0] <= LEAST_GOAL:
                    break
                method.goal *= 0.01
            count(self.counters, system, method)


def _cone(problem: LinearProgram) -> tuple[LinearProgram, NDArray[np.int64], Vector]:
    """Prices of rows and bounds that leave no variable a cost and add up to 1: x of this program proves infeasibility.

    Its first variables are prices of sides of rows (which row, and with which sign); no cost, so that an interior-point
    method ends inside.
    """
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


def _homogeneous_costs(standard: Standard) -> Standard:
    return replace(standard, c=np.zeros(standard.n))


def _directions(standard: Standard) -> tuple[Standard | None, NDArray[np.int64], Vector]:
    """minimize c d over A d + slacks = 0, 0 <= d <= 1 (free ones -1 <= d <= 1) where nothing ends x; d + shift >= 0."""
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
