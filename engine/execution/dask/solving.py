"""A run on a cluster: the solver's own division into tasks, under the run's controls, events and folder."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ... import errors
from ...api.engine import Engine
from ...base.division import ClusterInfo, TaskRunner
from ...base.problem import Problem
from ...base.result import Result
from ...base.solver import Solver, SolverOptions
from ...errors import ClusterWarning, InputError, QuintetWarning
from ...runs.run import Run
from ...solvers import solver_named
from .connection import Connection
from .coordinator import Coordinator, Timing
from .rounds import RoundCaller
from .whole import WholeRun, WholeRunnerMaker


def undivided(solver: Solver, problem: Problem[Any], options: SolverOptions) -> str | None:
    """Why a run cannot be divided among workers, so that one has it whole; None if it can."""
    if solver.division is None:
        return f"a run of {solver.name} cannot be divided; engine.map gives workers many problems, options or seeds"
    return None if solver.division.refusal is None else solver.division.refusal(problem, options)


def part_options(solver: Solver, problem: Problem[Any], options: SolverOptions) -> SolverOptions:
    """Options of what one worker has at a time."""
    if solver.division is None or solver.division.one is None or undivided(solver, problem, options) is not None:
        return options
    found: SolverOptions = solver.division.one(options)
    return found


@dataclass(frozen=True)
class _TaskRunnerMaker:
    solver: str
    problem: Problem[Any]
    options: SolverOptions
    seed: int

    def __call__(self, engine: Engine) -> TaskRunner:
        solver = solver_named(self.solver)
        assert solver.division is not None
        if solver.validate is not None:
            solver.validate(self.problem, part_options(solver, self.problem, self.options), engine.device_infos)
        with engine.exclusive() as pool:
            return solver.division.runner(self.problem, self.options, self.seed, pool)


def _add_those_that_joined(run: Run, connection: Connection, computed: Iterable[str]) -> None:
    """The result names all workers that have computed for it, also those that came later."""
    names = {worker.label: worker.device_names for worker in connection.usable}
    joined = [label for label in sorted(computed) if label not in run.devices]
    run.devices += tuple(joined)
    run.device_names += tuple(names.get(label, "") for label in joined)


def _solved_whole(
    problem: Problem[Any], options: SolverOptions, run: Run, connection: Connection, timing: Timing | None, reason: str
) -> Result:
    if run.restored is not None:
        raise InputError(f"its checkpoint cannot be continued on a cluster; leave out the cluster ({reason})")
    run.warn(ClusterWarning(f"one worker of the cluster has the whole run, without checkpoints: {reason}"))
    with connection.run(WholeRunnerMaker(problem, options, run.seed)) as transport:
        coordinator = Coordinator(transport, run, WholeRun(run), timing)
        found = coordinator.solve()
    labels = {worker.label: worker.device_names for worker in connection.usable}
    run.devices = tuple(coordinator.statistics.by_worker) or run.devices
    run.device_names = tuple(labels.get(label, "") for label in run.devices)
    for warning in found.warnings:
        kind = getattr(errors, warning.kind, QuintetWarning)
        run.warn(kind(warning.message), late=True)
    return found


def solve_on_cluster(run: Run, connection: Connection, timing: Timing | None = None) -> Result:
    problem, solver, options = run.problem, run.solver, run.options
    for warning in connection.warnings:
        run.warn(ClusterWarning(warning))
    if (reason := undivided(solver, problem, options)) is not None:
        return _solved_whole(problem, options, run, connection, timing, reason)
    division = solver.division
    assert division is not None
    workers = connection.usable
    simt = any(info.capabilities.simt for worker in workers for info in worker.devices)
    cluster = ClusterInfo(len(workers), simt)
    parts = None if division.run is None else division.run(problem, options, run, cluster)
    if parts is not None:
        options = parts.options_of_tasks(options)
    with connection.run(_TaskRunnerMaker(solver.name, problem, options, run.seed)) as transport:
        if parts is not None:
            coordinator = Coordinator(transport, run, parts, timing)
            try:
                return coordinator.solve()
            finally:
                _add_those_that_joined(run, connection, coordinator.statistics.by_worker)
        assert division.solve is not None
        return division.solve(problem, options, run, cluster, RoundCaller(transport, run, timing))
