"""A run on a cluster: the solver's own division into slices, under the run's controls, events and folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..engine import Engine
from ..errors import ClusterWarning, InputError
from ..farming import SliceWorker, Workers
from ..problem import Problem
from ..results import Result
from ..run import Run, StopRequested
from ..solver import Solver, SolverOptions
from ..solvers import discover, solver_named
from .connection import Connection
from .coordinator import Coordinator, Timing
from .rounds import RoundCaller

__all__ = ["farmed", "part_options", "require_farm"]


def require_farm(solver: Solver, problem: Problem[Any], options: SolverOptions) -> None:
    """Refuse a run that cannot be divided among workers.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    options : SolverOptions

    Raises
    ------
    engine.errors.InputError
        With what can be divided instead.
    """
    if solver.farm is None:
        able = ", ".join(f"{one.name} ({one.farm.unit})" for one in discover().values() if one.farm is not None)
        raise InputError(
            f"a run of {solver.name} cannot be divided among the workers of a cluster; use engine.map for many "
            f"problems, options or seeds. What can be divided: {able}"
        )
    reason = None if solver.farm.refusal is None else solver.farm.refusal(problem, options)
    if reason is not None:
        raise InputError(reason)


def part_options(solver: Solver, options: SolverOptions) -> SolverOptions:
    """Options of what one worker has at a time.

    Parameters
    ----------
    solver : Solver
    options : SolverOptions
        Of the whole run.
    """
    if solver.farm is None or solver.farm.one is None:
        return options
    found: SolverOptions = solver.farm.one(options)
    return found


@dataclass(frozen=True)
class _SliceWorkerMaker:
    """Makes the slice worker of a run from a worker's engine; sent to the workers."""

    solver: str
    problem: Problem[Any]
    options: SolverOptions
    seed: int

    def __call__(self, engine: Engine) -> SliceWorker:
        solver = solver_named(self.solver)
        assert solver.farm is not None
        if solver.validate is not None:
            solver.validate(self.problem, part_options(solver, self.options), engine.device_infos)
        with engine.exclusive() as pool:
            return solver.farm.worker(self.problem, self.options, self.seed, pool)


def _add_those_that_joined(run: Run, connection: Connection, computed: Iterable[str]) -> None:
    """The result names all workers that have computed for it, also those that came later."""
    names = {worker.label: worker.device_names for worker in connection.usable}
    joined = [label for label in sorted(computed) if label not in run.devices]
    run.devices += tuple(joined)
    run.device_names += tuple(names.get(label, "") for label in joined)


def farmed(solver: Solver, connection: Connection, timing: Timing | None = None) -> Solver:
    """The solver, with runs on a cluster.

    Parameters
    ----------
    solver : Solver
    connection : Connection
    timing : Timing, optional
        Limits of waiting; the defaults for None.
    """

    def solve(problem: Problem[Any], options: SolverOptions, _: Any, run: Run) -> Result:
        farm = solver.farm
        assert farm is not None
        for warning in connection.warnings:
            run.warn(ClusterWarning(warning))
        workers = connection.usable
        simt = any(info.capabilities.simt for worker in workers for info in worker.devices)
        crew = Workers(len(workers), simt)
        parts = None if farm.run is None else farm.run(problem, options, run, crew)
        with connection.run(_SliceWorkerMaker(solver.name, problem, options, run.seed)) as transport:
            if parts is not None:
                coordinator = Coordinator(transport, run, parts, timing, StopRequested)
                try:
                    return coordinator.solve()
                finally:
                    _add_those_that_joined(run, connection, coordinator.statistics.by_worker)
            assert farm.solve is not None
            return farm.solve(problem, options, run, crew, RoundCaller(transport, run, timing))

    return dataclasses.replace(solver, solve=solve)
