"""The first and the last events of a run, and its result where its solver has not returned one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.result import Result, Status, result_class
from ..errors import QuintetError
from ..events import Failed, Finished, Started
from .reporter import SOLUTION_IN_EVENT, finite

if TYPE_CHECKING:
    from .run import Run


def started(run: Run, resumed: bool) -> Started:
    """The first event."""
    problem = run.problem
    return Started(
        time=run.elapsed,
        solver=run.solver.name,
        problem=problem.kind,
        name=problem.name,
        description=problem.describe(),
        sense=problem.sense,
        options=run.options.model_dump(mode="json"),
        backend=run.backend,
        devices=list(run.devices),
        device_names=list(run.device_names),
        seed=run.seed,
        metrics=[dict(vars(spec)) for spec in run.solver.metrics],
        resumed=resumed,
        run="" if run.folder is None else run.folder.identity,
    )


def finished(result: Result, time: float) -> Finished:
    """The last event of a run with a result, ``time`` seconds after its beginning."""
    small = result.solution is not None and result.solution.size <= SOLUTION_IN_EVENT
    return Finished(
        time=time,
        status=str(result.status),
        objective=result.objective,
        bound=result.bound,
        gap=finite(result.gap),
        seconds=result.seconds,
        counters=result.counters,
        solution=result.solution.tolist() if small and result.solution is not None else None,
        reason=result.reason,
    )


def failed(run: Run, error: BaseException) -> Failed:
    """The last event of a run that an error ended; the error itself gets the best so far, too."""
    objective, bound = run.best
    if isinstance(error, QuintetError):
        error.best_objective, error.best_bound = objective, bound
        if run.folder is not None and run.has_checkpoint:
            error.run_folder = str(run.folder.path)
    return Failed(
        time=run.elapsed,
        error=type(error).__name__,
        message=str(error) or type(error).__name__,
        exit_code=error.exit_code if isinstance(error, QuintetError) else 1,
        objective=objective,
        bound=bound,
    )


def best_so_far(run: Run, status: Status) -> Result:
    """The best that the solver has reported, as the result of a run that was ended before it could return one."""
    (objective, bound), solution = run.best, run.best_solution
    reason = ""
    if solution is None:
        ended = "the time limit passed" if status is Status.TIME_LIMIT else "the run was stopped"
        reason = f"{ended} before there was a solution" + (f", in the phase '{run.phase}'" if run.phase else "")
    kind = result_class(type(run.problem))
    return kind(status=status, objective=objective, bound=bound, solution=solution, reason=reason)
