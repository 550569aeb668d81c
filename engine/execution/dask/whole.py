"""A run that cannot be divided, on one worker of a cluster: the worker's own engine solves it whole."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import override

from ...api.engine import Engine
from ...base.division import DividedRun, TaskControl, TaskRunner
from ...base.problem import Problem
from ...base.result import Result, Status
from ...base.solver import SolverOptions
from ...errors import AuditError
from ...events import Event, Incumbent, Metric, Notice
from ...runs.run import Run

_LOOK_SECONDS = 0.05


class WholeRun(DividedRun):
    """One task, which is the run. A task that is lost, or ended by a pause, begins from the start."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_out = False
        self._result: Result | None = None

    @property
    @override
    def finished(self) -> bool:
        return self._result is not None and not self._result.status.stopped

    @override
    def take(self, slots: int, seconds: float) -> str | None:
        if self._is_out:
            return None
        self._is_out = True
        return "whole"

    @override
    def accept(self, work: str, answer: bytes) -> None:
        found = pickle.loads(answer)  # noqa: S301 - from a worker of the session
        if not isinstance(found, Result):
            raise AuditError("a run was answered with something else than a result")
        self._result, self._is_out = found, False

    @override
    def put_back(self, work: str) -> None:
        self._is_out = False

    def report(self, worker: str, values: Mapping[str, Any]) -> None:
        """Take in an incumbent; see :class:`DividedRun`."""
        if "incumbent" in values:
            self._run.incumbent(*values["incumbent"])

    def checkpoint(self) -> None:
        """None: what the worker has come to stays there."""
        return

    @override
    def result(self, status: Status | None) -> Result:
        found = self._result or Result(Status.INTERRUPTED, None, None, None)
        return found if status is None or not found.status.stopped else replace(found, status=status)


@dataclass(frozen=True)
class WholeRunnerMaker:
    problem: Problem[Any]
    options: SolverOptions
    seed: int

    def __call__(self, engine: Engine) -> TaskRunner:
        return _WholeRunTasks(engine, self.problem, self.options, self.seed)


class _WholeRunTasks(TaskRunner):
    def __init__(self, engine: Engine, problem: Problem[Any], options: SolverOptions, seed: int) -> None:
        self._engine, self._problem, self._options, self._seed = engine, problem, options, seed

    def compute(self, work: str, control: TaskControl) -> Result:
        """The result, also of a run that was asked to end."""

        def pass_on(event: Event) -> None:
            if isinstance(event, Metric):
                control.report({event.name: event.value})
            elif isinstance(event, Incumbent):
                control.report({"incumbent": (event.objective, event.bound)}, at_once=True)
            elif isinstance(event, Notice):
                control.report({"notice": (event.message, event.level)}, at_once=True)

        options = self._options.model_dump(exclude_unset=True)
        run = self._engine.start(self._problem, seed=self._seed, on_event=pass_on, **options)
        while not run.join(_LOOK_SECONDS):
            if control.asked_to_end:
                run.stop()
        found: Result = run.outcome()
        return found

    def finish(self, answer: Result) -> bytes:
        return pickle.dumps(answer)
